"""The dual point that a Newton step predicts, for strictly convex losses, as logistic.

A whole step Δ from margins m solves  (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇P.  Written out, that is  w(α) = the new w  for

    α_i = −C_i ℓ′(m_i) − h_i y_i ⟨z_i, Δ⟩

but for the residual of the system, and for what is cut off where α_i leaves its box. Its gap is the sum of the
Fenchel-Young gaps of the examples, which falls with the square of the step. So it often certifies a step earlier than
−C ℓ′ at the new margins. For squared hinge it is no better: too many rows leave the box.
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
    """Scores, curvatures and P before a step: copies, since a step writes over them."""

    f: np.ndarray
    curvatures: np.ndarray
    value: float

    def predicted_dual(self, primal: Primal, f: np.ndarray, residual: np.ndarray | float) -> tuple[np.ndarray, float]:
        """The α that a whole step to the scores `f` predicts, and its gap; `residual` is what the system left."""
        problem, alpha = primal.problem, np.empty_like(f)

        def add(start: int, stop: int, total: np.ndarray) -> None:
            term, h = problem.dual_term, self.curvatures
            predict(problem.rows, problem.y, term, self.f, h, f, start, stop, alpha, total)

        total = sum_of_chunks(problem.rows, problem.d + 2, problem.threads, add, EVALUATION_CHUNK)
        return alpha, float(total[-1]) + gap_of_gradient(primal.ridge, residual + total[: len(primal.ridge)])


@compiled
def predict(rows, y, term, before, h, f, start, stop, alpha, total):
    """α_i for every row; adds what the box cuts off, times y (x, 1), to `total`, and the gaps to its last place."""
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
