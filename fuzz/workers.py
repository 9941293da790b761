"""Many cases in a few processes, each watched: a crash or a hang is laid to the case that was running.

A runner says what a case is. Each worker takes every k-th seed, notes the seed before it begins, and sends what it has
counted now and then. One that dies or hangs is replaced, and goes on behind the seed at which it was lost.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from fuzz.tally import Finding, Tally

FLUSH_SECONDS = 0.5
PREPARE_SECONDS = 900.0  # the first run compiles
PREPARING = -1.0
RENEW = 75  # exit code of a worker that asks for a fresh process
PROCESSES = multiprocessing.get_context("spawn")


class Runner(Protocol):
    """One kind of case."""

    name: str
    limit_seconds: float

    def prepare(self) -> None:
        """Whatever is needed before the first case, in the worker."""

    def run(self, seed: int, tally: Tally) -> bool:
        """One case; False asks for a fresh process."""

    def save(self, seed: int, reason: str) -> str:
        """Keep what is needed to see a lost case again, and say where."""


@dataclass
class Worker:
    """A process and the seeds it takes: `start`, then every `step`-th below `stop`."""

    runner: Runner
    start: int
    stop: int
    step: int
    deadline: float

    def __post_init__(self) -> None:
        self.launch(self.start)

    def launch(self, start: int) -> None:
        """Begin at a seed, in a fresh process."""
        self.state = PROCESSES.RawArray("d", [float(start), PREPARING])
        self.connection, theirs = PROCESSES.Pipe(duplex=False)
        seeds = range(start, self.stop, self.step)
        self.launched = time.monotonic()
        self.process = PROCESSES.Process(target=work, args=(self.runner, seeds, theirs, self.state, self.deadline))
        self.process.start()
        theirs.close()

    def look(self, tally: Tally) -> bool:
        """Take what it has sent; whether it goes on."""
        self.receive(tally)
        began, now = self.state[1], time.monotonic()
        if self.process.is_alive():
            if began == PREPARING and now - self.launched > PREPARE_SECONDS:
                raise RuntimeError(f"{self.runner.name}: a worker was not ready after {PREPARE_SECONDS:g} s")
            if began <= 0.0 or now - began <= self.runner.limit_seconds:
                return True
            self.process.kill()
            self.process.join()
            self.lose(tally, f"hang beyond {self.runner.limit_seconds:g} s")
        else:
            self.receive(tally)
            code = self.process.exitcode
            if code == 0:
                return False
            if began == PREPARING:
                raise RuntimeError(f"{self.runner.name}: a worker ended with code {code} before its first case")
            if code != RENEW:
                self.lose(tally, f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}")
        following = int(self.state[0]) + self.step
        if following >= self.stop or now >= self.deadline:
            return False
        self.launch(following)
        return True

    def lose(self, tally: Tally, reason: str) -> None:
        """The case that was running is a finding."""
        seed = int(self.state[0])
        tally.report(Finding(reason, f"{self.runner.name}:{seed}", self.runner.save(seed, reason), 1.0))

    def receive(self, tally: Tally) -> None:
        """What it has sent so far."""
        try:
            while self.connection.poll():
                tally.add(self.connection.recv())
        except (EOFError, OSError):
            pass


def work(runner: Runner, seeds: range, connection: Connection, state: Any, deadline: float) -> None:
    """A worker's life."""
    quieten()
    runner.prepare()
    state[1] = 0.0
    tally, flushed = Tally(), time.monotonic()
    for seed in seeds:
        began = time.monotonic()
        if began >= deadline:
            break
        state[0], state[1] = float(seed), began
        fine = runner.run(seed, tally)
        state[1] = 0.0
        if not fine or began - flushed > FLUSH_SECONDS:
            connection.send(tally)
            tally, flushed = Tally(), began
        if not fine:
            connection.close()
            sys.stdout.flush()
            os._exit(RENEW)
    connection.send(tally)
    connection.close()
    os._exit(0)  # threads that libraries leave behind need no farewell


def quieten() -> None:
    """Warnings are not findings, and threads of BLAS only stand in each other's way."""
    import warnings

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers


def campaign(runner: Runner, count: int, seconds: float, first: int = 0, workers: int = 2) -> Tally:
    """Cases from seed `first` on, so many or as many as the time allows."""
    began = time.monotonic()
    tally, stop = Tally(), first + count
    several = [
        Worker(runner, first + k, stop, workers, began + seconds) for k in range(min(workers, max(count, 1)))
    ]  # fmt: skip
    try:
        while several:
            several = [worker for worker in several if worker.look(tally)]
            time.sleep(0.05)
    finally:
        for worker in several:
            worker.process.kill()
    tally.seconds = time.monotonic() - began
    return tally
