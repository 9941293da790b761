"""When a run in memory is certified, and how small a gap it goes for.

By epochs, never by the clock, so that the same seed stops at the same point: after each of the first epochs, then
whenever the epochs have grown by 15 %. Certifying costs about a tenth of the time, and a run goes at most 15 % beyond
the point where it could have stopped. A solver that estimates its gap as it goes is certified when the estimate meets
the goal, and otherwise seldom: its state has the field `estimate`.

A problem so small that it takes a few milliseconds is solved beyond the tolerance, until only rounding is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.loop.checkpoint import RunState
from maxmargin.problems.certificate import Certificate

SPACING = 1.15  # Growth of the epochs from one certificate to the next: certifying costs about a tenth of the time.
SPACING_WITH_ESTIMATE = 1.5  # The same for a solver that estimates its gap.
EPOCHS_BEFORE_FIRST = 8.0  # Epochs before the first certificate of such a solver, unless its estimate asks for one.
FREE_GAP = 1e-15  # Relative gap to go on to where that is free: nothing but rounding.
FREE_WORK = 1_000_000  # Values visited, up to which going on is free: a few milliseconds.
FREE_EPOCHS = 1000  # The same in epochs, for problems of a few values.


class Schedule:
    """The certificates of one run; a run that is `watched` is certified as if its solver gave no estimate."""

    def __init__(self, problem: Any, run: RunState, tol: float, watched: bool) -> None:
        self.problem, self.run, self.tol, self.watched = problem, run, tol, watched

    @property
    def estimate(self) -> float:
        """The solver's own estimate of its relative gap."""
        return float(getattr(self.run.state, "estimate", np.inf))

    @property
    def has_estimate(self) -> bool:
        """Whether certificates wait for the estimate."""
        return self.estimate < np.inf and not self.watched

    def goal(self, epochs: float) -> float:
        """The relative gap to reach: beyond the tolerance where that is free."""
        return min(self.tol, FREE_GAP) if self.costs_nothing(epochs) else self.tol

    def costs_nothing(self, epochs: float) -> bool:
        """Whether the run has taken so little that going on to the last digit is free."""
        if not self.problem.immediate:
            return False
        return epochs <= FREE_EPOCHS and epochs * max(self.problem.nnz, self.problem.n) <= FREE_WORK

    def arrived(self, best: Certificate, epochs: float) -> bool:
        """Whether the tolerance is met, and where more is free nothing but rounding is left of the gap."""
        return best.meets(self.tol) and best.gap - best.rounding <= self.goal(epochs) * best.measure

    def due(self, epochs: float) -> bool:
        """Whether to certify now: the epochs say so, or the estimate does."""
        if self.estimate <= min(self.goal(epochs), self.run.ask):
            return True
        return epochs >= max(self.run.next_certificate, EPOCHS_BEFORE_FIRST if self.has_estimate else 0.0)

    def plan_next(self, epochs: float) -> bool:
        """Plan the certificate after the one that is due now; whether that one was due by its epochs."""
        run = self.run
        regular = epochs >= run.next_certificate
        if regular:
            spacing = SPACING_WITH_ESTIMATE if self.has_estimate else SPACING
            run.next_certificate = epochs + max(1.0, epochs * (spacing - 1.0))
        if self.estimate <= self.goal(epochs):  # it asked for this one; if that fails, the next must be asked for later
            run.ask = 0.5 * min(self.estimate, run.ask)
        return regular
