"""Notices that dual steps from files make too little progress, so that another method should go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, log
from typing import Any

from maxmargin.loop.loop import Callback
from maxmargin.loop.record import Record

LEAST_PASSES = 12  # passes before progress is judged: 10 passes or fewer are enough on scaled data (outofcore.md)
PATIENCE = 1.0  # dual steps go on while they will need at most this many times the passes made so far


@dataclass(eq=False)
class ProgressWatch:
    """A callback that stops a run whose gap, at its present rate, reaches `tol` too late; `slow` says that it did."""

    tol: float
    callback: Callback | None = None
    slow: bool = False
    gaps: list[float] = field(default_factory=list)

    def __call__(self, record: Record) -> Any:
        """Pass the record on, and return whether the run should stop."""
        asked = self.callback(record) if self.callback is not None else None
        passes = record.reading.passes if record.reading is not None else 0
        if passes > len(self.gaps):
            self.gaps.append(record.best.relative_gap)
            self.slow = passes_left(self.gaps, self.tol) > max(PATIENCE * passes, 1.0) and passes >= LEAST_PASSES
        return asked or self.slow


def passes_left(gaps: list[float], tol: float) -> float:
    """Estimate the passes until the gap reaches `tol`, from its decrease over the last half of the passes."""
    now, before, passes = gaps[-1], gaps[len(gaps) // 2 - 1], len(gaps) - len(gaps) // 2
    if now <= tol:
        return 0.0
    if not (before < inf and now < before):
        return inf
    return log(now / tol) * passes / log(before / now)
