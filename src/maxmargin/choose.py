"""solver="auto": which solver for which problem, and the sentence that says why.

The thresholds were set by benchmarks/results/choices.md, which times every solver on twelve data sets, three losses and
three C, without a bias. A comment names the data sets whose rows decide a threshold, where there are such.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.passes import combination
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import HARD_MARGIN
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.parts.newton_direction import small_enough
from maxmargin.solvers.parts.newton_system import LARGEST_MATRIX

ASKED = "you asked for it"  # why, where the solver was named

# Examples for each feature.
NEWTON_ON_BANDS = 200  # second_order for a moderate C: a9a (264) is faster by it at C = 1, w8a (166) is not
NEWTON_ON_BANDS_WITH_BIAS = 100  # the same with a bias: w8a in benchmarks/results/bias.md and linear.md
NEWTON_ON_BANDS_LARGE_C = 50  # the same for a large C and any number of features: mnist (77)
OVERDETERMINED = 10  # second_order and interior_point for a large C: dense_wide (10), C = 1 and 100

# Features, stored values, and parts of a whole.
FEW_FEATURES = 400  # second_order with fewer than 50 examples a feature, or 100 with a bias: w8a (300), mnist (784)
LONG_DATA = 5_000_000  # stored values from which starting on a sample pays even for a small C: covtype, dense_long
DENSE_ROWS = 0.25  # of all values stored: newton's products then pay for any number of features: dense_wide
COMMON_LENGTH = 0.9  # ‖mean x‖² in mean ‖x‖²: beyond, dual_pairs, whose steps depend on differences only

# Steepness: C ‖x‖² in the mean. It says how far dual variables have to go, in units of their first step.
NEWTON_STEEPNESS = 0.3  # newton beyond; below, dual_coordinate is there at once: a9a, w8a, squared hinge, C = 0.01
PRODUCTS_STEEPNESS = 5.0  # second_order for squared hinge and many features beyond: text_like lies on both sides
PRODUCTS_STEEPNESS_STRICTLY_CONVEX = 50.0  # the same for logistic loss: text_like lies on both sides
BANDS_STEEPNESS = 1.0  # second_order for hinge beyond: a9a and ijcnn1 lie on both sides of it
BANDS_STEEPNESS_WITH_BIAS = 10.0  # the same with a bias and fewer examples: w8a in benchmarks/results/bias.md
SLOW_DUAL_STEEPNESS = 50.0  # beyond, dual steps for hinge need many epochs: w8a and dense_wide lie on both sides of it
ENDLESS_DUAL_STEEPNESS = 1e4  # beyond, dual steps do not arrive in time for any loss; no row decides it
BANDS_LARGEST_STEEPNESS = 1e6  # beyond, interior_point needs fewer steps than second_order: mnist lies on both sides
INTERIOR_LARGEST_STEEPNESS = 1e10  # beyond, α s and (C − α) ξ of interior_point lose their digits to rounding


def suits_second_order(problem: Problem) -> bool:
    """Whether a loss with a kink has few features, and either many more examples or a C that makes dual steps slow."""
    size = problem.d + 1
    if problem.loss.smooth or not problem.bounded or size > LARGEST_MATRIX // 2 or problem.n < OVERDETERMINED * size:
        return False
    if problem.n >= NEWTON_ON_BANDS * size:
        return problem.nnz >= LONG_DATA or steepness(problem) > BANDS_STEEPNESS
    few_features = size <= FEW_FEATURES
    if problem.bias != "none" and few_features and problem.n >= NEWTON_ON_BANDS_WITH_BIAS * size:
        return steepness(problem) > BANDS_STEEPNESS_WITH_BIAS
    several = problem.n >= NEWTON_ON_BANDS_LARGE_C * size and steepness(problem) <= BANDS_LARGEST_STEEPNESS
    return (few_features or several) and steepness(problem) > SLOW_DUAL_STEEPNESS


def suits_interior_point(problem: Problem) -> bool:
    """Whether dual steps for a loss with a kink are slow, and examples too few to leave most of them aside."""
    if problem.loss.smooth or not problem.bounded or steepness(problem) > INTERIOR_LARGEST_STEEPNESS:
        return False
    few_features = problem.d <= min(LARGEST_MATRIX - 1, problem.n // OVERDETERMINED)
    return needs_matrix(problem) or (few_features and steepness(problem) > SLOW_DUAL_STEEPNESS)


def steepness(problem: Problem) -> float:
    """C ‖x‖², in the mean; with a bias, x has one more feature."""
    return problem.mean_C * (problem.mean_square + (1.0 if problem.bias == "free" else problem.bias_square))


def needs_matrix(problem: Problem) -> bool:
    """Whether dual steps would not arrive, and the matrix of a Newton step can be written out instead."""
    few = min(problem.n, problem.d + 1) <= LARGEST_MATRIX
    return problem.bounded and steepness(problem) > ENDLESS_DUAL_STEEPNESS and few


def far_from_origin(problem: Problem) -> bool:
    """Whether the examples have most of their length in common."""
    mean = combination(problem.rows, problem.d, np.full(problem.n, 1.0 / problem.n), problem.threads)
    return float(np.sum(np.square(mean))) > COMMON_LENGTH * problem.mean_square


def suits_newton(problem: Problem) -> bool:
    """Whether the loss is smooth, its second derivatives are cheap, and dual steps would not be there at once."""
    if not problem.loss.smooth or problem.d > problem.n:
        return False
    long = problem.nnz >= LONG_DATA or problem.loss.strictly_convex  # it begins on a sample
    if steepness(problem) <= NEWTON_STEEPNESS and not (long and problem.n >= NEWTON_ON_BANDS * problem.d):
        return False
    return small_enough(problem) or problem.nnz > DENSE_ROWS * problem.n * problem.d


def suits_products(problem: Problem) -> bool:
    """Whether the loss is smooth, with too many features for a matrix, but twice as many examples and a large C."""
    if not problem.loss.smooth or problem.n < 2 * problem.d:
        return False
    strict = problem.loss.strictly_convex
    return steepness(problem) > (PRODUCTS_STEEPNESS_STRICTLY_CONVEX if strict else PRODUCTS_STEEPNESS)


def suits_pairs(problem: Problem) -> bool:
    """Whether a free bias is more than single dual variables can follow."""
    return problem.bias == "free" and (problem.loss is HARD_MARGIN or far_from_origin(problem))


RULES: tuple[tuple[Callable[[Problem], bool], str, str], ...] = (
    (
        lambda problem: not problem.ridge,
        "newton",
        "without regularisation the dual has no simple feasible set: Newton's method solves the primal",
    ),
    (
        suits_newton,
        "newton",
        "a smooth loss and few features, or dense rows: Newton's method takes a handful of steps",
    ),
    (
        suits_products,
        "second_order",
        "a smooth loss, more examples than features, and a large C: Newton steps by conjugate gradients",
    ),
    (
        suits_second_order,
        "second_order",
        "many examples for each feature, or a large C: Newton steps on a shrinking set of examples",
    ),
    (
        suits_interior_point,
        "interior_point",
        "values so large for this C that dual coordinate descent is slow: an interior-point method",
    ),
    (needs_matrix, "second_order", "values so large for this C that dual coordinate descent is slow: Newton steps"),
    (
        suits_pairs,
        "dual_pairs",
        "a free bias, and a hard margin or examples far from the origin: dual variables move in pairs",
    ),
    (
        lambda problem: True,
        "dual_coordinate",
        "small or wide data: dual coordinate descent, whose step touches one row",
    ),
)


def choose(problem: Problem) -> tuple[str, str]:
    """The name of the solver, and why it: of the first rule that fits, if its solver takes the problem."""
    able = (rule for rule in RULES if rule[0](problem) and SOLVERS[rule[1]].takes.objection(problem) is None)
    _, name, why = next(able, RULES[-1])
    return name, why
