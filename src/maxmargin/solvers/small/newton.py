"""Newton's method for small problems, all steps in one compiled call.

Solves   min_v P(v)  for the squared hinge and the logistic loss;  v = (w, b)
Step     (diag(r) + Σ C_i ℓ″(m_i) a_i a_iᵀ) Δ = −∇P,  a_i = (x_i, 1);  v ← v + t Δ, t from a line search
Ends     at the minimum up to rounding: the last steps converge quadratically, and with the squared hinge the last one
         is exact. So weights and repeated examples give the same model
Costs    a step: O(n d² + d³) time, O(n d) memory, without Python between the steps
After    Keerthi, DeCoste, JMLR 2005
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.errors import RefusedError
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.small.design import MOST_COLUMNS, MOST_ROWS, design_of, is_small, split
from maxmargin.solvers.small.newton_steps import LOGISTIC, SQUARED_HINGE, minimise
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status

CODES = {"squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
MOST_STEPS = 100  # Newton steps in one call; ten are usual.


@dataclass
class Minimum:
    """The state: v and the margins of the examples."""

    v: np.ndarray
    margins: np.ndarray
    visited: int = 0


@dataclass(frozen=True)
class SmallNewton:
    """Newton's method for small problems: all steps in one compiled call."""

    name = "small_newton"
    deterministic = True
    state_type = Minimum
    takes = Takes(tuple(CODES), only_named=True)

    def start(self, problem: Problem, warm: Point | None = None) -> Minimum:
        """Start at w = 0, or at the point `warm`."""
        if not is_small(problem) or problem.d >= MOST_COLUMNS:
            raise RefusedError(
                f"small_newton is for up to {MOST_ROWS:,} rows and {MOST_COLUMNS - 1} features: use solver='newton'"
            )
        v = np.zeros(problem.d + (problem.bias != "none"))
        if warm is None or warm.w is None:
            return Minimum(v, np.zeros(problem.n))
        v[: problem.d] = warm.w
        v[problem.d :] = warm.b / (problem.bias_scale if problem.bias == "regularised" else 1.0)
        return Minimum(v, problem.y * (v @ design_of(problem).A))

    def advance(self, problem: Problem, state: Minimum, rng: np.random.Generator) -> Status | None:
        """Move to the minimum. If the point is already there, it is exact up to rounding."""
        again = state.visited > 0
        return Status.STALLED if self.steps(problem, state, MOST_STEPS) == 0 and again else None

    def advance_within(
        self, problem: Problem, state: Minimum, rng: np.random.Generator, visits: float
    ) -> Status | None:
        """Move to the minimum, or until each example has been visited as often as `visits` allows."""
        most = int(min(visits / problem.n, MOST_STEPS))
        return Status.EPOCH_LIMIT if self.steps(problem, state, most) < 0 else None

    def steps(self, problem: Problem, state: Minimum, most: int) -> int:
        """Take at most so many steps. Return how many were needed; −1 if there were too few."""
        A, r = design_of(problem)
        p, n = A.shape
        room = np.empty((4, p)), np.empty((4, n)), np.empty((p, n)), np.empty((p, p)), np.empty(n, np.intp)
        taken = minimise(A, problem.y, problem.C, r, CODES[problem.loss.name], most, state.v, state.margins, *room)
        state.visited += (most if taken < 0 else max(taken, 1)) * problem.n
        return int(taken)

    def point(self, problem: Problem, state: Minimum) -> Point:
        """Return (w, b) and α = −C ℓ′(m)."""
        w, b = split(problem, state.v)
        return Point(w, b, -problem.C * problem.loss.slope(state.margins), best_b=True)
