"""The dual point of an unregularised problem, where α must satisfy Σ α_i y_i z_i = 0, z_i = (x_i, 1).

For the α of a primal point, −C_i ℓ′(m_i), this sum is the gradient, which is 0 only at the optimum. A Newton step of
the primal, expressed in the dual, removes it:

    α_i ← α_i − h_i y_i ⟨z_i, s⟩,   s minimises Σ (√h_i ⟨z_i, s⟩ − α_i y_i / √h_i)²,   h_i = C_i ℓ″(m_i)

Near the optimum, α stays inside its box. Further away it may leave it, and then there is no bound yet. The same s is
the Newton step itself.

The least-squares problem is solved by an orthogonal factorisation, one block of rows at a time, not by the normal
equations, which would lose features that are nearly copies of each other. Rounding leaves a residual e of the sum. Its
effect, and that of the rounding error of e itself, is subtracted from the bound: an α with the sum exactly 0 is at
distance ρ = ‖R⁻ᵀe‖, and D changes on the way by at most ρ ‖√h m‖ + 2ρ², with √h m = R v at the margins of
v = (w, b) + s. Features that are linearly dependent up to rounding are treated as dependent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.passes import accurate_combination, additions, combination_with_bias, scores_with_bias
from maxmargin.data.rows import Dense, matrix_of, part_of_rows
from maxmargin.problems.linear import Problem
from maxmargin.system.rounding import PAIRWISE, SMALLEST, gamma

FEW = 4000  # Most features for the factorisation, whose memory grows with their square; with more there is no bound.
BLOCK = 1 << 22  # Numbers of dense rows in memory at once: 32 MB.
RANK_TOLERANCE = 1e-14  # Relative to the largest: smaller singular values are rounding errors.


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """The step s, and the factor R of √h Z = Q R as U diag(σ) Vᵀ of numerical rank, columns divided by `scale`."""

    s: np.ndarray
    scale: np.ndarray
    sigma: np.ndarray
    V: np.ndarray

    def length(self, e: np.ndarray) -> float:
        """Return ‖R⁻ᵀ e‖."""
        return float(np.linalg.norm((self.V.T @ (e / self.scale)) / self.sigma))

    def longest(self, e: np.ndarray) -> float:
        """Return a bound on ‖R⁻ᵀ e′‖ over all e′ with |e′| ≤ e."""
        return float(np.linalg.norm((np.abs(self.V.T) @ (e / self.scale)) / self.sigma))

    def reach(self, v: np.ndarray) -> float:
        """Return ‖R v‖."""
        return float(np.linalg.norm(self.sigma * (self.V.T @ (v * self.scale))))


def newton_step(problem: Problem, alpha: np.ndarray, margins: np.ndarray) -> NewtonStep:
    """Return the solution s of the least-squares problem above."""
    h = problem.C * problem.loss.curvature(margins)
    root = np.sqrt(h)
    target = np.divide(alpha * problem.y, root, out=np.zeros_like(root), where=root > 0.0)
    size = problem.d + (problem.bias != "none")
    R = np.zeros((0, size + 1))
    step = max(1, BLOCK // max(size, 1))
    for start in range(0, problem.n, step):
        block = np.column_stack([written_out(problem, start, start + step), target[start : start + step]])
        block[:, :size] *= root[start : start + step, None]
        R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"))
    scale = np.linalg.norm(R[:, :size], axis=0)
    scale[scale == 0.0] = 1.0
    U, sigma, Vt = np.linalg.svd(R[:, :size] / scale, full_matrices=False)
    true = sigma > RANK_TOLERANCE * np.max(sigma, initial=1e-300)
    V, sigma = Vt[true].T, sigma[true]
    s = V @ ((U[:, true].T @ R[:, size]) / sigma) / scale
    return NewtonStep(s, scale, sigma, V)


def balanced(
    problem: Problem, alpha: np.ndarray, margins: np.ndarray, w: np.ndarray, b: float
) -> tuple[np.ndarray, tuple[float, float]]:
    """Return an α with Σ α_i y_i z_i = 0, its dual bound and the rounding in it; −∞ if α would leave its box."""
    if problem.d > FEW:
        return alpha, (-np.inf, 0.0)
    h = problem.C * problem.loss.curvature(margins)
    newton = newton_step(problem, alpha, margins)
    moved = alpha - problem.y * h * scores_with_bias(problem.rows, problem.d, newton.s, problem.threads)
    if not np.all((moved >= 0.0) & (moved <= problem.C)):
        return alpha, (-np.inf, 0.0)
    e = combination_with_bias(problem.rows, problem.d, moved * problem.y, len(newton.s), problem.threads)
    v = w if problem.bias == "none" else np.append(w, b)
    columns = accurate_combination(problem.rows, problem.d, moved, problem.threads)[1]
    columns = columns if problem.bias == "none" else np.append(columns, np.sum(moved))
    off = newton.length(e) + gamma(additions(problem.rows, problem.d) + 8) * newton.longest(columns)
    plain = float(np.sum(problem.loss.dual(moved, problem.C)))
    charge = 2.0 * off * (newton.reach(v) + newton.reach(newton.s) + off)
    charge += gamma(2 * PAIRWISE) * (2.0 * float(np.sum(moved)) + abs(plain)) + SMALLEST
    return moved, (plain - charge, charge)


def written_out(problem: Problem, start: int, stop: int) -> np.ndarray:
    """Return z_i of some rows as a dense array."""
    rows, stop = problem.rows, min(stop, problem.n)
    X = matrix_of(part_of_rows(rows, start, stop))
    X = np.asarray(X if isinstance(rows, Dense) else X.toarray(), dtype=np.float64)
    return np.column_stack([X, np.ones(stop - start)]) if problem.bias != "none" else np.array(X, dtype=np.float64)
