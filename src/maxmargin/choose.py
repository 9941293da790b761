"""solver="auto": the choice of a solver for a problem, with a sentence that explains it.

The thresholds were set by benchmarks/results/choices.md, which times every solver on twelve data sets, three losses and
three C, without a bias. The comments name the data sets whose rows decide a threshold, if there are any.
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
from maxmargin.solvers.small.design import has_few_columns, is_small

ASKED = "you asked for it"  # the reason, if the user names the solver

# Number of examples for each feature. Each threshold is the least number for its choice.
NEWTON_ON_BANDS = 200  # second_order for a moderate C: it is faster on a9a (264) at C = 1, not on w8a (166)
NEWTON_ON_BANDS_WITH_BIAS = 100  # second_order with a bias: w8a in benchmarks/results/bias.md and linear.md
NEWTON_ON_BANDS_LARGE_C = 50  # second_order for a large C and any number of features: mnist (77)
OVERDETERMINED = 10  # second_order and interior_point for a large C: dense_wide (10), C = 1 and 100

# Numbers of features and stored values, and ratios.
FEW_FEATURES = 400  # second_order with fewer than 50 examples a feature, or 100 with a bias: w8a (300), mnist (784)
LONG_DATA = 5_000_000  # stored values from which starting on a sample pays even for a small C: covtype, dense_long
DENSE_ROWS = 0.25  # fraction of values stored: above it newton's products pay for any number of features: dense_wide
COMMON_LENGTH = 0.9  # ‖mean x‖² / mean ‖x‖²: above it dual_pairs, whose steps depend only on differences of examples

# Steepness: the mean of C ‖x‖². It says how far dual variables have to move, in units of their first step.
# The comments tell which choice is right above each threshold.
NEWTON_STEEPNESS = 0.3  # newton; below, dual_coordinate converges at once: a9a, w8a, squared hinge, C = 0.01
PRODUCTS_STEEPNESS = 5.0  # second_order for squared hinge and many features: text_like lies on both sides
PRODUCTS_STEEPNESS_STRICTLY_CONVEX = 50.0  # second_order for logistic loss: text_like lies on both sides
BANDS_STEEPNESS = 1.0  # second_order for hinge: a9a and ijcnn1 lie on both sides
BANDS_STEEPNESS_WITH_BIAS = 10.0  # second_order with a bias and fewer examples: w8a in benchmarks/results/bias.md
SLOW_DUAL_STEEPNESS = 50.0  # dual steps for hinge need many epochs: w8a and dense_wide lie on both sides
ENDLESS_DUAL_STEEPNESS = 1e4  # dual steps do not converge in time for any loss; no row decides it
BANDS_LARGEST_STEEPNESS = 1e6  # interior_point needs fewer steps than second_order: mnist lies on both sides
INTERIOR_LARGEST_STEEPNESS = 1e10  # α s and (C − α) ξ of interior_point lose their digits to rounding


def suits_second_order(problem: Problem) -> bool:
    """Whether the loss is not smooth, features are few, and examples are many or dual steps are slow because of C."""
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
    """Whether the loss is not smooth, dual steps are slow, and examples are too few to set most of them aside."""
    if problem.loss.smooth or not problem.bounded or steepness(problem) > INTERIOR_LARGEST_STEEPNESS:
        return False
    few_features = problem.d <= min(LARGEST_MATRIX - 1, problem.n // OVERDETERMINED)
    return needs_matrix(problem) or (few_features and steepness(problem) > SLOW_DUAL_STEEPNESS)


def steepness(problem: Problem) -> float:
    """Return the mean of C ‖x‖²; a bias counts as one more feature of x."""
    return problem.mean_C * (problem.mean_square + (1.0 if problem.bias == "free" else problem.bias_square))


def needs_matrix(problem: Problem) -> bool:
    """Whether dual steps would not converge in time, and the matrix of a Newton step is small enough to be formed."""
    few = min(problem.n, problem.d + 1) <= LARGEST_MATRIX
    return problem.bounded and steepness(problem) > ENDLESS_DUAL_STEEPNESS and few


def far_from_origin(problem: Problem) -> bool:
    """Whether the mean of the examples accounts for most of their squared length."""
    mean = combination(problem.rows, problem.d, np.full(problem.n, 1.0 / problem.n), problem.threads)
    return float(np.sum(np.square(mean))) > COMMON_LENGTH * problem.mean_square


def suits_newton(problem: Problem) -> bool:
    """Whether the loss is smooth, its second derivatives are cheap, and dual steps would not converge at once."""
    if not problem.loss.smooth or problem.d > problem.n:
        return False
    long = problem.nnz >= LONG_DATA or problem.loss.strictly_convex  # newton begins on a sample
    if steepness(problem) <= NEWTON_STEEPNESS and not (long and problem.n >= NEWTON_ON_BANDS * problem.d):
        return False
    return small_enough(problem) or problem.nnz > DENSE_ROWS * problem.n * problem.d


def suits_products(problem: Problem) -> bool:
    """Whether the loss is smooth, C is large, and there are at least twice as many examples as features."""
    if not problem.loss.smooth or problem.n < 2 * problem.d:
        return False
    strict = problem.loss.strictly_convex
    return steepness(problem) > (PRODUCTS_STEEPNESS_STRICTLY_CONVEX if strict else PRODUCTS_STEEPNESS)


def suits_pairs(problem: Problem) -> bool:
    """Whether the bias is free, and steps on single dual variables would be too slow for it."""
    return problem.bias == "free" and (problem.loss is HARD_MARGIN or far_from_origin(problem))


def suits_small_newton(problem: Problem) -> bool:
    """Whether the problem is small, with few features, and the loss is smooth."""
    return is_small(problem) and has_few_columns(problem)


RULES: tuple[tuple[Callable[[Problem], bool], str, str], ...] = (
    (
        lambda problem: not problem.ridge,
        "newton",
        "without regularisation the dual has no simple feasible set: Newton's method solves the primal",
    ),
    (
        suits_small_newton,
        "small_newton",
        "few examples and features, and a smooth loss: Newton's method in one compiled call",
    ),
    (
        is_small,
        "small_smo",
        "few examples: pairs of dual variables on all inner products, in one compiled call",
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


def choose(problem: Problem, small: bool = True) -> tuple[str, str]:
    """Return the name of the solver and the reason: the first rule that applies and whose solver takes the problem.

    Without `small`, the solvers for small problems are left out.
    """
    rules = (rule for rule in RULES if small or not rule[1].startswith("small_"))
    able = (rule for rule in rules if rule[0](problem) and SOLVERS[rule[1]].takes.objection(problem) is None)
    _, name, why = next(able, RULES[-1])
    return name, why
