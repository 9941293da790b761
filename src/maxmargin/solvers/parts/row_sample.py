"""A sample of the rows, on which the first Newton steps only have to find the neighbourhood of the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.data.pick import pick
from maxmargin.problems.linear import Problem

LARGEST_SHARE = 0.25  # of the rows: steps on a larger sample cost about as much as steps on all rows


def worth_sampling(problem: Problem, size: int) -> bool:
    """Whether a sample of that size is much smaller than the whole."""
    return size <= LARGEST_SHARE * problem.n


def draw_rows(problem: Problem, size: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn without replacement, in their order."""
    return np.sort(rng.choice(problem.n, size, replace=False))


def restricted(problem: Problem, chosen: np.ndarray, C: np.ndarray) -> Problem:
    """The problem of these rows; C should be as much larger as there are fewer of them."""
    return replace(problem, rows=pick(problem.rows, chosen, problem.threads), y=problem.y[chosen], C=C)
