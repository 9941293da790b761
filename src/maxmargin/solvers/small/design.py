"""Small linear problems as arrays: rows with a constant feature for the bias, and the weights of the squared norm.

    P(v) = ½ Σ r_j v_j² + Σ C_i ℓ(y_i ⟨a_i, v⟩),     a_i = (x_i, B),  v = (w, b/B)

A free bias has B = 1 and r = 0; a regularised one B = bias_scale and r = 1; without a bias there is no constant. The
a_i are the columns of an array, because loops over all examples are vectorised and those over few features are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem

MOST_ROWS = 2000  # rows of a problem that is solved in one compiled call
MOST_VALUES = 1 << 20  # values of its rows as a dense array: 8 MB
MOST_COLUMNS = 200  # features of a problem whose Newton steps are solved without LAPACK


class Design(NamedTuple):
    """The a_i as columns, and the r_j."""

    A: np.ndarray
    r: np.ndarray


def design_of(problem: Problem) -> Design:
    """Return the arrays of a problem; they are made once for all labels of the same rows."""
    size = {"none": 0.0, "free": 1.0, "regularised": problem.bias_scale}[problem.bias]
    A = problem.of_rows("design", lambda _: with_constant(problem.dense, size))
    r = np.ones(len(A))
    if problem.bias == "free":
        r[-1] = 0.0
    return Design(A, r)


def with_constant(X: np.ndarray, size: float) -> np.ndarray:
    """Return the rows of X as columns, with a constant feature of that size; without one for 0."""
    n, d = X.shape
    A = np.empty((d + (size > 0.0), n))
    A[:d], A[d:] = X.T, size
    return A


def split(problem: Problem, v: np.ndarray) -> tuple[np.ndarray, float]:
    """Return w and b of v."""
    if problem.bias == "none":
        return v, 0.0
    return v[:-1], float(v[-1]) * (problem.bias_scale if problem.bias == "regularised" else 1.0)


def is_small(problem: Problem) -> bool:
    """Whether the rows are few and fit into a small dense array."""
    return problem.n <= MOST_ROWS and problem.n * problem.d <= MOST_VALUES


def has_few_columns(problem: Problem | KernelProblem) -> bool:
    """Whether Newton steps are cheap."""
    return problem.d + 1 <= MOST_COLUMNS
