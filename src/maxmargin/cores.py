"""The cores: how many threads to use, and work shared among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from maxmargin.errors import ParameterError


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


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """So many threads, started once: starting them takes longer than a pass over small data."""
    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # the threads of a parent do not run in its child


def on_threads(threads: int, work: Callable[[int], None], items: Sequence[int]) -> None:
    """Call work(item) for each, on `threads` threads."""
    if threads == 1 or len(items) == 1:
        for item in items:
            work(item)
        return
    for _ in pool(threads).map(work, items):
        pass
