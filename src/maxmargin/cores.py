"""How many threads to use."""

from __future__ import annotations

import os
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
