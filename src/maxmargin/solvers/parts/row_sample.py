"""A sample of the rows, on which the first Newton steps only have to find the neighbourhood of the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.data.pick import pick
from maxmargin.problems.linear import Problem

LARGEST_SHARE = 0.25  # largest fraction of the rows: on a larger sample a step costs about as much as on all rows


def worth_sampling(problem: Problem, size: int) -> bool:
    """Return whether a sample of that size is much smaller than all rows."""
    return size <= LARGEST_SHARE * problem.n


def draw_rows(problem: Problem, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw row numbers without replacement, in increasing order."""
    return np.sort(rng.choice(problem.n, size, replace=False))


def restricted(problem: Problem, chosen: np.ndarray, C: np.ndarray) -> Problem:
    """Return the problem on the rows `chosen`; C should be scaled up by n / len(chosen)."""
    return replace(problem, rows=pick(problem.rows, chosen, problem.threads), y=problem.y[chosen], C=C)
