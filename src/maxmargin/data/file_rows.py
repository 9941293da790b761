"""Passes over rows on disk: the blocks of the files, parsed and added up on all cores as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from threading import Lock
from typing import Any

import numpy as np

from maxmargin.data.block_order import expected
from maxmargin.data.folds import ROW_NUMBERS
from maxmargin.data.memory_rows import facts_of
from maxmargin.data.pick import pick
from maxmargin.data.preparation import Preparation
from maxmargin.data.reduction import Part, Pass, PassStoppedError, RowFacts, Totals, add_up, together
from maxmargin.data.row_store import RowStore
from maxmargin.data.rows import Csr, count_columns, count_rows
from maxmargin.data.source import Place, RowBlock, Source
from maxmargin.errors import DataError, FileError
from maxmargin.system.budget import HELD, Budget
from maxmargin.system.buffers import forget, reserved
from maxmargin.system.spill_file import in_file
from maxmargin.system.threads import in_order, on_threads

VALUES_PER_BYTE = 0.25  # Most values of expanded rows in memory at once, for each byte of a block.
LANE_SHARE = 0.125  # Part of the memory limit for the totals of all lanes: with larger totals there is one lane.
COPIED_AT_ONCE = 1 << 16  # Numbers of a vector that are copied at once: it may be in a file.
SAMPLED_SHARE = 0.4  # Part of the memory for rows that a sample may take: its solver needs as much again.

Stop = Callable[[], object]
NO_LABELS = np.zeros(0)


class FileRows:
    """Rows on disk: an Executor. Its first reading, in `survey`, finds the sizes of the data and draws a sample.

    `lanes` threads each parse and add up every lanes-th block, so that the same number of threads gives the same bits.
    """

    def __init__(
        self,
        source: Source,
        budget: Budget,
        *,
        preparation: Preparation | None = None,
        weights: np.ndarray | None = None,
        threads: int = 1,
    ) -> None:
        self.source, self.budget, self.weights, self.threads = source, budget, weights, threads
        self.preparation = preparation or Preparation(source.name)
        self.vectors: dict[str, np.ndarray] = {}
        self.places = list[Place](source.places or [])
        self.found: RowFacts | None = None
        self.input_d = self.passes = self.read_bytes = 0
        self.touched, self.lock = 0, Lock()
        self.weighted = weights is not None
        self.drawn: tuple[RowStore, list[np.ndarray], list[np.ndarray], list[np.ndarray]] | None = None

    @property
    def facts(self) -> RowFacts:
        """Sizes of the data, after `survey`."""
        if self.found is None:
            self.survey(np.random.default_rng(0))
        assert self.found is not None
        return self.found

    @property
    def most(self) -> float:
        """The largest number of values of expanded rows in memory at once."""
        return VALUES_PER_BYTE * self.budget.block

    def survey(self, rng: np.random.Generator, stop: Stop | None = None) -> None:
        """Read all rows once: find their sizes and classes, and keep a sample of them."""
        facts, store, places = list[RowFacts](), RowStore(self.room_for_sample()), []
        labels, weights, numbers, share = list[np.ndarray](), list[np.ndarray](), list[np.ndarray](), 1.0
        size = max(self.source.size, 1)
        for block in self.source.blocks():
            places.append(block.place)
            self.input_d = max(self.input_d, count_columns(block.rows))
            for part in self.parts(block, ()):
                if not facts:
                    rows = len(block.labels) * size / max(block.read, 1)
                    share = min(1.0, store.capacity / max(rows * float(np.mean(store.row_costs(part.rows))), 1.0))
                self.check_labels(facts, part)
                self.weighted = part.weights is not None
                facts.append(facts_of(part.rows, part.labels, part.weights))
                chosen = np.flatnonzero(rng.random(count_rows(part.rows)) < share)
                chosen = chosen[: store.add(part.rows, chosen)]
                labels.append(part.labels[chosen])
                numbers.append(part.first + chosen)
                weights.append(np.ones(len(chosen)) if part.weights is None else part.weights[chosen])
            if stop is not None and stop():
                raise PassStoppedError
            self.read_bytes = block.read
        if self.source.any_order and not self.places:
            self.places = places
        if not facts:
            raise DataError(f"{self.source.name}: no rows: there is nothing to train on")
        self.found = together(facts)
        self.drawn, self.passes = (store, labels, weights, numbers), self.passes + 1

    def check_labels(self, facts: list[RowFacts], part: Part) -> None:
        """Raise if some labels are numbers and some are names."""
        if facts and (facts[0].classes.dtype.kind == "U") != (part.labels.dtype.kind == "U"):
            raise DataError(f"{self.source.name}: some labels are numbers and some are names: use one kind")

    def room_for_rows(self) -> float:
        """Return the bytes that are left for rows; raise if there are none."""
        return float(self.budget.for_rows(self.facts.n, self.facts.d))

    def room_for_sample(self) -> float:
        """Return the bytes that a sample may take, before the sizes of the data are known."""
        return SAMPLED_SHARE * max(self.budget.left(0, 0, 0.0), 0.05 * self.budget.total)

    def release_sample(self) -> None:
        """Release the memory of the sample."""
        self.drawn = None

    def sample(self, size: int, rng: np.random.Generator) -> Part:
        """Return rows that `survey` has drawn at random, at most `size`; none once they have been released."""
        facts = self.facts
        if self.drawn is None:
            return Part(Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int64), facts.d), NO_LABELS, None, {}, 0)
        store, labels, weights, numbers = self.drawn
        own = [np.concatenate(one) for one in (labels, weights, numbers)]
        rows = store.rows(facts.d)
        if size < count_rows(rows):
            chosen = np.sort(rng.choice(count_rows(rows), size, replace=False))
            rows, own = pick(rows, chosen), [one[chosen] for one in own]
        return Part(rows, own[0], own[1] if self.weighted else None, {ROW_NUMBERS: own[2]}, 0)

    def keep(self, name: str, copy: str) -> None:
        """Copy the vector `name` to the vector `copy`."""
        source, to = self.vector(name), self.vector(copy)
        for start in range(0, len(source), COPIED_AT_ONCE):
            to[start : start + COPIED_AT_ONCE] = source[start : start + COPIED_AT_ONCE]
            self.relax(2 * COPIED_AT_ONCE)

    def vector(self, name: str) -> np.ndarray:
        """Return a vector of all rows; a new one is 0."""
        if name not in self.vectors:
            self.vectors[name] = self.zeros()
        return self.vectors[name]

    def put(self, name: str, values: np.ndarray) -> None:
        """Replace a vector of all rows."""
        np.copyto(self.vector(name), values)

    def reduce(self, passes: Sequence[Pass], stop: Stop | None = None) -> list[Totals]:
        """Run several passes while the files are read once."""
        names = sorted({name for one in passes for name in one.vectors})
        for name in names:
            self.vector(name)
        lanes = [[one.totals() for one in passes] for _ in range(self.lanes(passes))]
        rows = [0] * len(lanes)

        def add(lane: int, block: RowBlock) -> None:
            for part in self.parts(block, names):
                rows[lane] += count_rows(part.rows)
                for one, totals in zip(passes, lanes[lane], strict=True):
                    one.add(part, totals)
            self.read_bytes = block.read
            self.relax(len(block.labels) * (len(names) + (self.weights is not None)))
            if stop is not None and stop():
                raise PassStoppedError

        self.source.check()
        if len(lanes) > 1:
            self.on_lanes(len(lanes), add)
        else:
            with closing(self.blocks()) as blocks:
                for block in blocks:
                    add(0, block)
        self.source.check()
        self.passes += 1
        if sum(rows) != self.facts.n:
            raise self.changed()
        return [add_up(lane[k] for lane in lanes) for k in range(len(passes))]

    def on_lanes(self, count: int, add: Callable[[int, RowBlock], None]) -> None:
        """Parse and add up every count-th block on a thread of its own."""

        def run(lane: int) -> None:
            for place in expected(self.source, self.places[lane::count]):
                add(lane, self.source.block_at(place))

        on_threads(count, run, range(count))

    def blocks(self) -> Any:
        """Yield all blocks in order; where blocks can be read in any order, other threads parse ahead."""
        if self.places and self.source.any_order:
            helpers = self.budget.parsers(self.threads) if self.threads > 1 else 0
            with closing(in_order(self.source.block_at, expected(self.source, self.places), helpers)) as found:
                for _, block in found:
                    yield block
            return
        yield from self.source.blocks()

    def lanes(self, passes: Sequence[Pass]) -> int:
        """Return the number of threads that parse and add up at once: one if totals or rows take too much memory."""
        if not (self.places and self.source.any_order) or any(getattr(one, "in_order", False) for one in passes):
            return 1
        threads = min(self.threads, max(self.budget.parsers(self.threads), 1), len(self.places))
        size = sum(total.nbytes for one in passes for total in one.totals())
        return threads if threads * size <= LANE_SHARE * self.budget.total else 1

    def parts(self, block: RowBlock, names: Sequence[str]) -> Iterator[Part]:
        """Yield a block as parts with expanded and shifted rows."""
        for piece, rows in self.preparation.parts(block.rows, self.most):
            first = block.first + piece.start
            own = slice(first, first + count_rows(rows))
            if self.found is not None and (own.stop > self.found.n or count_columns(rows) > self.found.d):
                raise self.changed()
            if self.weights is not None and own.stop > len(self.weights):
                raise DataError(
                    f"{self.source.name}: has more rows than the {len(self.weights)} weights: give one each"
                )
            weights = None if block.weights is None else block.weights[piece]
            if self.weights is not None:
                weights = self.weights[own]
            yield Part(rows, block.labels[piece], weights, {name: self.vectors[name][own] for name in names}, first)

    def zeros(self) -> np.ndarray:
        """Return a vector of zeros with one entry a row, in memory or, if that is too small, in a file."""
        n = self.facts.n
        if self.budget.too_many(0.5 * n * (len(self.vectors) + 1)):  # it counts two numbers for each example
            return in_file(n, np.float64, "numbers of examples")
        return reserved(n, np.float64)

    def relax(self, numbers: int) -> None:
        """Release the pages of vectors in files that are in memory, once they are many."""
        with self.lock:
            self.touched += 8 * numbers
            if self.touched < HELD * self.budget.total:
                return
            self.touched = 0
        for vector in list(self.vectors.values()):
            forget(vector)
        if self.weights is not None:
            forget(self.weights)

    def changed(self) -> FileError:
        """Return the error for a file that has other rows than in the first reading."""
        return FileError(
            f"{self.source.name}: had {self.facts.n} rows of {self.facts.d} features at first and has others now: "
            "the file has changed, start again"
        )
