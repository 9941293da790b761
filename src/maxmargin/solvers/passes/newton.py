"""Newton's method for rows on disk or on a cluster.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic;  v = (w, b)
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇P,  h_i = C_i ℓ″(m_i), z_i = (x_i, 1);  v ← v + t Δ
Start    the optimum of a sample of the rows, found in memory
Pass     one pass at v gives P, ∇P, the matrix and the certificate, and P along the last step: where the whole step does
         not lower P, the best shorter length is known, and one more pass is made there
System   Cholesky factors of the matrix; with many features conjugate gradients, one pass for each product
Costs    an iteration: one pass, O(nnz d + d³); memory O(d²). 5 to 15 passes in all on most data
After    Keerthi, DeCoste, JMLR 2005; Lin, Weng, Keerthi, JMLR 2008 (conjugate gradients)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import Evaluated
from maxmargin.solvers.parts.newton_system import by_cholesky
from maxmargin.solvers.passes.base import PassSolver, PassState
from maxmargin.solvers.passes.products import newton_step_by_products
from maxmargin.solvers.takes import SMOOTH_LOSSES, Takes
from maxmargin.status import Status

LARGEST_MATRIX = 4000  # most features for which the matrix is built: 128 MB of float64
# Decrease of P, as a part of what its slope promises, for a whole step: passes on mnist 62 -> 46, kddcup99 18 -> 15.
ENOUGH = 0.1
FREE_RIDGE = 1e-12  # ridge of a free bias relative to its curvature, so that the matrix is positive definite


@dataclass(frozen=True)
class PassNewton(PassSolver):
    """Newton's method, one pass for each step."""

    name = "newton"
    takes = Takes(SMOOTH_LOSSES)

    def evaluated(self, problem: PassProblem) -> dict[str, Any]:
        """Return what a pass computes besides the gradient: the matrix, or with many features the curvatures."""
        return {"matrix": True} if problem.d <= LARGEST_MATRIX else {"curvatures": curvatures_of(problem)}

    def advance(self, problem: PassProblem, state: PassState, rng: np.random.Generator) -> Status | None:
        """Take one Newton step; the first call evaluates the start."""
        if state.at is None:
            self.arrive(problem, state, rng)
            return None
        if state.at.matrix.size:
            return self.move(problem, state, newton_step(problem, state.at), ENOUGH)
        step, products = newton_step_by_products(problem, state.at, curvatures_of(problem))
        state.visited += products * problem.n
        return self.move(problem, state, step, ENOUGH)


def curvatures_of(problem: PassProblem) -> str:
    """Return the name of the vector of the curvatures of this problem."""
    return f"curvatures {problem.slot}"


def newton_step(problem: PassProblem, at: Evaluated) -> np.ndarray:
    """Return the Newton step at a point, from the matrix of its pass."""
    some, r = problem.regulariser.free, problem.regulariser.r
    H, g = at.matrix[some, some].copy(), problem.gradient(at)
    ridge = np.where(r > 0.0, r, FREE_RIDGE * at.matrix[-1, -1] + 1e-300)[some]
    H[np.diag_indices_from(H)] += ridge
    step = np.zeros_like(at.v)
    step[some] = by_cholesky(H)(-g[some])
    return step
