"""Passes over the rows of a Dask cluster: the third Executor.

Each worker has an actor that holds its partitions. A round sends the passes to all actors, and adds up the totals of
the partitions in a fixed tree: on the workers if the totals are large, else in this process. If a worker is lost, its
partitions are made again on others from their origin, and the round is repeated for them alone: the totals of the
others are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import numpy as np

from maxmargin.cluster.actors import Actor, created, settled
from maxmargin.cluster.connection import living
from maxmargin.cluster.facts import PartitionFacts, check_alike
from maxmargin.cluster.holder import Reply
from maxmargin.cluster.origin import Origin
from maxmargin.cluster.packing import Packed, pack, restored, size_of
from maxmargin.cluster.tree import Node, merged, root
from maxmargin.data.collect import stacked
from maxmargin.data.folds import ROW_NUMBERS
from maxmargin.data.reduction import Part, Pass, PassStoppedError, Totals, together
from maxmargin.errors import ClusterError, MaxmarginError

WAIT_SECONDS = 0.1  # how often `stop` is asked and lost workers are looked for
MOST_LOSSES = 5  # times that one call is repeated for a partition whose workers die, before it is given up

# Workers add up their totals among themselves if that saves more than it costs: a step of the tree takes two calls of
# about 2 ms, in which the client could receive about 4 MB.
LEAST_IN_TREE = 2
BYTES_FOR_A_STEP = 4e6

MOST_EXACT = 10**9  # rows up to which NumPy draws from a hypergeometric distribution

Stop = Callable[[], object]


@dataclass(eq=False)
class ClusterRows:
    """Rows of the workers of a cluster: an Executor.

    `timeout` limits every wait, in seconds. `sent` and `received` count the bytes of the passes and totals of all
    `rounds`. `restored` lists the partitions that were made again, whose vectors are those last saved, or 0; who reads
    it clears it. `columns` are the names of the features of a table that is not encoded.
    """

    client: Any
    origin: Origin
    timeout: float = 600.0
    threads: int = 1
    actors: list[Actor] = field(default_factory=list)
    saved: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)
    restored: list[int] = field(default_factory=list)
    rounds: int = 0
    sent: int = 0
    received: int = 0
    turn: int = 0

    def __post_init__(self) -> None:
        self.d: int | None = None
        self.lock = RLock()  # solvers of several problems call from threads of their own
        self.make(list(range(self.origin.count)), None)
        found = self.found_facts()
        self.partition_facts = [one.sizes for one in found]
        self.columns = next((one.columns for one in found if one.sizes.n), None)
        self.facts = together([one for one in self.partition_facts if one.n])
        self.d = self.facts.d
        if any(one.d != self.d for one in self.partition_facts):
            self.ask("widen", (self.d,))

    def found_facts(self) -> list[PartitionFacts]:
        """Return the facts of every partition; raise if one has a fault or does not fit the others."""
        found = self.ask("facts", ())
        for number in sorted(found):
            if isinstance(found[number], MaxmarginError):
                raise found[number]
        check_alike({number: one for number, one in found.items() if one.sizes.n})
        return [found[number] for number in sorted(found)]

    def reduce(self, passes: Sequence[Pass], stop: Stop | None = None) -> list[Totals]:
        """Run several passes over the rows of all workers at once, and return the totals of each."""
        packed, count = pack(list(passes)), self.origin.count
        with self.lock:
            number, in_tree = self.turn, self.adds_on_workers(passes)
            nodes, rows = self.collected(packed, number, in_tree, stop)
            if in_tree:
                nodes = self.added_on_workers(number, stop) or self.collected(packed, number, False, stop)[0]
            self.check_rows(rows)
            self.rounds += 1
        return merged(nodes, count)[root(count)]

    def adds_on_workers(self, passes: Sequence[Pass]) -> bool:
        """Whether workers add up their totals among themselves: steps of a tree cost less than many large messages."""
        workers = len({actor.worker for actor in self.actors})
        size, steps = sum(total.nbytes for one in passes for total in one.totals()), (workers - 1).bit_length()
        return workers > LEAST_IN_TREE and size * (workers - steps) > steps * BYTES_FOR_A_STEP

    def collected(
        self, packed: Packed, number: int, hold: bool, stop: Stop | None
    ) -> tuple[dict[Node, list[Totals]], dict[int, int]]:
        """Run the passes of round `number`; return the totals, unless workers hold them, and the rows visited.

        Partitions that have been visited in this round are not visited again.
        """
        nodes, rows = dict[Node, list[Totals]](), dict[int, int]()
        for reply in self.replies("reduce", (packed, number, hold), stop, packed.nbytes):
            if set(reply.rows) & set(rows) or set(reply.nodes) & set(nodes):
                raise ClusterError("a partition was counted twice: please report it")
            rows.update(reply.rows)
            nodes.update(self.unpacked(reply))
        return nodes, rows

    def unpacked(self, reply: Reply) -> dict[Node, list[Totals]]:
        """Return the totals of a reply, and count their bytes."""
        self.received += sum(map(size_of, reply.nodes.values()))
        return {node: restored(sums) for node, sums in reply.nodes.items()}

    def added_on_workers(self, number: int, stop: Stop | None) -> dict[Node, list[Totals]] | None:
        """Let neighbours add up what they hold, level by level, and return the sum; None if a worker is lost."""
        self.turn += 1
        actors = sorted(self.actors, key=lambda actor: min(actor.numbers))
        while len(actors) > 1:
            pairs = list(zip(actors[::2], actors[1::2], strict=False))
            pending = {
                one: one.call("absorb", self.turn, number, other.worker, other.future.key, 0.5 * self.timeout)
                for one, other in pairs
            }
            found = self.settle(pending, stop)
            if len(found) < len(pairs) or any(reply.error is not None for _, reply in found):
                return None
            actors = actors[::2]
        found = self.settle({actors[0]: actors[0].call("hand_over", self.turn, number)}, stop)
        return self.unpacked(found[0][1]) if found and found[0][1].error is None else None

    def check_rows(self, rows: dict[int, int]) -> None:
        """Raise unless every row was visited once."""
        for number, facts in enumerate(self.partition_facts):
            if rows.get(number) != facts.n:
                raise ClusterError(
                    f"partition {number} had {facts.n} rows at first, and {rows.get(number, 0)} in this round: "
                    "its data have changed: start again"
                )

    def sample(self, size: int, rng: np.random.Generator) -> Part:
        """Return rows drawn at random without replacement; the same for the same partitions and seed."""
        counts = np.array([one.n for one in self.partition_facts])
        shares = shares_of(min(size, int(np.sum(counts))), counts, rng)
        seeds = rng.integers(0, 2**63, len(counts))
        sizes = {number: (int(share), int(seeds[number])) for number, share in enumerate(shares)}
        found = self.ask("sample", (sizes,))
        parts = [found[number] for number in sorted(found) if len(found[number].labels)]
        weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
        rows = stacked([part.rows for part in parts], self.facts.d)
        vectors = {ROW_NUMBERS: np.concatenate([part.vectors[ROW_NUMBERS] for part in parts])}
        return Part(rows, np.concatenate([part.labels for part in parts]), weights, vectors, 0)

    def keep(self, name: str, copy: str) -> None:
        """Copy the vector `name` to the vector `copy`, on the workers."""
        self.ask("keep", (name, copy))

    def vector(self, name: str) -> np.ndarray:
        """Return a copy of a vector of all rows, in the order of the partitions."""
        found = self.ask("vector", (name,))
        return np.concatenate([found[number] for number in sorted(found)])

    def put(self, name: str, values: np.ndarray) -> None:
        """Replace a vector of all rows, on the workers."""
        self.ask("put", (name, self.split(values)))

    def save(self, *names: str) -> None:
        """Keep copies of vectors in this process: a partition that is made again gets them back."""
        for name in names:
            for number, values in self.split(self.vector(name)).items():
                self.saved.setdefault(number, {})[name] = values

    def split(self, values: np.ndarray) -> dict[int, np.ndarray]:
        """Return the slice of each partition of a vector of all rows."""
        ends = np.cumsum([one.n for one in self.partition_facts])
        return dict(enumerate(np.split(values, ends[:-1])))

    def close(self) -> None:
        """Release the rows on the workers."""
        self.actors.clear()

    def ask(self, method: str, given: tuple[Any, ...]) -> dict[int, Any]:
        """Call a method of all actors, and return the answer of each partition."""
        answers: dict[int, Any] = {}
        with self.lock:
            for reply in self.replies(method, given, None):
                answers.update(reply.answers)
        return answers

    def replies(self, method: str, given: tuple[Any, ...], stop: Stop | None, size: int = 0) -> list[Reply]:
        """Call a method of all actors, again for partitions whose workers are lost, until each partition has replied.

        `size` is the number of bytes of the arguments.
        """
        waiting, replies, losses = set(range(self.origin.count)), list[Reply](), 0
        while waiting:
            self.turn += 1
            missing = sorted(waiting - {number for actor in self.actors for number in actor.numbers})
            if missing:
                losses += 1
                if losses > MOST_LOSSES:
                    raise ClusterError(
                        f"partition {missing[0]} lost its worker {losses} times in a row: does it run out of memory? "
                        "Make partitions smaller, or give workers more memory"
                    )
                self.make(missing, stop)
            calls = {actor: actor.numbers & waiting for actor in self.actors if actor.numbers & waiting}
            self.sent += size * len(calls)
            for reply, numbers in self.round(calls, method, given, stop):
                if reply.error is not None:
                    raise self.explained(reply.error)
                replies.append(reply)
                waiting -= numbers
        return replies

    def round(
        self, calls: dict[Actor, set[int]], method: str, given: tuple[Any, ...], stop: Stop | None
    ) -> list[tuple[Reply, set[int]]]:
        """Call a method of actors and return their replies. Actors whose worker is lost are removed."""
        pending = {actor: actor.call(method, self.turn, *given, sorted(numbers)) for actor, numbers in calls.items()}
        return [(reply, calls[actor]) for actor, reply in self.settle(pending, stop)]

    def settle(self, pending: dict[Actor, Any], stop: Stop | None) -> list[tuple[Actor, Reply]]:
        """Wait for the replies of actors. Actors whose worker is lost are removed."""
        found: list[tuple[Actor, Reply]] = []
        began = time.monotonic()
        try:
            while pending:
                for actor, reply in settled(self.client, pending, WAIT_SECONDS):
                    del pending[actor]
                    if reply is None:
                        self.actors.remove(actor)
                    else:
                        found.append((actor, reply))
                if pending:
                    self.check_waiting(pending, began, stop)
        except BaseException:
            self.cancel(pending)
            raise
        return found

    def check_waiting(self, pending: dict[Actor, Any], began: float, stop: Stop | None) -> None:
        """Give up actors whose worker is gone; raise on `stop`, a lost scheduler, or after the time limit."""
        if stop is not None and stop():
            raise PassStoppedError
        alive = self.workers()
        for actor in [actor for actor in pending if actor.worker not in alive or actor.lost]:
            del pending[actor]
            self.actors.remove(actor)
        if pending and time.monotonic() - began > self.timeout:
            names = ", ".join(sorted(actor.worker for actor in pending))
            raise ClusterError(f"no answer within {self.timeout:g} s of worker {names}: raise timeout=, or restart it")

    def cancel(self, pending: dict[Actor, Any]) -> None:
        """Ask actors to end the current call early; their replies are not waited for."""
        for actor in pending:
            actor.call("cancel", self.turn)

    def workers(self) -> set[str]:
        """Return the addresses of the living workers."""
        return living(self.client, self.timeout)

    def make(self, numbers: list[int], stop: Stop | None) -> None:
        """Create partitions on the workers, from their origin."""
        again = self.d is not None
        vectors = {number: self.saved[number] for number in numbers if number in self.saved}
        self.actors += created(self, numbers, vectors, stop)
        if again:
            self.restored += numbers

    def explained(self, error: BaseException) -> BaseException:
        """Return the error of a worker as one for the user."""
        if isinstance(error, MemoryError):
            return ClusterError("a worker ran out of memory: make partitions smaller, or give workers more memory")
        return error


def shares_of(size: int, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how many of `size` rows, drawn without replacement, belong to each partition; of very many rows, about."""
    if np.sum(counts) < MOST_EXACT:
        return np.asarray(rng.multivariate_hypergeometric(counts, size, method="marginals"))
    return np.asarray(np.minimum(rng.multinomial(size, counts / np.sum(counts)), counts))
