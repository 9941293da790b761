"""Notices that dual steps from files make too little progress: another method should go on, or the run should end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log
from typing import Any

from maxmargin.loop.loop import Callback
from maxmargin.loop.record import Record
from maxmargin.solvers.base import Solver

LEAST_PASSES = 12  # passes before progress is judged: 10 passes or fewer are enough on scaled data (outofcore.md)
FEW_PASSES, MANY_EPOCHS = 4, 100.0  # after these, a gap above HIGH_GAP is hopeless too: mnist.t with 10 classes
HIGH_GAP = 0.5
LEAST_EPOCHS = 5000.0  # epochs before a run may end; on data that suit dual steps, hundreds are enough
HOPELESS = 20.0  # dual steps end if they will need more than this many times the epochs so far
PATIENCE = 1.0  # dual steps go on while they will need at most this many times the passes made so far
MUCH_SLOWER = 1.5  # they also go on while they will cost at most this many times what the follower is likely to cost


@dataclass(eq=False)
class ProgressWatch:
    """A callback that stops a run whose gap, at its present rate, reaches `tol` too late; `slow` says that it did.

    `other` is the estimated cost of the solver that would go on, in passes of this one. `gaps` holds the gaps of each
    two-class problem at the end of its passes.
    """

    tol: float
    callback: Callback | None = None
    other: float = 0.0
    slow: bool = False
    gaps: dict[str, list[float]] = field(default_factory=dict)

    def __call__(self, record: Record) -> Any:
        """Pass the record on, and return whether the run should stop."""
        asked = self.callback(record) if self.callback is not None else None
        passes = record.reading.passes if record.reading is not None else 0
        gaps = self.gaps.setdefault(record.problem, [])
        if passes > len(gaps):
            gaps.append(record.best.relative_gap)
            most = max(PATIENCE * passes, MUCH_SLOWER * self.other, 1.0)
            many = passes >= FEW_PASSES and record.epochs >= MANY_EPOCHS and gaps[-1] > HIGH_GAP
            enough = many or passes >= LEAST_PASSES
            self.slow = self.slow or (enough and passes_left(gaps, self.tol) > most)
        return asked or self.slow


@dataclass(frozen=True)
class EndIfHopeless:
    """A Succession without a follower: dual steps that would need very many more epochs end as STALLED."""

    def follower(self, problem: Any, tried: Sequence[str]) -> Solver | None:
        """Return None: no other solver goes on in the same run."""
        return None

    def too_slow(self, problem: Any, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """Whether the run should end."""
        return epochs >= LEAST_EPOCHS and left > HOPELESS * epochs


def passes_left(gaps: list[float], tol: float) -> float:
    """Estimate the passes until the gap reaches `tol`, from its decrease over the last half of the passes."""
    now, before, passes = gaps[-1], gaps[len(gaps) // 2 - 1], len(gaps) - len(gaps) // 2
    if now <= tol:
        return 0.0
    if not (before < inf and now < before):
        return inf
    return log(now / tol) * passes / log(before / now)
