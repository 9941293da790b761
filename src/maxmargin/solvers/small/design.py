"""Small linear problems as arrays: rows with a constant feature for the bias, and the weights of the squared norm.

    P(v) = ½ Σ r_j v_j² + Σ C_i ℓ(y_i ⟨a_i, v⟩),     a_i = (x_i, B),  v = (w, b/B)

A free bias has B = 1 and r = 0; a regularised one B = bias_scale and r = 1; without a bias there is no constant.
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
    """The rows a_i, and the r_j."""

    A: np.ndarray
    r: np.ndarray


def design_of(problem: Problem) -> Design:
    """Return the arrays of a problem; they are made once for all labels of the same rows."""
    X, d = problem.dense, problem.d
    if problem.bias == "none":
        return Design(np.ascontiguousarray(X), np.ones(d))
    size = problem.bias_scale if problem.bias == "regularised" else 1.0
    A = problem.of_rows("design", lambda _: np.column_stack([X, np.full(len(X), size)]))
    r = np.ones(d + 1)
    r[d] = problem.bias_square > 0.0
    return Design(A, r)


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
