"""solver="auto": which solver for which problem, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.passes import combination
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import HARD_MARGIN, Logistic
from maxmargin.solvers.parts.newton_direction import small_enough
from maxmargin.solvers.parts.newton_system import LARGEST_MATRIX

MANY = 200  # examples for each feature
PLENTY = 100
SEVERAL = 50
SOME = 10
SMALL = 400  # features
FAR = 0.9  # ‖mean x‖² as a part of the mean ‖x‖²
LONG = 5_000_000  # values
DENSE = 0.25  # of all values are stored
GENTLE = 0.3  # C ‖x‖²: below, single dual variables are there at once;
SOME_STEEPNESS = 1.0
STEEP = 5.0
STEEP_FOR_A_BIAS = 10.0  # which dual variables are slow to find
LARGE = 50.0  # beyond this they are long on the way,
VERY_LARGE = 1e4  # beyond this, for ever;
HUGE = 1e6  # beyond this even Newton steps are, but for those of an interior point;
EXTREME = 1e10  # and beyond this the products of an interior point round off


def suits_second_order(problem: Problem) -> bool:
    """Whether there are few features, and either many more examples or a C that makes dual steps crawl."""
    size = problem.d + 1
    if problem.kind != "hinge" or size > LARGEST_MATRIX // 2 or problem.n < SOME * size:
        return False
    if problem.n >= MANY * size:
        return problem.nnz >= LONG or steepness(problem) > SOME_STEEPNESS
    if problem.bias != "none" and size <= SMALL and problem.n >= PLENTY * size:
        return steepness(problem) > STEEP_FOR_A_BIAS
    several = problem.n >= SEVERAL * size and steepness(problem) <= HUGE
    return (size <= SMALL or several) and steepness(problem) > LARGE


def suits_interior_point(problem: Problem) -> bool:
    """Whether dual steps would crawl, and there are too few examples a feature to leave most of them aside."""
    if problem.kind != "hinge" or steepness(problem) > EXTREME:
        return False
    return crawls(problem) or (problem.d <= min(LARGEST_MATRIX - 1, problem.n // SOME) and steepness(problem) > LARGE)


def steepness(problem: Problem) -> float:
    """C ‖x‖², in the mean."""
    return problem.mean_C * (problem.mean_square + (1.0 if problem.bias == "free" else problem.bias_square))


def crawls(problem: Problem) -> bool:
    """Whether dual steps would take for ever, and the matrix of a Newton step can be written out instead."""
    return problem.bounded and steepness(problem) > VERY_LARGE and min(problem.n, problem.d + 1) <= LARGEST_MATRIX


def far_from_origin(problem: Problem) -> bool:
    """Whether the examples have most of their length in common."""
    mean = combination(problem.rows, problem.d, np.full(problem.n, 1.0 / problem.n), problem.threads)
    return float(np.sum(np.square(mean))) > FAR * problem.mean_square


def suits_newton(problem: Problem) -> bool:
    """Whether the loss has second derivatives, cheap to use, and C not so small for short data that none is needed."""
    if not problem.loss.smooth or problem.d > problem.n:
        return False
    logistic = isinstance(problem.loss, Logistic)
    long = problem.n >= MANY * problem.d and (problem.nnz >= LONG or logistic)  # then it begins on a sample
    if steepness(problem) <= GENTLE and not long:
        return False
    return small_enough(problem) or problem.nnz > DENSE * problem.n * problem.d


def suits_products(problem: Problem) -> bool:
    """Whether the loss has second derivatives, too many for a matrix, and there are examples enough to overlap."""
    if not problem.loss.smooth or problem.n < 2 * problem.d:
        return False
    return steepness(problem) > (LARGE if isinstance(problem.loss, Logistic) else STEEP)


def suits_pairs(problem: Problem) -> bool:
    """Whether a free bias is more than single dual variables can follow."""
    return problem.bias == "free" and (problem.loss is HARD_MARGIN or far_from_origin(problem))


RULES: tuple[tuple[Callable[[Problem], bool], str, str], ...] = (
    (
        lambda problem: not problem.ridge,
        "newton",
        "without regularisation the dual has no box to move in, so the primal is solved",
    ),
    (
        suits_newton,
        "newton",
        "a smooth loss and few features, or dense rows: second derivatives take a handful of steps",
    ),
    (
        suits_products,
        "second_order",
        "a smooth loss, more examples than features, and a large C: Newton steps by conjugate gradients",
    ),
    (
        suits_second_order,
        "second_order",
        "many examples for each feature, or a large C: a few Newton steps on ever fewer of them",
    ),
    (
        suits_interior_point,
        "interior_point",
        "values so large for this C that dual variables would crawl: Newton steps inside their box",
    ),
    (crawls, "second_order", "values so large for this C that dual variables would crawl: Newton steps"),
    (
        suits_pairs,
        "dual_pairs",
        "only differences of examples count where the bias is free, so they move in pairs",
    ),
    (
        lambda problem: True,
        "dual_coordinate",
        "small or wide data: one dual variable at a time, each at the cost of its row",
    ),
)


def choose(problem: Problem) -> tuple[str, str]:
    """The name of the solver, and why it: of the first rule that fits."""
    return next((name, why) for fits, name, why in RULES if fits(problem))
