"""The number of threads, work shared among them, and the amount of free memory."""

from __future__ import annotations

import math
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from maxmargin.errors import ParameterError

CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
CONTAINER_USAGE = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}
A = TypeVar("A")
B = TypeVar("B")
ASSUMED_MEMORY = 4 << 30  # Bytes, if the system does not report its memory.


def all_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """Return the number of threads if none is requested: all cores, or OMP_NUM_THREADS if that is set to fewer.

    joblib sets it in its worker processes, so that all of them together have as many threads as there are cores.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(all_cores(), int(limit)) if limit.isdigit() and int(limit) > 0 else all_cores()


def thread_count(threads: Any) -> int:
    """Return the requested number of threads; for None as many as `default_threads`."""
    if threads is None:
        return default_threads()
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1:
        raise ParameterError(f"threads={threads!r} must be a whole number, 1 or above, or None for all cores")
    return int(threads)


def free_memory() -> float:
    """Return the bytes that are available, within the limit of a container."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        free = physical_memory() or ASSUMED_MEMORY
    return min([free, *map(left_of, CONTAINER_LIMITS)])


def total_memory() -> float:
    """Return the bytes of the computer or of its container; infinity if unknown."""
    return min([physical_memory() or math.inf, *map(limit_of, CONTAINER_LIMITS)])


def physical_memory() -> int:
    """Return the bytes of physical memory; 0 if unknown."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0


def limit_of(limit: Path) -> float:
    """Return the memory limit of a container; infinity if there is none."""
    try:
        return int(limit.read_text())
    except (OSError, ValueError):
        return math.inf


def left_of(limit: Path) -> float:
    """Return the unused part of a container's memory limit; infinity if there is none."""
    try:
        return max(limit_of(limit) - int(limit.with_name(CONTAINER_USAGE[limit.name]).read_text()), 0)
    except (OSError, ValueError):
        return math.inf


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads, started once: starting them takes longer than a pass over small data."""
    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # threads do not survive a fork


def libraries() -> Any:
    """Return a controller of the libraries with their own threads. SciPy loads a further library when first used."""
    return libraries_beside("scipy.linalg" in sys.modules)


@cache
def libraries_beside(_scipy: bool) -> Any:
    """Return a controller of the libraries loaded so far. It is cached: finding them takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_libraries() -> Any:
    """Return the BLAS libraries loaded so far."""
    return (one for one in libraries().lib_controllers if one.user_api == "blas")


class Single:
    """A reentrant context in which BLAS uses one thread."""

    def __init__(self) -> None:
        self.lock, self.wanted = Lock(), 0
        self.limits: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self.lock:
            self.wanted += 1
            if self.wanted == 1:
                self.limits = [(library, library.get_num_threads()) for library in blas_libraries()]
                for library, _ in self.limits:
                    library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.wanted -= 1
            if self.wanted == 0:
                for library, threads in self.limits:
                    library.set_num_threads(threads)


blas_on_one_thread = Single()  # idle BLAS threads spin for a while and slow ours down


@contextmanager
def blas_on(threads: int) -> Iterator[None]:
    """A context in which BLAS uses several threads, also inside `blas_on_one_thread`: for one large operation."""
    if threads == 1:
        yield
        return
    with libraries().limit(limits=threads, user_api="blas"):
        yield


def on_threads(threads: int, work: Callable[[int], None], items: Sequence[int], *, at_once: bool = False) -> None:
    """Call work(item) for each item on `threads` threads, including this one. A free thread takes the next item.

    Threads are shared with other calls, and may start late; with `at_once` they are new, since items wait for others.
    """
    if threads == 1 or len(items) <= 1:
        for item in items:
            work(item)
        return
    waiting = deque(items)

    def share() -> None:
        while waiting:
            try:
                item = waiting.popleft()
            except IndexError:  # another thread took the last item
                return
            try:
                work(item)
            except BaseException:
                waiting.clear()  # an error or Ctrl-C: all threads stop
                raise

    with ThreadPoolExecutor(threads) if at_once else nullcontext(pool(threads)) as shared:
        others = [shared.submit(share) for _ in range(min(threads, len(items)) - 1)]
        try:
            share()
        finally:
            begun = [other for other in others if not other.cancel()]
            others.clear()
            wait_for(begun)
        for other in begun:
            other.result()


def in_turn(function: Callable[[A], B]) -> Callable[[A], B]:
    """Wrap a function so that it never runs on two threads at once."""
    lock = Lock()

    def called(item: A) -> B:
        with lock:
            return function(item)

    return called


def in_order(function: Callable[[A], B], items: Iterable[A], helpers: int) -> Generator[tuple[A, B]]:
    """Yield each item with function(item), in order, computed by `helpers` further threads.

    At most one item more than there are helpers is in progress. This thread always draws the items; without helpers it
    also calls the function.
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
    """Wait until all futures have ended, even after an interrupt: they write to arrays of the caller."""
    try:
        wait(begun)
    except BaseException:
        wait(begun)
        raise
