"""Times of two contenders that take turns: first calls apart, then as many rounds as the budget allows."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cells import OURS, THEIRS
from sklearn.exceptions import ConvergenceWarning

MOST_ROUNDS = 200
FEWEST_ROUNDS = 3
LONG = 2.0  # seconds: a pair of calls that takes longer is measured once


@dataclass
class Times:
    """Seconds of the calls of one contender, the first one apart, and the last value."""

    first: float = 0.0
    all: list[float] = field(default_factory=list)
    warned: int = 0  # calls with a ConvergenceWarning
    value: Any = None

    @property
    def median(self) -> float:
        """Return the median of the calls after the first."""
        return statistics.median(self.all)

    @property
    def best(self) -> float:
        """Return the shortest of the calls after the first."""
        return min(self.all)


def alternate(calls: dict[str, Callable[[], Any]], budget: float) -> dict[str, Times]:
    """Call the contenders in turn: once off the clock (it compiles), then for about `budget` seconds."""
    found = {who: Times() for who in calls}
    for who, call in calls.items():
        found[who].first = timed(call, Times())
    for who, call in calls.items():
        found[who].all.append(timed(call, found[who]))
    once = sum(times.median for times in found.values())
    rounds = 1 if once > LONG else min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(budget / once)))
    for _ in range(rounds - 1):
        for who, call in calls.items():
            found[who].all.append(timed(call, found[who]))
    return found


def timed(call: Callable[[], Any], times: Times) -> float:
    """Return the seconds of one call; keep its value, and whether it warned that a fit did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        times.value = call()
        seconds = time.perf_counter() - began
    times.warned += any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return seconds


def ratio(times: dict[str, Times]) -> float:
    """Return our median over theirs."""
    return times[OURS].median / times[THEIRS].median
