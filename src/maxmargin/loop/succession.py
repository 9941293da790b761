"""The solvers of one run: which one goes on if the first stalls or is too slow.

A run may be given a Succession. The loop asks it after every certificate that misses the tolerance, and when a solver
stalls. If there is another solver, it starts at the best point so far, with a fresh random generator of the same seed.
All decisions depend on epochs and certificates and never on the clock, so the same seed gives the same result, and a
resumed run changes its solver where the uninterrupted run does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any, Protocol

from maxmargin.loop.record import Record
from maxmargin.solvers.base import Solver

FAR_FROM_OPTIMUM = 0.3  # a solver starts anew if the relative gap so far is larger: Newton steps from far away are many


class Succession(Protocol):
    """Decides when another solver goes on with a run, and which one."""

    def follower(self, problem: Any, tried: Sequence[str]) -> Solver | None:
        """Return the solver that goes on after those `tried`, the running one last; None if there is none.

        The answer depends on nothing else: a resumed run finds its solver by these calls.
        """

    def too_slow(self, problem: Any, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """Whether the follower, or the end of the run if there is none, is better than the running solver.

        The running solver has taken `epochs` to the relative gap `gap`. At its present slope it would take `left` more.
        """


@dataclass(frozen=True)
class Fallback:
    """One solver that goes on if the first one stalls."""

    solver: Solver

    def follower(self, problem: Any, tried: Sequence[str]) -> Solver | None:
        """Return the solver, unless it has been tried."""
        return None if self.solver.name in tried else self.solver

    def too_slow(self, problem: Any, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """A slow solver is kept."""
        return False


def epochs_left(records: Sequence[Record], tol: float) -> float:
    """Return the epochs until the relative gap reaches `tol`, if its logarithm goes on to fall as it did.

    The slope is that of the second half of the epochs in `records`, or of the last two records. It is inf if the gap
    has not fallen, and nan if a single record gives no slope.
    """
    if len(records) < 2:
        return float("nan")
    last = records[-1]
    half = 0.5 * (records[0].epochs + last.epochs)
    before = next((record for record in reversed(records[:-1]) if record.epochs <= half), records[-2])
    now, then = last.best.relative_gap, before.best.relative_gap
    if not 0.0 < now < then < inf:
        return inf
    return (last.epochs - before.epochs) * log(now / tol) / log(then / now)
