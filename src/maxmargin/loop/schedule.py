"""The schedule of certificates for problems in memory, and the gap that a run aims for.

The schedule counts epochs and never uses the clock, so that the same seed stops at the same point. A run is certified
after each of the first epochs, then whenever the epochs have grown by 15 %. Certifying costs about a tenth of the time,
and a run goes at most 15 % beyond the point where it could have stopped. A solver whose state has the field `estimate`
estimates its own gap. It is certified when the estimate meets the goal, and otherwise seldom.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.loop.checkpoint import RunState

SPACING = 1.15  # Growth of the epochs from one certificate to the next: certifying costs about a tenth of the time.
SPACING_WITH_ESTIMATE = 1.5  # Growth of the epochs for a solver that estimates its gap.
EPOCHS_BEFORE_FIRST = 8.0  # Epochs before the first certificate of a solver with an estimate, unless the estimate asks.


class Schedule:
    """Decides when one run is certified. The certificates of a `watched` run do not wait for the solver's estimate."""

    def __init__(self, problem: Any, run: RunState, tol: float, watched: bool) -> None:
        self.problem, self.run, self.tol, self.watched = problem, run, tol, watched

    @property
    def estimate(self) -> float:
        """The solver's own estimate of its relative gap."""
        return float(getattr(self.run.state, "estimate", np.inf))

    @property
    def has_estimate(self) -> bool:
        """Whether certificates wait for the solver's estimate."""
        return self.estimate < np.inf and not self.watched

    def due(self, epochs: float) -> bool:
        """Whether to certify now, because of the epochs or of the estimate, or because certificates cost nothing."""
        if getattr(self.problem, "certificates_are_free", False):
            return True
        if self.estimate <= min(self.tol, self.run.ask):
            return True
        return epochs >= max(self.run.next_certificate, EPOCHS_BEFORE_FIRST if self.has_estimate else 0.0)

    def plan_next(self, epochs: float) -> bool:
        """Plan the next certificate. Return whether the one due now is due because of the epochs."""
        run = self.run
        regular = epochs >= run.next_certificate
        if regular:
            spacing = SPACING_WITH_ESTIMATE if self.has_estimate else SPACING
            run.next_certificate = epochs + max(1.0, epochs * (spacing - 1.0))
        if self.estimate <= self.tol:  # if the goal is missed, ask again at half of this estimate
            run.ask = 0.5 * min(self.estimate, run.ask)
        return regular
