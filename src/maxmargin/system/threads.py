"""The machine: how many threads to use, work shared among them, and how much memory is free."""

from __future__ import annotations

import math
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from maxmargin.errors import ParameterError

CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
USED = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}
A = TypeVar("A")
B = TypeVar("B")
SOME_MEMORY = 4 << 30  # bytes, where the system does not say


def all_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(threads: Any) -> int:
    """As many as asked for; all cores if nothing was."""
    if threads is None:
        return all_cores()
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1:
        raise ParameterError(f"threads={threads!r} must be a whole number, 1 or above, or None for all cores")
    return int(threads)


def free_memory() -> float:
    """Bytes that could be had without taking them from another program, nor more than a container is allowed."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        free = physical_memory() or SOME_MEMORY
    return min([free, *map(left_of, CONTAINER)])


def total_memory() -> float:
    """Bytes that the machine has, or a container is allowed; infinite where the system does not say."""
    return min([physical_memory() or math.inf, *map(limit_of, CONTAINER)])


def physical_memory() -> int:
    """Bytes of the machine; 0 where the system does not say."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0


def limit_of(limit: Path) -> float:
    """What a container is allowed; infinite where there is no limit."""
    try:
        return int(limit.read_text())
    except (OSError, ValueError):
        return math.inf


def left_of(limit: Path) -> float:
    """What a container's limit leaves; infinite where there is none."""
    try:
        return max(limit_of(limit) - int(limit.with_name(USED[limit.name]).read_text()), 0)
    except (OSError, ValueError):
        return math.inf


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """So many threads, started once: starting them takes longer than a pass over small data."""
    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # the threads of a parent do not run in its child


def libraries() -> Any:
    """The libraries that have threads of their own; SciPy brings one more when it is first needed."""
    return libraries_beside("scipy.linalg" in sys.modules)


@cache
def libraries_beside(_scipy: bool) -> Any:
    """All of them that are there by now: looking for them takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Single:
    """BLAS on one thread, as long as anybody wants it so."""

    def __init__(self) -> None:
        self.lock, self.wanted = Lock(), 0
        self.limits: Any = None

    def __enter__(self) -> None:
        with self.lock:
            self.wanted += 1
            if self.wanted == 1:
                self.limits = libraries().limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.wanted -= 1
            if self.wanted == 0:
                self.limits.restore_original_limits()


blas_on_one_thread = Single()  # its own threads, once woken, go round for a while and take a core from ours


@contextmanager
def blas_on(threads: int) -> Iterator[None]:
    """BLAS on so many threads, even while it is held to one: for something large that it does alone."""
    if threads == 1:
        yield
        return
    with libraries().limit(limits=threads, user_api="blas"):
        yield


def on_threads(threads: int, work: Callable[[int], None], items: Sequence[int]) -> None:
    """Call work(item) for each, on `threads` threads, this one among them: whoever is free takes the next."""
    if threads == 1 or len(items) <= 1:
        for item in items:
            work(item)
        return
    waiting = deque(items)

    def share() -> None:
        while waiting:
            try:
                item = waiting.popleft()
            except IndexError:  # another one was quicker
                return
            try:
                work(item)
            except BaseException:
                waiting.clear()  # an error, or Ctrl-C: nobody goes on
                raise

    others = [pool(threads).submit(share) for _ in range(min(threads, len(items)) - 1)]
    try:
        share()
    finally:
        begun = [other for other in others if not other.cancel()]
        others.clear()
        wait_for(begun)
    for other in begun:
        other.result()


def in_turn(function: Callable[[A], B]) -> Callable[[A], B]:
    """The same, but never called on two threads at once."""
    lock = Lock()

    def called(item: A) -> B:
        with lock:
            return function(item)

    return called


def in_order(function: Callable[[A], B], items: Iterable[A], helpers: int) -> Generator[tuple[A, B]]:
    """Each item with its answer, in order: found by so many threads beside this one, one item ahead of them at most.

    Without helpers this thread finds it. The items are drawn by this thread always.
    """
    if not helpers:
        yield from ((item, function(item)) for item in items)
        return
    with ThreadPoolExecutor(helpers, "maxmargin-helper") as others:
        waiting: deque[tuple[A, Future[B]]] = deque()
        try:
            for item in items:
                waiting.append((item, others.submit(function, item)))
                if len(waiting) > helpers:
                    first, answer = waiting.popleft()
                    yield first, answer.result()
            for first, answer in waiting:
                yield first, answer.result()
        finally:
            others.shutdown(cancel_futures=True)


def wait_for(begun: Sequence[Future]) -> None:
    """Until all have ended, whatever comes in between: they write where the caller will go on."""
    try:
        wait(begun)
    except BaseException:
        wait(begun)
        raise
