"""A cache of rows of a larger data set, in bounded memory, with the label, ‖x‖² and α of each row."""

from __future__ import annotations

import numpy as np

from maxmargin.data.reader import Block
from maxmargin.data.rows import Dense, Rows, Spans, count_rows, part_of_rows, row_lengths
from maxmargin.errors import ParameterError
from maxmargin.solvers.streaming.dual_variables import Variables, put_all
from maxmargin.solvers.streaming.row_pool import close_holes, empty_pool, places_of
from maxmargin.solvers.streaming.row_slots import SLOT, Slots, drop_any, drop_others, hold
from maxmargin.system.buffers import release, reserved

SLACK = 8  # an eighth of the cache is freed at once


class RowTooLongError(ParameterError):
    """A row does not fit into the cache; `size` is its size in bytes."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size


class RowCache:
    """Rows in at most `limit` bytes; memory is allocated as needed."""

    def __init__(self, limit: int, like: Rows, huge: bool = False) -> None:
        self.limit = limit
        self.count = self.used = self.live = 0
        slots, rows = limit // SLOT, self.room_like(like, huge)
        y, Q, alpha = (reserved(slots, np.float64, huge) for _ in range(3))
        self.slots = Slots(rows, reserved(slots, np.int64, huge), y, Q, alpha)
        self.push_together()  # so that it is compiled before memory is full

    def room_like(self, like: Rows, huge: bool) -> Spans | Dense:
        """Return empty storage for rows in the format of `like`."""
        kind = like.values.dtype
        if isinstance(like, Dense):
            d = like.values.shape[1]
            self.width = d * kind.itemsize
            return Dense(reserved(self.limit // (self.width + SLOT) * d, kind.type, huge).reshape(-1, d))
        self.width = kind.itemsize + like.indices.dtype.itemsize
        places, slots = self.limit // self.width, self.limit // SLOT
        return empty_pool(places, slots, kind.type, like.indices.dtype.type, huge)

    @property
    def fill(self) -> float:
        """The fraction of its memory that is in use."""
        return self.live / self.limit

    def accepts(self, rows: Rows) -> bool:
        """Return whether `rows` have the format of the cached rows."""
        held = self.slots.rows
        if rows.values.dtype != held.values.dtype:
            return False
        if isinstance(rows, Dense) or isinstance(held, Dense):
            return isinstance(rows, type(held)) and rows.values.shape[1:] == held.values.shape[1:]
        return bool(rows.indices.dtype == held.indices.dtype)

    def take_in(
        self, block: Block, variables: Variables, rng: np.random.Generator, wanted: np.ndarray | None = None
    ) -> int:
        """Add the `wanted` rows of a block, evicting random rows if necessary; return the number of evicted rows.

        For the other rows only the labels are stored.
        """
        rows, y, first, _ = block
        wanted = np.ones(len(y), dtype=np.bool_) if wanted is None else wanted
        ends, evicted, start = np.cumsum(np.where(wanted, self.sizes_of(rows), 0)), 0, 0
        while start < len(y):  # short rows take more memory here than in a block: add them in parts
            before = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, before + self.limit // 2, side="right")), start + 1)
            needed = int(ends[stop - 1]) - before
            self.check_fits(needed, first + start)
            evicted += self.free(needed, variables, rng)
            part = rows if stop - start == len(y) else part_of_rows(rows, start, stop)
            self.hold(Block(part, y[start:stop], first + start, block.read), wanted[start:stop], variables)
            start = stop
        return evicted

    def check_fits(self, size: int, row: int) -> None:
        """Raise RowTooLongError if a row would take more than half of the cache."""
        if size > self.limit // 2:
            raise RowTooLongError(
                f"row {row} (counted from 0) takes {size:,} bytes, more than half of the {self.limit:,} for rows: "
                "raise memory",
                size,
            )

    def free(self, needed: int, variables: Variables, rng: np.random.Generator) -> int:
        """Evict random rows to make room for `needed` bytes, at most half of the limit; return the number of rows."""
        if self.live + needed <= self.limit:
            return 0
        room = min(self.limit - needed, self.limit - self.limit // SLACK)
        return self.give_up(max(room, 0), variables, rng)

    def hold(self, block: Block, wanted: np.ndarray, variables: Variables) -> None:
        """Add the wanted rows of a block, for which there is enough room."""
        held = 0
        for _ in range(2):
            fill = self.count, self.used, self.live
            fill, held = hold(self.slots, variables, fill, self.limit, block, wanted, held)
            self.count, self.used, self.live = fill
            if held == len(block.y):
                return
            self.push_together()
        raise AssertionError(f"no place for row {block.first + held}, though {self.limit - self.live:,} bytes are")

    def sizes_of(self, rows: Rows) -> np.ndarray:
        """Return the size in bytes of each of these rows in the cache."""
        values = 1 if isinstance(rows, Dense) else places_of(row_lengths(rows))
        return np.broadcast_to(SLOT + self.width * values, count_rows(rows))

    def has_room(self, rows: Rows) -> bool:
        """Return whether `rows` fit into the cache without evictions."""
        return bool(self.live + int(np.sum(self.sizes_of(rows))) <= self.limit)

    def give_up(self, room: int, variables: Variables, rng: np.random.Generator) -> int:
        """Evict random rows until the others take at most `room` bytes; return the number of evicted rows."""
        before = self.count
        seed = rng.integers(1 << 62)
        self.count, self.live = drop_any(self.slots, variables, self.count, self.live, room, seed)
        return before - self.count

    def keep(self, wanted: np.ndarray, variables: Variables) -> None:
        """Remove all rows except the wanted ones."""
        self.count, self.live = drop_others(self.slots, variables, self.count, self.live, wanted)
        self.push_together()

    def push_together(self) -> None:
        """Compact the pool."""
        rows = self.slots.rows
        if isinstance(rows, Spans):
            self.used = close_holes(rows, np.argsort(rows.start[: self.count]))

    def shrink(self, limit: int, variables: Variables, rng: np.random.Generator) -> None:
        """Reduce the memory of the cache to `limit` bytes, if that is less."""
        if limit < self.limit:
            self.limit = limit
            self.give_up(limit - limit // SLACK, variables, rng)
            self.push_together()
            rows = self.slots.rows
            if isinstance(rows, Spans):
                release(rows.values, self.used)
                release(rows.indices, self.used)
            else:
                release(rows.values.reshape(-1), self.count * rows.values.shape[1])

    def write_back(self, variables: Variables, slots: slice) -> None:
        """Copy the α of the rows in these slots to `variables`."""
        put_all(variables, self.slots.example[: self.count][slots], self.slots.alpha[: self.count][slots])
