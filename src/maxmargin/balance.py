"""The dual point of a problem without a norm, where α must satisfy Σ α_i y_i (x_i, 1) = 0.

The α of a primal point, −C_i ℓ′(m_i), makes that sum the gradient, which is 0 only at the optimum. A Newton step of
the primal, seen from the dual, takes it away:

    α_i ← α_i − h_i y_i ⟨(x_i, 1), s⟩,   (Σ h_i z_i z_iᵀ) s = Σ α_i y_i z_i,   z_i = (x_i, 1),  h_i = C_i ℓ″(m_i)

Near the optimum that leaves α inside its box; further away it may not, and then there is no bound yet.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.gram import weighted_gram
from maxmargin.passes import combination, scores
from maxmargin.problem import Problem

ROUNDS = 4  # each takes the rounding of the last away
FEW = 2000  # features: below, the matrix is written out


def balanced(problem: Problem, alpha: np.ndarray, margins: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Alpha with Σ α_i y_i (x_i, 1) = 0 and the bound it proves; −∞ if it cannot be had near this point.

    What rounding leaves of the sum is charged to the bound, at the length of w.
    """
    h = problem.C * problem.loss.curvature(margins)
    solve = system(problem, h)
    moved = alpha
    for _ in range(ROUNDS):
        moved = moved - problem.y * h * spread(problem, solve(gathered(problem, moved * problem.y)))
    if not np.all((moved >= 0.0) & (moved <= problem.C)):
        return alpha, -np.inf
    left = float(np.linalg.norm(gathered(problem, moved * problem.y)))
    reach = 2.0 * (1.0 + float(np.linalg.norm(w)))
    return moved, float(np.sum(problem.loss.dual(moved, problem.C))) - left * reach


def gathered(problem: Problem, coefficients: np.ndarray) -> np.ndarray:
    """Σ coefficient_i (x_i, 1); without the 1 where there is no bias."""
    total = combination(problem.rows, problem.d, coefficients)
    return total if problem.bias == "none" else np.append(total, np.sum(coefficients))


def spread(problem: Problem, s: np.ndarray) -> np.ndarray:
    """⟨(x_i, 1), s⟩ for every row."""
    f = scores(problem.rows, s[: problem.d], problem.threads)
    return f if problem.bias == "none" else f + s[-1]


def system(problem: Problem, h: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse of Σ h_i z_i z_iᵀ."""
    return by_factors(problem, h) if problem.d <= FEW else by_iteration(problem, h)


def by_factors(problem: Problem, h: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Cholesky factors of the matrix, its diagonal scaled to 1."""
    from scipy.linalg import cho_factor, cho_solve

    size = problem.d + (problem.bias != "none")
    H = np.zeros((size, size))
    weighted_gram(problem.rows, problem.d, h, H)
    if problem.bias != "none":
        H[-1, :] = H[:, -1] = gathered(problem, h)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    H *= scale[:, None] * scale
    H[np.diag_indices_from(H)] = 1.0 + 1e-13 * size
    factors = cho_factor(H, lower=True, overwrite_a=True)
    return lambda g: np.asarray(scale * cho_solve(factors, scale * g))


def by_iteration(problem: Problem, h: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Conjugate gradients, by products with the matrix alone."""
    from scipy.sparse.linalg import LinearOperator, cg

    size = problem.d + (problem.bias != "none")
    product = LinearOperator((size, size), matvec=lambda s: gathered(problem, h * spread(problem, s)))
    return lambda g: np.asarray(cg(product, g, rtol=1e-10, maxiter=500)[0])
