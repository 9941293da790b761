"""What can be proved of the two classes where C is infinite, and ends a run that would have no end.

hard margin              NOT_SEPARABLE: weights λ ≥ 0, adding up to 1 in each class, under which the means of the two
                         classes coincide: Σ λ_i y_i x_i = 0. A hyperplane between them would have to pass on both
                         sides of that point. (Without a bias: weights that add up to 1, same sum.)
unregularised logistic   NO_MINIMISER: a direction along which no margin falls and some rise, so that P falls for ever.

The proofs are found by linear programming, on the examples that matter most, more of them each time. The loop asks
whenever the epochs have doubled, and an answer may take half as long as the run has taken so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.rows import Dense, matrix_of
from maxmargin.problems.certificate import Certified, with_best_bias
from maxmargin.problems.linear import Problem
from maxmargin.status import Status

COINCIDE = 1e-9  # of the spread of each feature
FAR = 30.0  # a margin that only a run to infinity reaches
RISE = 1e-6
WRITTEN_OUT = 20_000_000  # numbers: a sparse matrix with fewer is centred as a dense one
MANY = 2000  # examples whose weights are not solved for once more


def verdict(problem: Problem, found: Certified, done: bool, epochs: float, seconds: float) -> Status | None:
    """What this point shows about the classes, if that ends the run; `found.alpha` then holds the proof."""
    if problem.bounded:
        return None
    seconds = max(0.5 * seconds, 1.0)
    return unsupported(problem, found, done, seconds) if not problem.ridge else overlap(problem, found, epochs, seconds)


def overlap(problem: Problem, found: Certified, epochs: float, seconds: float) -> Status | None:
    """Whether the classes overlap: asked only while none of the points found separates them."""
    if np.isfinite(found.certificate.primal):
        return None
    weights = coincidence(problem, found.alpha, int((problem.d + 2) * (1.0 + epochs)), seconds)
    if weights is None:
        return None
    found.alpha[:] = weights
    return Status.NOT_SEPARABLE


def unsupported(problem: Problem, found: Certified, done: bool, seconds: float) -> Status | None:
    """Whether the losses can fall for ever: at a point that separates, or where one is far out or all seems done."""
    _, b, f = with_best_bias(problem, found.w, found.b)
    margins = (problem.y * (f + b))[problem.counted]
    suspicious = done or np.max(margins) > FAR
    if np.min(margins) > 0.0 or (suspicious and can_rise(problem, seconds)):
        return Status.NO_MINIMISER
    return None


def coincidence(problem: Problem, alpha: np.ndarray, most: int, seconds: float) -> np.ndarray | None:
    """Weights under which the means of both classes coincide, or None; among the `most` examples of largest alpha."""
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
    if np.max(np.abs(Z @ weights), initial=0.0) > COINCIDE:
        return None
    proof = np.zeros(problem.n)
    proof[chosen] = weights
    return proof


def can_rise(problem: Problem, seconds: float) -> bool:
    """Whether some direction lets margins rise and none fall."""
    Z = signed_features(problem, problem.counted, centred=False)
    if problem.bias != "none":
        Z = stacked(Z, problem.y[problem.counted][None, :])
    nothing = np.zeros(len(problem.counted))
    found = linear_program(-Z.sum(axis=1), A_ub=-Z.T, b_ub=nothing, bounds=(-1.0, 1.0), seconds=seconds)
    return found is not None and -found.fun > RISE


def signed_features(problem: Problem, chosen: np.ndarray, centred: bool) -> Any:
    """One row for each feature that varies, times y, with a spread of 1; around 0 if asked for."""
    rows, y = problem.rows, problem.y[chosen]
    if isinstance(rows, Dense):
        return signed_dense(np.asarray(rows.values[chosen], dtype=np.float64).T, y, centred)
    from scipy.sparse import diags_array

    X = matrix_of(rows)[chosen].T.tocsr()
    X = X[np.diff(X.indptr) > 0].astype(np.float64)
    if X.shape[0] * X.shape[1] <= WRITTEN_OUT:
        return signed_dense(X.toarray(), y, centred)
    least, most = X.min(axis=1).toarray().ravel(), X.max(axis=1).toarray().ravel()
    spread = most - least if centred else np.maximum(most, -least)
    return diags_array(1.0 / spread[spread > 0.0]) @ X[spread > 0.0] @ diags_array(y)


def signed_dense(X: np.ndarray, y: np.ndarray, centred: bool) -> np.ndarray:
    """The same of an array."""
    X = X - X.mean(axis=1, keepdims=True) if centred else X
    spread = np.max(np.abs(X), axis=1, initial=0.0)
    return np.asarray(X[spread > 0.0] / spread[spread > 0.0, None] * y)


def stacked(Z: Any, more: np.ndarray) -> Any:
    """Z with more rows below."""
    if isinstance(Z, np.ndarray):
        return np.vstack([Z, more])
    from scipy.sparse import csr_array, vstack

    return vstack([Z, csr_array(more)], format="csc")


def refined(A: Any, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weights of the same examples, solved for once more; as they were if that makes one negative."""
    held = np.flatnonzero(weights > 0.0)
    if len(held) > MANY:
        return weights
    part = A[:, held]
    exact = np.linalg.lstsq(part if isinstance(part, np.ndarray) else part.toarray(), b, rcond=None)[0]
    if np.all(exact >= 0.0):
        weights[held] = exact
    return weights


def linear_program(costs: np.ndarray, *, seconds: float, **constraints: Any) -> Any:
    """The solution, or None if there is none or time ran out."""
    from scipy.optimize import linprog

    if not len(costs):
        return None
    options = {"time_limit": seconds, "primal_feasibility_tolerance": 1e-10}
    found = linprog(costs, method="highs", options=options, **constraints)
    return found if found.status == 0 else None
