"""Logical workers: an Executor that cuts the rows into K partitions in one process, and counts what a cluster would do.

Each partition is a `MemoryRows` on one thread. A round runs the passes of the solver over every partition, one after
the other, and adds up the totals in the tree of the cluster. Rounds, bytes and the CPU time of each part are counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from maxmargin.cluster.cluster_rows import shares_of
from maxmargin.cluster.packing import pack, shortened, size_of
from maxmargin.data.collect import stacked
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.reduction import Part, Pass, RowFacts, Totals, add_up, together
from maxmargin.data.take import take


@dataclass
class Counts:
    """What has been counted so far: bytes are those of one message, to one worker or from one worker."""

    rounds: int = 0
    down: int = 0
    up: int = 0
    work: float = 0.0  # CPU seconds of all partitions together
    adding: float = 0.0  # CPU seconds of adding up and of measuring messages: not part of the model

    def copy(self) -> Counts:
        """Return the counts of this moment."""
        return replace(self)


@dataclass(eq=False)
class LogicalWorkers:
    """K partitions in one process: an Executor, with what `ClusterRows` tells of its workers.

    `largest_sample` limits the rows that the client gets as a sample: data of a cluster are many times larger than one.
    """

    partitions: list[MemoryRows]
    largest_sample: int = 1 << 62
    threads: int = 1
    counts: Counts = field(default_factory=Counts)
    actors: tuple = ()
    columns: None = None  # arrays have no names

    def __post_init__(self) -> None:
        self.partition_facts = [one.facts for one in self.partitions]
        self.facts: RowFacts = together(self.partition_facts)
        self.origin = SimpleNamespace(count=len(self.partitions), encoder=None, divisors=None)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.counts.rounds

    @property
    def sent(self) -> int:
        """Bytes to all workers."""
        return self.counts.down * len(self.partitions)

    @property
    def received(self) -> int:
        """Bytes from all workers, if none of them adds up."""
        return self.counts.up * len(self.partitions)

    def reduce(self, passes: Sequence[Pass], stop: Callable[[], object] | None = None) -> list[Totals]:
        """Run passes over all partitions, and add up in a tree."""
        began, work, up = time.process_time(), 0.0, 0
        down = pack(list(passes)).nbytes
        tree: list[tuple[int, list[Totals]]] = []  # the height and the sums of subtrees that wait for a neighbour
        for one in self.partitions:
            start = time.process_time()
            found = one.reduce(passes, stop)
            work += time.process_time() - start
            up = up or size_of(shortened(found))
            tree.append((0, found))
            while len(tree) > 1 and tree[-1][0] == tree[-2][0]:
                merge(tree)
        while len(tree) > 1:
            merge(tree)
        self.counts.rounds += 1
        self.counts.down += down
        self.counts.up += max(up, size_of(shortened(tree[0][1])))  # the last message of the tree has the most entries
        self.counts.work += work
        self.counts.adding += time.process_time() - began - work
        return tree[0][1]

    def sample(self, size: int, rng: np.random.Generator) -> Part:
        """Return rows drawn at random without replacement."""
        counts = np.array([one.facts.n for one in self.partitions])
        shares = shares_of(min(size, self.largest_sample, int(np.sum(counts))), counts, rng)
        parts = [one.sample(int(share), rng) for one, share in zip(self.partitions, shares, strict=True) if share]
        rows = stacked([part.rows for part in parts], self.facts.d)
        return Part(rows, np.concatenate([part.labels for part in parts]), None, {}, 0)

    def keep(self, name: str, copy: str) -> None:
        """Copy the vector `name` to the vector `copy`, in every partition."""
        for one in self.partitions:
            one.keep(name, copy)

    def vector(self, name: str) -> np.ndarray:
        """Return a copy of a vector of all rows."""
        return np.concatenate([one.vector(name) for one in self.partitions])

    def put(self, name: str, values: np.ndarray) -> None:
        """Replace a vector of all rows."""
        ends = np.cumsum([one.facts.n for one in self.partitions])
        for one, part in zip(self.partitions, np.split(values, ends[:-1]), strict=True):
            one.put(name, part)


def merge(tree: list[tuple[int, list[Totals]]]) -> None:
    """Replace the last two subtrees by their sum."""
    (_, right), (height, left) = tree.pop(), tree.pop()
    tree.append((height + 1, [add_up(pair) for pair in zip(left, right, strict=True)]))


def cut(X: Any, y: np.ndarray, workers: int, largest_sample: int = 1 << 62) -> LogicalWorkers:
    """Return the rows, cut into one contiguous partition for each worker."""
    ends = np.linspace(0, len(y), workers + 1).astype(np.int64)
    return LogicalWorkers([MemoryRows(take(X[a:b]), y[a:b]) for a, b in pairwise(ends)], largest_sample)
