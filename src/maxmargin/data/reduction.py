"""A pass over all rows is a reduction: sums over the rows, wherever the rows are stored.

A `Pass` adds the sums of one part of the rows to its totals. An `Executor` runs passes over all rows, and adds up the
totals of the parts in a fixed order, so that the same parts give the same bits:

    MemoryRows   rows in memory: parts of fixed size, on threads
    FileRows     rows on disk: the blocks of the files, as they are read (data/file_rows)
    cluster      rows of the workers: each worker runs the pass over its own rows with one of the two above

Batch solvers use an executor and nothing else, so that one implementation serves all three places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from maxmargin.data.rows import Rows

Totals = tuple[np.ndarray, ...]


class Part(NamedTuple):
    """Some of the rows with their labels and weights, and `vectors`: their slices of vectors with one entry a row.

    The slices are writable. They belong to the executor, which keeps them between passes.
    """

    rows: Rows
    labels: np.ndarray
    weights: np.ndarray | None
    vectors: dict[str, np.ndarray]
    first: int


class Pass(Protocol):
    """Sums over rows. A pass can be pickled, so that it can be sent to the workers of a cluster."""

    @property
    def vectors(self) -> Sequence[str]:
        """The names of the vectors that the pass reads or writes; a new vector is 0."""

    def totals(self) -> Totals:
        """Return the totals of no rows: arrays of zeros."""

    def add(self, part: Part, totals: Totals) -> None:
        """Add the sums of one part of the rows to the totals."""


class RowFacts(NamedTuple):
    """Sizes of the data that bound rounding errors and costs.

    `squares` is the sum of all squared values, `longest` the number of values of the longest row, `counts` and
    `class_weights` the number and total weight of the rows of each class. `most_weight` is the largest weight, `blocks`
    the number of parts that a pass adds up, `longest_part` the rows of the longest one.
    """

    n: int
    d: int
    nnz: int
    squares: float
    longest: int
    classes: np.ndarray
    counts: np.ndarray
    class_weights: np.ndarray
    most_weight: float
    blocks: int
    longest_part: int


class Executor(Protocol):
    """Runs passes over all rows."""

    @property
    def threads(self) -> int:
        """Number of threads that the solver itself may use."""

    @property
    def facts(self) -> RowFacts:
        """Sizes of the data."""

    def reduce(self, passes: Sequence[Pass], stop: Callable[[], object] | None = None) -> list[Totals]:
        """Run several passes over the rows at once, and return the totals of each.

        `stop` is asked between parts; when it returns a true value, PassStoppedError is raised.
        """

    def keep(self, name: str, copy: str) -> None:
        """Copy the vector `name` to the vector `copy`."""

    def vector(self, name: str) -> np.ndarray:
        """Return a vector of all rows, in the memory of this process or in a file."""

    def put(self, name: str, values: np.ndarray) -> None:
        """Replace a vector of all rows: what `vector` returns may be a copy."""

    def sample(self, size: int, rng: np.random.Generator) -> Part:
        """Return about `size` rows, drawn at random without replacement, in the memory of this process."""


class PassStoppedError(Exception):
    """A pass was asked to stop before its end."""


def add_up(totals: Iterable[Totals]) -> Totals:
    """Add the totals of several parts, one after the other."""
    first, *others = totals
    for other in others:
        for total, more in zip(first, other, strict=True):
            np.add(total, more, out=total)
    return first


def in_a_tree(totals: Sequence[Totals]) -> Totals:
    """Add the totals of several executors in a fixed tree: neighbours first."""
    level = list(totals)
    while len(level) > 1:
        level = [add_up(level[k : k + 2]) for k in range(0, len(level), 2)]
    return level[0]


def together(facts: Sequence[RowFacts]) -> RowFacts:
    """Return the facts of several sets of rows together."""
    classes = np.unique(np.concatenate([one.classes for one in facts]))
    counts, weights = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes))
    for one in facts:
        places = np.searchsorted(classes, one.classes)
        np.add.at(counts, places, one.counts)
        np.add.at(weights, places, one.class_weights)
    return RowFacts(
        sum(one.n for one in facts),
        max(one.d for one in facts),
        sum(one.nnz for one in facts),
        sum(one.squares for one in facts),
        max(one.longest for one in facts),
        classes,
        counts,
        weights,
        max(one.most_weight for one in facts),
        sum(one.blocks for one in facts),
        max(one.longest_part for one in facts),
    )
