"""Passes over rows in memory, on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.folds import ROW_NUMBERS
from maxmargin.data.passes import chunk_of
from maxmargin.data.pick import pick
from maxmargin.data.reduction import Part, Pass, PassStoppedError, RowFacts, Totals, add_up
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored, longest_row, part_of_rows
from maxmargin.system.lazy import lazy
from maxmargin.system.threads import on_threads

LANES = 4  # Separate totals. The number is fixed, so that the sums do not depend on the number of threads.


@dataclass(eq=False)
class MemoryRows:
    """Rows in memory with their labels and weights: an Executor."""

    rows: Rows
    labels: np.ndarray
    weights: np.ndarray | None = None
    threads: int = 1
    vectors: dict[str, np.ndarray] = field(default_factory=dict)

    @lazy
    def facts(self) -> RowFacts:
        """Sizes of the data."""
        return facts_of(self.rows, self.labels, self.weights, self.blocks, chunk_of(self.rows))

    @property
    def blocks(self) -> int:
        """Number of parts that a pass adds up."""
        return -(-count_rows(self.rows) // max(chunk_of(self.rows), 1)) + LANES

    def reduce(self, passes: Sequence[Pass], stop: Callable[[], object] | None = None) -> list[Totals]:
        """Run passes over all rows; every lane adds up a contiguous quarter of the rows."""
        n, step = count_rows(self.rows), chunk_of(self.rows)
        lanes = [[one.totals() for one in passes] for _ in range(min(self.lanes(passes), max(n, 1)))]
        ends = np.linspace(0, n, len(lanes) + 1).astype(np.int64)

        def add(lane: int) -> None:
            for start in range(int(ends[lane]), int(ends[lane + 1]), step):
                if stop is not None and stop():
                    raise PassStoppedError
                stop_at = min(start + step, int(ends[lane + 1]))
                for one, totals in zip(passes, lanes[lane], strict=True):
                    one.add(self.part(start, stop_at, one.vectors), totals)

        for one in passes:
            for name in one.vectors:
                self.vector(name)
        on_threads(self.threads, add, range(len(lanes)))
        return [add_up(lane[k] for lane in lanes) for k in range(len(passes))]

    def lanes(self, passes: Sequence[Pass]) -> int:
        """Return the number of separate totals: one if a pass must see the parts in order."""
        return 1 if any(getattr(one, "in_order", False) for one in passes) else LANES

    def part(self, start: int, stop: int, names: Sequence[str]) -> Part:
        """Return the rows from `start` to `stop`."""
        weights = None if self.weights is None else self.weights[start:stop]
        vectors = {name: self.vectors[name][start:stop] for name in names}
        return Part(part_of_rows(self.rows, start, stop), self.labels[start:stop], weights, vectors, start)

    def keep(self, name: str, copy: str) -> None:
        """Copy the vector `name` to the vector `copy`."""
        np.copyto(self.vector(copy), self.vector(name))

    def vector(self, name: str) -> np.ndarray:
        """Return a vector of all rows; a new one is 0."""
        if name not in self.vectors:
            self.vectors[name] = np.zeros(count_rows(self.rows))
        return self.vectors[name]

    def put(self, name: str, values: np.ndarray) -> None:
        """Replace a vector of all rows."""
        np.copyto(self.vector(name), values)

    def sample(self, size: int, rng: np.random.Generator) -> Part:
        """Return rows drawn at random without replacement."""
        n = count_rows(self.rows)
        chosen = np.sort(rng.choice(n, min(size, n), replace=False))
        weights = None if self.weights is None else self.weights[chosen]
        return Part(pick(self.rows, chosen, self.threads), self.labels[chosen], weights, {ROW_NUMBERS: chosen}, 0)


def facts_of(
    rows: Rows, labels: np.ndarray, weights: np.ndarray | None, blocks: int = 1, longest_part: int | None = None
) -> RowFacts:
    """Return the sizes of some rows."""
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    of_classes = counts.astype(np.float64) if weights is None else np.bincount(codes.ravel(), weights, len(classes))
    squares = float(np.sum(np.square(rows.values, dtype=np.float64)))
    longest_part = count_rows(rows) if longest_part is None else longest_part
    most = 1.0 if weights is None else float(np.max(weights, initial=0.0))
    return RowFacts(
        count_rows(rows), count_columns(rows), count_stored(rows), squares, longest_row(rows), classes, counts,
        of_classes, most, blocks, longest_part,
    )  # fmt: skip
