"""The actor that holds the partitions of one worker, and runs passes over them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.cluster.facts import PartitionFacts, columns_of_files
from maxmargin.cluster.packing import Packed, restored, shortened, unpack
from maxmargin.cluster.partition import Partition
from maxmargin.cluster.tree import Node, leaves, merged
from maxmargin.data.columns import widened
from maxmargin.data.file_rows import FileRows
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.reduction import Part, Pass, Totals
from maxmargin.data.rows import Csr, count_rows


class Reply(NamedTuple):
    """The answers of an actor, by partition, or the error that ended the call.

    `rows` are the numbers of rows that were visited. Totals come as nodes of the tree in place of `answers`.
    """

    answers: dict[int, Any]
    rows: dict[int, int]
    nodes: dict[Node, list[tuple[Any, ...]]]
    error: BaseException | None = None


class Held(NamedTuple):
    """The totals of a round that stay on the worker: rows visited and nodes of its own partitions, and the sum.

    `sum` are the nodes with those of other workers; it shares no array with `nodes`.
    """

    round: int
    rows: dict[int, int]
    nodes: dict[Node, list[Totals]]
    sum: dict[Node, list[Totals]] | None = None


NOTHING_HELD = Held(-1, {}, {})


class CountRows:
    """The pass that counts the rows which the other passes of a round have visited."""

    vectors: Sequence[str] = ()

    def totals(self) -> Totals:
        """Return no rows."""
        return (np.zeros(1, dtype=np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        """Add the number of rows of a part."""
        totals[0][0] += count_rows(part.rows)


class Holder:
    """Partitions in the memory of a worker, with their vectors. Its methods return a Reply and raise nothing."""

    def __init__(
        self, partitions: Sequence[Partition], count: int, vectors: dict[int, dict[str, np.ndarray]], d: int | None
    ) -> None:
        from distributed import get_worker

        self.count, self.cancelled, self.held, self.worker = count, -1, NOTHING_HELD, get_worker()
        threads = self.worker.state.nthreads
        self.faults = {one.number: one.fault for one in partitions if one.fault is not None}
        self.columns = {one.number: one.columns for one in partitions}
        self.files = {one.number: one.files for one in partitions if one.files is not None}
        self.executors = {one.number: one.executor(threads) for one in partitions if one.fault is None}
        for number, saved in vectors.items():
            if number in self.executors:
                self.executors[number].vectors.update({name: values.copy() for name, values in saved.items()})
        if d is not None:
            self.widen_all(d)

    async def cancel(self, turn: int) -> None:
        """Stop all calls up to number `turn`. A coroutine, so that it runs beside the thread of the actor."""
        self.cancelled = max(self.cancelled, turn)

    def reduce(self, turn: int, packed: Packed, round_number: int, hold: bool, numbers: Sequence[int]) -> Reply:
        """Run passes over some partitions; sum those that are neighbours in the tree.

        With `hold` the totals stay here, for `absorb`. Partitions visited in this round are not visited again.
        """

        def run() -> Reply:
            if self.held.round != round_number:
                self.held = Held(round_number, {}, {})
            passes: list[Pass] = [*unpack(packed), CountRows()]
            nodes, rows = dict(self.held.nodes), dict(self.held.rows)
            for number in sorted(set(numbers) - set(rows)):
                *totals, counted = self.executors[number].reduce(passes, lambda: turn <= self.cancelled)
                nodes = merged({**nodes, **leaves({number: totals})}, self.count)
                rows[number] = int(counted[0][0])
            self.held = Held(round_number, rows, nodes) if hold else NOTHING_HELD
            return Reply({}, rows, {} if hold else packed_nodes(nodes))

        return answered(run)

    async def absorb(self, turn: int, round_number: int, worker: str, actor: str, timeout: float) -> Reply:
        """Add the sum that the actor of another worker holds to the one here."""
        try:
            there = self.worker.rpc(worker)
            call = there.actor_execute(function="hand_over", actor=actor, args=[turn, round_number], kwargs={})
            given: Reply = (await asyncio.wait_for(call, timeout))["result"]
            if given.error is not None or self.held.round != round_number:
                return Reply({}, {}, {}, given.error or LookupError(f"round {round_number} is not here"))
            nodes = {node: restored(sums) for node, sums in given.nodes.items()}
            self.held = self.held._replace(sum=merged({**own_sum(self.held), **nodes}, self.count))
        except Exception as error:  # the other worker is lost
            return Reply({}, {}, {}, error)
        return Reply({}, {}, {})

    async def hand_over(self, turn: int, round_number: int) -> Reply:
        """Return the sum of a round."""
        if self.held.round != round_number:
            return Reply({}, {}, {}, LookupError(f"round {round_number} is not here"))
        return Reply({}, {}, packed_nodes(own_sum(self.held)))

    def facts(self, turn: int, numbers: Sequence[int]) -> Reply:
        """Return the facts of each partition, or its fault."""
        return answered(lambda: Reply({number: self.facts_of(number) for number in numbers}, {}, {}))

    def facts_of(self, number: int) -> PartitionFacts | BaseException:
        """Return the facts of a partition, or its fault."""
        if number in self.faults:
            return self.faults[number]
        executor = self.executors[number]
        if isinstance(executor, MemoryRows):
            sparse = isinstance(executor.rows, Csr)
            weighted, kind = executor.weights is not None, executor.labels.dtype.kind
            return PartitionFacts(executor.facts, sparse, kind, weighted, self.columns[number])
        facts, one = executor.facts, executor.sample(1, np.random.default_rng(0))
        columns = columns_of_files(self.files[number])
        return PartitionFacts(facts, isinstance(one.rows, Csr), facts.classes.dtype.kind, executor.weighted, columns)

    def widen(self, turn: int, d: int, numbers: Sequence[int]) -> Reply:
        """Give sparse rows in memory d columns."""

        def run() -> Reply:
            self.widen_all(d)
            return Reply(dict.fromkeys(numbers), {}, {})

        return answered(run)

    def widen_all(self, d: int) -> None:
        """Give sparse rows in memory d columns."""
        for executor in self.executors.values():
            if isinstance(executor, MemoryRows) and isinstance(executor.rows, Csr):
                executor.rows = widened(executor.rows, d)

    def sample(self, turn: int, sizes: dict[int, tuple[int, int]], numbers: Sequence[int]) -> Reply:
        """Return a Part of each partition, of the given size, drawn with the given seed."""

        def draw(number: int) -> Part:
            (size, seed), executor = sizes[number], self.executors[number]
            drawn = executor.sample(size, np.random.default_rng(seed))
            if isinstance(executor, FileRows):
                executor.release_sample()
            return drawn

        return answered(lambda: Reply({number: draw(number) for number in numbers}, {}, {}))

    def keep(self, turn: int, name: str, copy: str, numbers: Sequence[int]) -> Reply:
        """Copy a vector of each partition."""
        return answered(lambda: Reply({number: self.executors[number].keep(name, copy) for number in numbers}, {}, {}))

    def vector(self, turn: int, name: str, numbers: Sequence[int]) -> Reply:
        """Return a vector of each partition."""
        return answered(
            lambda: Reply({number: np.asarray(self.executors[number].vector(name)) for number in numbers}, {}, {})
        )

    def put(self, turn: int, name: str, values: dict[int, np.ndarray], numbers: Sequence[int]) -> Reply:
        """Replace a vector of each partition."""

        def run() -> Reply:
            for number in numbers:
                np.copyto(self.executors[number].vector(name), values[number])
            return Reply(dict.fromkeys(numbers), {}, {})

        return answered(run)


def packed_nodes(nodes: dict[Node, list[Totals]]) -> dict[Node, list[tuple[Any, ...]]]:
    """Return nodes as they are sent."""
    return {node: shortened(sums) for node, sums in nodes.items()}


def own_sum(held: Held) -> dict[Node, list[Totals]]:
    """Return the sum of a round, to be overwritten: a copy of the nodes of this worker if they are all of it."""
    if held.sum is not None:
        return held.sum
    return {node: [tuple(total.copy() for total in one) for one in sums] for node, sums in held.nodes.items()}


def answered(run: Callable[[], Reply]) -> Reply:
    """Return the reply of a call; an error is part of the reply, so that it differs from the loss of the worker."""
    try:
        return run()
    except Exception as error:
        return Reply({}, {}, {}, error)
