"""Worker processes killed in mid-round: every run must end certified, with the objective of an undisturbed run.

    python benchmarks/dask/kills.py [--data FOLDER] [--names a,b] [--losses a,b] [--kills 20] [--workers 4]
                                    [--partitions 8] [--tol 1e-6] [--seed 0] [--write benchmarks/results/kills.md]

A cluster of processes on this machine, each with a nanny that starts it again. First one undisturbed run of each
problem. Then the problems are trained in turn, while a thread kills a worker by SIGKILL, chosen at random, at random
moments between the start and the end of a round. The first round with a kill is drawn from those of the undisturbed
run; the next kill waits until all workers are back, so one run may have several kills, or none, and one round two at
most. Only processes that this program started are killed. If a nanny gives up its worker, a new cluster is started
between two runs.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from contenders import Task, blocks_on, local_client, say
from data import is_generated, prepare
from distributed.core import Status
from report import DATA, found, heading, publish, table

HEADS = [
    "run", "data", "loss", "kill", "seconds into the run", "round", "partitions of the killed worker",
    "partitions made again", "status", "certified gap", "objective / undisturbed - 1",
]  # fmt: skip
MOST_CLUSTERS = 20
RESTART_SECONDS = 30.0  # after which a nanny has given up its worker: Dask restarts none that dies while it is starting
TIMEOUT = 120.0
KILLS_A_ROUND = 2  # most kills in one round: the second may hit partitions made again; after 5 a round is given up
POLL = 0.001


@dataclass
class Kill:
    """One kill: when, in which round, and the partitions that were made again because of it."""

    seconds: float
    round: int
    address: str
    held: list[int]
    remade: list[int] = field(default_factory=list)


@dataclass
class Run:
    """One training: its certificate, and the kills in it."""

    name: str
    loss: str
    status: str
    primal: float
    dual: float
    gap: float
    rounds: int
    kills: list[Kill]


class Killer(threading.Thread):
    """Kills workers of a cluster while a round is under way."""

    def __init__(self, cluster: Any, rows: Any, most: int, rng: random.Random, first: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.rows, self.most, self.rng, self.first = cluster, rows, most, rng, first
        self.kills: list[Kill] = []
        self.in_round, self.ended = threading.Event(), threading.Event()
        self.began, self.usual = time.perf_counter(), 0.01
        self.watch()

    def watch(self) -> None:
        """Note when rounds begin and end, and which partitions are made again."""
        round_of, make_of = self.rows.round, self.rows.make

        def noted_round(calls: Any, method: str, *given: Any) -> Any:
            began = time.perf_counter()
            if method == "reduce":
                self.in_round.set()
            try:
                return round_of(calls, method, *given)
            finally:
                self.in_round.clear()
                self.usual = 0.8 * self.usual + 0.2 * (time.perf_counter() - began)

        def noted_make(numbers: list[int], stop: Any) -> None:
            for kill in self.kills[-1:]:
                kill.remade += numbers
            make_of(numbers, stop)

        self.rows.round, self.rows.make = noted_round, noted_make

    def run(self) -> None:
        """Kill until the training ends."""
        while not self.ended.is_set() and len(self.kills) < self.most:
            if self.allowed() and self.all_back() and self.in_round.wait(POLL):
                time.sleep(self.rng.uniform(0.0, min(self.usual, 0.2)))
                if self.in_round.is_set():
                    self.kill()
            time.sleep(POLL)

    def allowed(self) -> bool:
        """Whether this round may have a kill, or another one."""
        now = self.rows.rounds + 1
        return now >= self.first and sum(kill.round == now for kill in self.kills) < KILLS_A_ROUND

    def all_back(self) -> bool:
        """Whether all workers run, and the scheduler knows them."""
        known, killed = set(self.cluster.scheduler.workers), {kill.address for kill in self.kills}
        return all(
            nanny.process is not None
            and nanny.process.status is nanny.status is Status.running
            and nanny.worker_address in known - killed
            for nanny in self.cluster.workers.values()
        )

    def kill(self) -> None:
        """Kill a worker that holds partitions."""
        addresses = {actor.worker: sorted(actor.numbers) for actor in list(self.rows.actors)}
        chosen = [nanny for nanny in self.cluster.workers.values() if nanny.worker_address in addresses]
        if not chosen or not self.all_back():
            return
        nanny = self.rng.choice(chosen)
        held = addresses[nanny.worker_address]
        self.kills.append(Kill(time.perf_counter() - self.began, self.rows.rounds + 1, nanny.worker_address, held))
        os.kill(nanny.pid, signal.SIGKILL)
        say(f"  killed {nanny.pid}, which held {held}")


def main() -> None:
    options = given()
    problems = [(name, loss) for name in options.names.split(",") for loss in options.losses.split(",")]
    names = [name for name in options.names.split(",") if is_generated(name) or found(name, options.data)]
    problems = [problem for problem in problems if problem[0] in names]
    for name in names:
        prepare(name, options.data, options.cache)
    with local_client(options.workers) as client:
        quiet = {problem: trained(client, problem, options) for problem in problems}
    runs, rng, left = list[Run](), random.Random(options.seed), MOST_CLUSTERS
    while missing(runs, options) and (left := left - 1) >= 0:
        with forgiving(local_client(options.workers)) as client:
            disturbed(client, quiet, options, rng, runs)
    report(options, quiet, runs)


@contextmanager
def forgiving(opened: Any) -> Iterator[Any]:
    """Yield what a context yields. A cluster that has lost a nanny may raise KeyError while it closes."""
    value = opened.__enter__()
    try:
        yield value
    finally:
        with suppress(KeyError):
            opened.__exit__(None, None, None)


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default="covtype.binary.scale,dense:200000x50")
    parser.add_argument("--losses", default="hinge,logistic")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "maxmargin-bench-dask")
    parser.add_argument("--write")
    return parser.parse_args()


def missing(runs: list[Run], options: argparse.Namespace) -> int:
    """Return how many kills are missing."""
    return options.kills - sum(len(run.kills) for run in runs)


def disturbed(
    client: Any, quiet: dict[tuple[str, str], Run], options: argparse.Namespace, rng: random.Random, runs: list[Run]
) -> None:
    """Train the problems in turn until there have been enough kills, or a nanny has given up its worker."""
    problems = list(quiet)
    while left := missing(runs, options):
        try:
            client.wait_for_workers(options.workers, timeout=RESTART_SECONDS)
        except TimeoutError:
            say("a nanny did not start its worker again: a new cluster")
            return
        problem = problems[len(runs) % len(problems)]
        runs.append(trained(client, problem, options, rng, left, rng.randint(1, quiet[problem].rounds)))


def trained(
    client: Any, problem: tuple[str, str], options: argparse.Namespace, rng: random.Random | None = None, most: int = 0,
    first: int = 0,
) -> Run:  # fmt: skip
    """Train once, with kills if there is a random generator."""
    from maxmargin.cluster.intake import rows_on_cluster
    from maxmargin.settings.settings import settings_of
    from maxmargin.training.on_cluster import trained as train

    name, loss = problem
    task = Task(name, loss, 1.0, 600.0, options.cache, options.partitions)
    blocks = blocks_on(client, task)
    with closing(rows_on_cluster(blocks, client=client, timeout=TIMEOUT)) as rows:
        killer = Killer(client.cluster, rows, most, rng or random.Random(0), first)
        if rng is not None:
            killer.start()
        try:
            settings = settings_of("train", blocks, {"loss": loss, "tol": options.tol, "client": client})
            result = train(rows, settings, time.perf_counter())
        finally:
            killer.ended.set()
            if rng is not None:
                killer.join()
    certificate = result.certificate
    say(f"{name} {loss}: {len(killer.kills)} kills, {result.status.name}, gap {certificate.relative_gap:.1e}")
    return Run(
        name, loss, result.status.name, certificate.primal, certificate.dual, certificate.relative_gap, rows.rounds,
        killer.kills,
    )  # fmt: skip


def report(options: argparse.Namespace, quiet: dict[tuple[str, str], Run], runs: list[Run]) -> None:
    rows, wrong = [], 0
    for number, run in enumerate(runs, 1):
        alone = quiet[run.name, run.loss]
        agrees = run.dual <= alone.primal and alone.dual <= run.primal
        wrong += run.status != "CONVERGED" or run.gap > options.tol or not agrees
        for place, kill in enumerate(run.kills, 1):
            rows.append(
                [
                    str(number),
                    run.name,
                    run.loss,
                    str(place),
                    f"{kill.seconds:.2f}",
                    str(kill.round),
                    ", ".join(map(str, kill.held)),
                    ", ".join(map(str, kill.remade)) or "none",
                    run.status,
                    f"{run.gap:.1e}",
                    f"{run.primal / alone.primal - 1.0:+.1e}",
                ]
            )
    disturbed_runs = [run for run in runs if run.kills]
    text = heading("Workers killed in mid-round", " ".join(["python benchmarks/dask/kills.py", *sys.argv[1:]]), "dask")
    text += (
        f"\n{sum(len(run.kills) for run in runs)} kills in {len(disturbed_runs)} of {len(runs)} runs, on "
        f"{options.workers} workers with {options.partitions} partitions, tolerance {options.tol:g}. Runs that did not "
        f"end certified with the objective of the undisturbed run: {wrong}.\n\n"
        "A partition is made again on another worker from its origin, when the next round needs it; it is listed with\n"
        f"the last kill before. At most {KILLS_A_ROUND} kills fall in one round: a partition that loses its workers\n"
        "more than 5 times in one round is an error by design (docs/cluster.md).\n\n"
    )
    publish(text + table(HEADS, rows), options.write)
    if wrong:
        raise SystemExit(f"{wrong} runs did not end as they should")


if __name__ == "__main__":
    main()
