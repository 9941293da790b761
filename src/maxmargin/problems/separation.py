"""Proofs that a problem with infinite C has no solution. They end a run that would never converge.

hard margin              NOT_SEPARABLE: weights λ ≥ 0 that sum to 1 in each class and give both classes the same mean,
                         Σ λ_i y_i x_i = 0. The convex hulls share this point, so no hyperplane separates them.
                         (Without a bias the weights sum to 1 over both classes.)
unregularised logistic   NO_MINIMISER: a direction in which no margin falls and some rise, so P falls without end.

Linear programming finds the proofs, on the examples with the largest α, more of them each time. The loop tries it
whenever the epochs have doubled. A try may take half of the time of the run so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.rows import Dense, matrix_of
from maxmargin.problems.certificate import Certified, with_best_bias
from maxmargin.problems.linear import Problem
from maxmargin.status import Status

MEAN_TOLERANCE = 1e-9  # Relative to the spread of each feature: the two means may differ by this much.
DIVERGING_MARGIN = 30.0  # The logistic loss of a larger margin is below 1e-13: w probably grows without end.
LEAST_RISE = 1e-6  # Of all margins together along a direction; less may be an error of the linear program.
MOST_DENSE = 20_000_000  # Numbers: a sparse matrix with no more is centred as a dense one (160 MB).
MOST_REFINED = 2000  # Weights that are refined by least squares, whose time grows with their cube.


def verdict(problem: Problem, found: Certified, done: bool, epochs: float, seconds: float) -> Status | None:
    """Return the status if this point proves that there is no solution; `found.alpha` then holds the proof."""
    if problem.bounded:
        return None
    seconds = max(0.5 * seconds, 1.0)
    return unsupported(problem, found, done, seconds) if not problem.ridge else overlap(problem, found, epochs, seconds)


def overlap(problem: Problem, found: Certified, epochs: float, seconds: float) -> Status | None:
    """Test whether the classes overlap, unless the current point separates them."""
    if np.isfinite(found.certificate.primal):
        return None
    weights = coincidence(problem, found.alpha, int((problem.d + 2) * (1.0 + epochs)), seconds)
    if weights is None:
        return None
    found.alpha[:] = weights
    return Status.NOT_SEPARABLE


def unsupported(problem: Problem, found: Certified, done: bool, seconds: float) -> Status | None:
    """Test whether the losses can fall without end, if the point separates, has a huge margin, or seems converged."""
    _, b, f = with_best_bias(problem, found.w, found.b)
    margins = (problem.y * (f + b))[problem.counted]
    suspicious = done or np.max(margins) > DIVERGING_MARGIN
    if np.min(margins) > 0.0 or (suspicious and can_rise(problem, seconds)):
        return Status.NO_MINIMISER
    return None


def coincidence(problem: Problem, alpha: np.ndarray, most: int, seconds: float) -> np.ndarray | None:
    """Return weights that give both classes the same mean, or None. Uses the `most` examples with the largest α."""
    chosen = problem.counted[np.argsort(-alpha[problem.counted], kind="stable")[:most]]
    y = problem.y[chosen]
    sums = np.ones((1, len(y))) if problem.bias == "none" else np.stack([y > 0, y < 0]).astype(float)
    if not np.all(sums.any(axis=1)):
        return None
    Z = signed_features(problem, chosen, centred=problem.bias != "none")
    A, ones = stacked(Z, sums), np.append(np.zeros(Z.shape[0]), np.ones(len(sums)))
    found = linear_program(np.zeros(len(y)), A_eq=A, b_eq=ones, seconds=seconds)
    if found is None:
        return None
    weights = refined(A, ones, np.maximum(found.x, 0.0))
    if np.max(np.abs(Z @ weights), initial=0.0) > MEAN_TOLERANCE:
        return None
    proof = np.zeros(problem.n)
    proof[chosen] = weights
    return proof


def can_rise(problem: Problem, seconds: float) -> bool:
    """Whether a direction exists in which some margins rise and none fall."""
    Z = signed_features(problem, problem.counted, centred=False)
    if problem.bias != "none":
        Z = stacked(Z, problem.y[problem.counted][None, :])
    nothing = np.zeros(len(problem.counted))
    found = linear_program(-Z.sum(axis=1), A_ub=-Z.T, b_ub=nothing, bounds=(-1.0, 1.0), seconds=seconds)
    return found is not None and -found.fun > LEAST_RISE


def signed_features(problem: Problem, chosen: np.ndarray, centred: bool) -> Any:
    """Return one row for each feature that is not constant, times y, scaled to spread 1; centred on request."""
    rows, y = problem.rows, problem.y[chosen]
    if isinstance(rows, Dense):
        return signed_dense(np.asarray(rows.values[chosen], dtype=np.float64).T, y, centred)
    from scipy.sparse import diags_array

    X = matrix_of(rows)[chosen].T.tocsr()
    X = X[np.diff(X.indptr) > 0].astype(np.float64)
    if X.shape[0] * X.shape[1] <= MOST_DENSE:
        return signed_dense(X.toarray(), y, centred)
    least, most = X.min(axis=1).toarray().ravel(), X.max(axis=1).toarray().ravel()
    spread = most - least if centred else np.maximum(most, -least)
    return diags_array(1.0 / spread[spread > 0.0]) @ X[spread > 0.0] @ diags_array(y)


def signed_dense(X: np.ndarray, y: np.ndarray, centred: bool) -> np.ndarray:
    """Like `signed_features`, for a dense array."""
    X = X - X.mean(axis=1, keepdims=True) if centred else X
    spread = np.max(np.abs(X), axis=1, initial=0.0)
    return np.asarray(X[spread > 0.0] / spread[spread > 0.0, None] * y)


def stacked(Z: Any, more: np.ndarray) -> Any:
    """Return Z with further rows appended."""
    if isinstance(Z, np.ndarray):
        return np.vstack([Z, more])
    from scipy.sparse import csr_array, vstack

    return vstack([Z, csr_array(more)], format="csc")


def refined(A: Any, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Refine the positive weights by least squares; keep the old ones if one would become negative."""
    held = np.flatnonzero(weights > 0.0)
    if len(held) > MOST_REFINED:
        return weights
    part = A[:, held]
    exact = np.linalg.lstsq(part if isinstance(part, np.ndarray) else part.toarray(), b, rcond=None)[0]
    if np.all(exact >= 0.0):
        weights[held] = exact
    return weights


def linear_program(costs: np.ndarray, *, seconds: float, **constraints: Any) -> Any:
    """Solve a linear program; None if it is infeasible or takes too long."""
    from scipy.optimize import linprog

    if not len(costs):
        return None
    options = {"time_limit": seconds, "primal_feasibility_tolerance": 1e-10}
    found = linprog(costs, method="highs", options=options, **constraints)
    return found if found.status == 0 else None
