"""The dual point that a Newton step predicts, for strictly convex losses such as logistic.

A whole step Δ from margins m solves  (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇P.  This is equivalent to  w(α) = the new w  for

    α_i = −C_i ℓ′(m_i) − h_i y_i ⟨z_i, Δ⟩

except for the residual of the system, and for clipping where α_i leaves its box. The gap is the sum of the
Fenchel-Young gaps of the examples, which decreases with the square of the step. So this α often reaches the tolerance
one step earlier than −C ℓ′ at the new margins. For squared hinge it is no better, as too many rows leave the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.passes import sum_of_chunks
from maxmargin.data.rows import axpy
from maxmargin.problems.dual_terms import best_response, fenchel_young_gap
from maxmargin.solvers.parts.primal_objective import EVALUATION_CHUNK, Primal, gap_of_gradient
from maxmargin.system.compiled import compiled


@dataclass(frozen=True, eq=False)
class BeforeStep:
    """Scores, curvatures and P before a step, copied because a step overwrites them."""

    f: np.ndarray
    curvatures: np.ndarray
    value: float

    def predicted_dual(self, primal: Primal, f: np.ndarray, residual: np.ndarray | float) -> tuple[np.ndarray, float]:
        """Return the α predicted by a whole step to the scores `f`, and its gap; `residual` is that of the system."""
        problem, alpha = primal.problem, np.empty_like(f)

        def add(start: int, stop: int, total: np.ndarray) -> None:
            term, h = problem.dual_term, self.curvatures
            predict(problem.rows, problem.y, term, self.f, h, f, start, stop, alpha, total)

        total = sum_of_chunks(problem.rows, problem.d + 2, problem.threads, add, EVALUATION_CHUNK)
        return alpha, float(total[-1]) + gap_of_gradient(primal.ridge, residual + total[: len(primal.ridge)])


@compiled
def predict(rows, y, term, before, h, f, start, stop, alpha, total):
    """Compute α_i; add the changes by clipping, times y (x, 1), to `total`, and the gaps to its last entry."""
    gaps, cuts = 0.0, 0.0
    for i in range(start, stop):
        wanted = best_response(term, i, y[i] * before[i]) - h[i] * y[i] * (f[i] - before[i])
        alpha[i] = min(max(wanted, 0.0), term.U[i])
        if term.U[i] > 0.0:
            gaps += fenchel_young_gap(term, i, alpha[i], y[i] * f[i])
        cut = (alpha[i] - wanted) * y[i]
        if cut != 0.0:
            cuts += cut
            axpy(rows, i, cut, total)
    total[-2], total[-1] = cuts, gaps
