"""Some rows of a larger data set, held in a bounded memory, with all that a dual solver needs of them.

A row has a slot: which example it is, its label ±1, ‖x‖², its α. Slots are 0, 1, ..., count − 1; when one is given up,
the last moves there. The values of sparse rows lie in a pool, dense rows in their slots.

The dual variables of the data set (see variables) say which examples are held, and keep α of those that are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.rows import Dense, Rows, Spans, count_rows, part_of_rows, row_lengths, square
from maxmargin.errors import ParameterError
from maxmargin.solvers.streaming.dual_variables import HELD, POSITIVE, Variables, get, put, put_all
from maxmargin.solvers.streaming.row_pool import (
    NOWHERE,
    close_holes,
    empty_pool,
    find_place,
    places_of,
    size_of,
    vacate,
)
from maxmargin.system.buffers import release, reserved
from maxmargin.system.compiled import compiled, holds, inlined
from maxmargin.system.splitmix import draw_below

SLOT = 64  # bytes of a row beside its values
SLACK = 8  # one part of so many is made free at once


class RowTooLongError(ParameterError):
    """A row that does not fit; `size` is how many bytes it takes."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size


class RowCache:
    """Rows in at most `limit` bytes; the memory is taken as it is needed."""

    def __init__(self, limit: int, like: Rows, huge: bool = False) -> None:
        self.limit = limit
        self.count = self.used = self.live = 0
        slots = limit // SLOT
        self.example = reserved(slots, np.int64, huge)
        self.y, self.Q, self.alpha = (reserved(slots, np.float64, huge) for _ in range(3))
        self.rows: Spans | Dense
        if isinstance(like, Dense):
            d, kind = like.values.shape[1], like.values.dtype
            self.width = d * kind.itemsize
            self.rows = Dense(reserved(limit // (self.width + SLOT) * d, kind.type, huge).reshape(-1, d))
        else:
            values, indices = like.values.dtype, like.indices.dtype
            self.width = values.itemsize + indices.itemsize
            self.rows = empty_pool(limit // self.width, slots, values.type, indices.type, huge)
            self.push_together()  # so that its code is there before memory is full

    @property
    def fill(self) -> float:
        """What part of its memory is in use."""
        return self.live / self.limit

    def accepts(self, rows: Rows) -> bool:
        """Whether they are stored as those that are here."""
        if isinstance(rows, Dense) or isinstance(self.rows, Dense):
            same = isinstance(rows, Dense) and isinstance(self.rows, Dense)
            return same and rows.values.shape[1:] == self.rows.values.shape[1:] and self.same_type(rows)
        return rows.indices.dtype == self.rows.indices.dtype and self.same_type(rows)

    def same_type(self, rows: Rows) -> bool:
        """Whether the values are of one type."""
        return bool(rows.values.dtype == self.rows.values.dtype)

    def take_in(
        self,
        rows: Rows,
        y: np.ndarray,
        first: int,
        variables: Variables,
        rng: np.random.Generator,
        wanted: np.ndarray | None = None,
    ) -> int:
        """Hold these rows too, examples `first` and on, in the place of others if need be; how many those were.

        Of those that are not wanted only the labels are noted.
        """
        wanted = np.ones(len(y), dtype=np.bool_) if wanted is None else wanted
        ends, evicted, start = np.cumsum(np.where(wanted, self.sizes_of(rows), 0)), 0, 0
        while start < len(y):  # short rows take more memory here than in a block: then some at a time
            before = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, before + self.limit // 2, side="right")), start + 1)
            needed = int(ends[stop - 1]) - before
            self.check_fits(needed, first + start)
            part = rows if stop - start == len(y) else part_of_rows(rows, start, stop)
            evicted += self.hold(part, y[start:stop], first + start, variables, rng, wanted[start:stop], needed)
            start = stop
        return evicted

    def check_fits(self, size: int, row: int) -> None:
        """Refuse a row that would take more than half of the cache."""
        if size > self.limit // 2:
            raise RowTooLongError(
                f"row {row} (counted from 0) takes {size:,} bytes, more than half of the {self.limit:,} for rows: "
                "raise memory",
                size,
            )

    def hold(
        self,
        rows: Rows,
        y: np.ndarray,
        first: int,
        variables: Variables,
        rng: np.random.Generator,
        wanted: np.ndarray,
        needed: int,
    ) -> int:
        """The same for rows that take so many bytes, at most half of all."""
        evicted = 0
        if self.live + needed > self.limit:
            room = min(self.limit - needed, self.limit - self.limit // SLACK)
            evicted = self.give_up(max(room, 0), variables, rng)
        arrays = self.example, self.y, self.Q, self.alpha, variables
        if isinstance(rows, Dense):
            self.count = hold_dense(self.rows, *arrays, self.count, rows, y, first, wanted)
            self.live = self.count * (self.width + SLOT)
        else:
            held = 0
            for _ in range(2):
                self.count, self.used, self.live, held = hold_sparse(
                    self.rows, *arrays, self.count, self.used, self.live, self.limit, rows, y, first, wanted, held
                )
                if held == len(y):
                    break
                self.push_together()
            else:
                raise AssertionError(f"no place for row {first + held}, though {self.limit - self.live:,} bytes are")
        return evicted

    def sizes_of(self, rows: Rows) -> np.ndarray:
        """How many bytes each of these rows would take."""
        values = 1 if isinstance(rows, Dense) else places_of(row_lengths(rows))
        return np.broadcast_to(SLOT + self.width * values, count_rows(rows))

    def has_room(self, rows: Rows) -> bool:
        """Whether they fit beside those that are here."""
        return bool(self.live + int(np.sum(self.sizes_of(rows))) <= self.limit)

    def give_up(self, room: int, variables: Variables, rng: np.random.Generator) -> int:
        """Give rows up at random until the rest takes no more than so many bytes."""
        before = self.count
        self.count, self.live = drop_any(
            self.rows, self.example, self.y, self.Q, self.alpha, variables, self.count, self.live, room,
            rng.integers(1 << 62),
        )  # fmt: skip
        return before - self.count

    def keep(self, wanted: np.ndarray, variables: Variables) -> None:
        """Give up all rows but those that are wanted."""
        arrays = self.example, self.y, self.Q, self.alpha, variables
        self.count, self.live = drop_others(self.rows, *arrays, self.count, self.live, wanted)
        self.push_together()

    def push_together(self) -> None:
        """Close the holes in the pool."""
        if isinstance(self.rows, Spans):
            order = np.argsort(self.rows.start[: self.count])
            self.used = close_holes(self.rows, order)

    def shrink(self, limit: int, variables: Variables, rng: np.random.Generator) -> None:
        """Make do with less memory from now on."""
        if limit < self.limit:
            self.limit = limit
            self.give_up(limit - limit // SLACK, variables, rng)
            self.push_together()
            if isinstance(self.rows, Spans):
                release(self.rows.values, self.used)
                release(self.rows.indices, self.used)
            else:
                release(self.rows.values.reshape(-1), self.count * self.rows.values.shape[1])

    def write_back(self, variables: Variables, slots: slice) -> None:
        """Let the variables know what α has become of the rows in these slots."""
        put_all(variables, self.example[: self.count][slots], self.alpha[: self.count][slots])


def relocate(rows: Any, k: int, last: int) -> None:
    """Put row `last` in the place of row k, in compiled code."""
    raise NotImplementedError("relocate works inside compiled functions only")


def weight(rows: Any, k: int) -> int:
    """How many bytes row k takes, in compiled code."""
    raise NotImplementedError("weight works inside compiled functions only")


def leave(rows: Any, k: int) -> None:
    """Let others have the place of row k, in compiled code."""
    raise NotImplementedError("leave works inside compiled functions only")


@inlined(relocate)
def _relocate(rows, k, last):
    if holds(rows, Dense):
        return lambda rows, k, last: copy_row(rows.values, k, last)
    return lambda rows, k, last: copy_span(rows.start, rows.stop, k, last)


@inlined(leave)
def _leave(rows, k):
    if holds(rows, Dense):
        return lambda rows, k: None
    return lambda rows, k: vacate(rows.indices, rows.free, rows.start[k], rows.stop[k])


@inlined(weight)
def _weight(rows, k):
    if holds(rows, Dense):
        return lambda rows, k: SLOT + rows.values.shape[1] * rows.values.itemsize
    return lambda rows, k: SLOT + size_of(rows.stop[k] - rows.start[k])[0] * bytes_of_a_value(rows)


@compiled
def bytes_of_a_value(pool):
    """With its index."""
    return pool.values.itemsize + pool.indices.itemsize


@compiled
def copy_row(values, k, last):
    """A dense row."""
    for j in range(values.shape[1]):
        values[k, j] = values[last, j]


@compiled
def copy_span(start, stop, k, last):
    """Where a sparse row is."""
    start[k], stop[k] = start[last], stop[last]


@compiled
def drop(rows, example, y, Q, alpha, variables, k, count):
    """Give up the row in slot k: its α is kept, and the last row moves to its slot."""
    i, last = example[k], count - 1
    put(variables, i, alpha[k])
    variables.marks[i] &= ~HELD
    leave(rows, k)
    if k != last:
        relocate(rows, k, last)
        example[k], y[k], Q[k], alpha[k] = example[last], y[last], Q[last], alpha[last]
    return last


@compiled
def drop_any(rows, example, y, Q, alpha, variables, count, live, room, seed):
    """Give up rows at random until those that are left take no more than `room` bytes."""
    state = np.uint64(seed)
    while count > 0 and live > room:
        state, k = draw_below(state, count)
        live -= weight(rows, k)
        count = drop(rows, example, y, Q, alpha, variables, k, count)
    return count, live


@compiled
def drop_others(rows, example, y, Q, alpha, variables, count, live, wanted):
    """Give up the rows that are not wanted, the last first: whatever moves to a slot has been looked at."""
    for k in range(count - 1, -1, -1):
        if not wanted[k]:
            live -= weight(rows, k)
            count = drop(rows, example, y, Q, alpha, variables, k, count)
    return count, live


@compiled
def hold_sparse(
    pool, example, y, Q, alpha, variables, count, used, live, limit, rows, labels, first, wanted, begin
):  # fmt: skip
    """Hold sparse rows that are wanted and not held yet, from `begin` on; where it ended, for want of a place."""
    width = bytes_of_a_value(pool)
    for i in range(begin, labels.size):
        if labels[i] > 0.0:
            variables.marks[first + i] |= POSITIVE
        if variables.marks[first + i] & HELD or not wanted[i]:
            continue
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        to, used = find_place(pool, stop - start, used, (limit - (count + 1) * SLOT) // width)
        if to == NOWHERE:
            return count, used, live, i
        for p in range(stop - start):
            pool.values[to + p] = rows.values[start + p]
            pool.indices[to + p] = rows.indices[start + p]
        pool.start[count], pool.stop[count] = to, to + stop - start
        variables.marks[first + i] |= HELD
        example[count], y[count], alpha[count] = first + i, labels[i], get(variables, first + i)
        Q[count] = square(rows, i)
        live += weight(pool, count)
        count += 1
    return count, used, live, labels.size


@compiled
def hold_dense(pool, example, y, Q, alpha, variables, count, rows, labels, first, wanted):
    """Append dense rows that are wanted and not held yet."""
    for i in range(labels.size):
        if labels[i] > 0.0:
            variables.marks[first + i] |= POSITIVE
        if variables.marks[first + i] & HELD or not wanted[i]:
            continue
        for j in range(rows.values.shape[1]):
            pool.values[count, j] = rows.values[i, j]
        variables.marks[first + i] |= HELD
        example[count], y[count], alpha[count] = first + i, labels[i], get(variables, first + i)
        Q[count] = square(rows, i)
        count += 1
    return count
