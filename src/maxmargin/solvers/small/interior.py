"""The interior-point method of `small_smo`, for the hinge loss with few features, and the exact solution behind it.

An interior point has every α strictly between 0 and C. From it the examples with α = 0, with α = C and on the margin
are told apart; the α of those on the margin then follow from linear equations: their margins are 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import dense_of
from maxmargin.kernels.functions import Linear
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.small.design import design_of, has_few_columns, with_constant
from maxmargin.solvers.small.interior_steps import MOST_STEPS, minimise_hinge
from maxmargin.status import Status

GAP = 1e-10  # Relative gap to reach: the last steps converge quickly, and tell the examples apart.
AT_BOUND = 1e-6  # Of C: an α this close to a bound is moved to it, if its margin says so.


class SignedRows(NamedTuple):
    """The rows a_i with a constant for the bias, as columns; the r_j of the norm, the labels, and the C_i."""

    A: np.ndarray
    r: np.ndarray
    y: np.ndarray
    C: np.ndarray


def rows_of(problem: Any) -> SignedRows | None:
    """Return the rows of a problem with the hinge loss and few features; None for other problems."""
    if not has_few_columns(problem) or problem.d >= problem.n:
        return None
    if not isinstance(problem, KernelProblem):
        return SignedRows(*design_of(problem), problem.y, problem.C)
    if not isinstance(problem.kernel, Linear) or problem.kind != "C-SVC":
        return None
    formulation, free = problem.formulation, problem.bias == "free"
    A = with_constant(dense_of(problem.rows), float(free))
    r = np.ones(len(A))
    r[problem.d :] = 0.0
    return SignedRows(A, r, formulation.labels, formulation.width)


def interior(problem: Any, state: Any, rows: SignedRows) -> Status | None:
    """Solve the problem by an interior-point method, and make the solution exact."""
    A, r, y, C = rows
    some = np.flatnonzero(C > 0.0)
    if len(some) < len(C):
        A, y, C = np.ascontiguousarray(A[:, some]), y[some], C[some]
    v, alpha = np.zeros(len(A)), np.empty(len(C))
    largest = float(np.max(np.einsum("ij,ij->j", A, A)))
    taken = minimise_hinge(A, y, C, r, 1.0 / max(largest, 1e-300), GAP, v, alpha)
    state.visited += max(taken, 1) * len(C)
    if not (np.all(np.isfinite(v)) and np.all(np.isfinite(alpha))):
        return None
    v, alpha = exact(A, r, y, C, v, np.clip(alpha, 0.0, C))
    state.v, state.beta = v, np.zeros(len(state.beta))
    state.beta[some] = alpha * y
    state.estimate = GAP if taken < MOST_STEPS else np.inf
    return None


def exact(
    A: np.ndarray, r: np.ndarray, y: np.ndarray, C: np.ndarray, v: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for the α of the examples on the margin; return the old point if the new α leave their boxes."""
    margins = y * (v @ A)
    low = (alpha < AT_BOUND * C) & (margins > 1.0)
    high = (alpha > (1.0 - AT_BOUND) * C) & (margins < 1.0)
    alpha = np.where(low, 0.0, np.where(high, C, alpha))
    free = np.flatnonzero(~(low | high))
    if len(free) > len(v):
        return v, alpha
    Z, ridge = (A[:, free] * y[free]).T, r > 0.0
    pull = A @ (C * high * y)
    size, flat = len(free), np.flatnonzero(~ridge)
    M = np.zeros((size + len(flat), size + len(flat)))
    M[:size, :size] = Z[:, ridge] @ Z[:, ridge].T
    M[:size, size:] = Z[:, flat]
    M[size:, :size] = Z[:, flat].T
    found, *_ = np.linalg.lstsq(M, np.append(1.0 - Z[:, ridge] @ pull[ridge], -pull[flat]), rcond=None)
    own = found[:size]
    if not np.all((own >= 0.0) & (own <= C[free])):
        return v, alpha
    alpha[free] = own
    there = np.empty_like(v)
    there[ridge], there[flat] = (pull + own @ Z)[ridge], found[size:]
    return there, alpha
