"""The estimated time of each solver on a problem: nanoseconds of one epoch, times the epochs it is likely to need.

    dual_coordinate   an epoch visits every row; epochs grow with the root of the steepness s = mean C ‖x‖²
    dual_pairs        an epoch costs twice as much, since a step reads two rows twice
    newton            a step is a matrix, Σ h x xᵀ, its factors and a few passes; or products by conjugate gradients
    second_order      the same steps on a part of the rows, more of them for hinge
    interior_point    the same matrix and ten passes in every step
    small_newton      as newton, in one compiled call without BLAS
    small_smo         an interior-point method without BLAS, or pair steps on all inner products

The constants are fits by eye to times on one core of an AMD EPYC, on the tuning data of benchmarks/results/choices.md.
Estimates are right within a factor of about three; the epochs of dual steps on separable data are fewer, by FEWEST.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log10
from typing import NamedTuple

from maxmargin.data.gram import suits_blas
from maxmargin.data.rows import Dense
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import Loss
from maxmargin.solvers.parts.newton_direction import small_enough
from maxmargin.solvers.parts.newton_system import LARGEST_MATRIX

# Nanoseconds.
VISIT = 55.0  # of a visited row, besides its values
VISIT_ENTROPY = 110.0  # more, for a loss whose step is an iteration: logistic on a9a, w8a
VALUE = 1.0  # of a visited value
FAR_VISIT = 150.0  # more, for a row outside the CPU caches, visited in random order: covtype
FAR_VALUE = 2.5  # more, for each of its values if it is sparse: text_like, not dense_wide
PASS_ROW = 40.0  # of a row in a pass in storage order
PASS_ENTROPY = 60.0  # more, for the exponential of logistic loss: mushrooms, a9a
PASS_VALUE = 1.5  # of a value in such a pass
PASS_VALUE_DENSE = 0.65  # the same for dense rows: dense_wide
GRAM = 0.6  # of a product of two stored values of a sparse row, in the matrix of a Newton step: usps, zero_one
GRAM_DENSE = 0.022  # the same for dense rows, by BLAS: dense_wide
CUBE = 0.05  # of a multiplication in Cholesky factors

CACHE_BYTES = 32e6  # data of more bytes than this are outside the CPU caches
BYTES = {True: 8, False: 12}  # of a stored value, dense or sparse

# Epochs of dual coordinate descent: FIRST + GROWTH s^POWER.
DUAL_EPOCHS = {"hinge": (4.0, 8.0, 0.6), "squared_hinge": (4.0, 12.0, 0.5), "logistic": (2.0, 5.0, 0.5)}
STEEP_ENOUGH = 20.0  # times (n/d)²: a larger s adds no epochs, since the classes are then separable: zero_one, reuters
FEWEST = 4.0  # dual steps may take this many times fewer epochs: mushrooms, usps

NEWTON_STEPS = 6.0  # usps 7, a9a 5, w8a 9, higgs 3
NEWTON_STEPS_AFTER_SAMPLE = 3.0  # covtype, dense_long, ijcnn1: the other steps run on a sample
SAMPLED_ROWS = 400  # rows per feature from which on newton begins on a sample
PASSES_IN_STEP = 3.0  # of newton and second_order
PASSES_IN_INTERIOR_STEP = 10.0
INTERIOR_STEPS = (7.0, 1.8)  # a + c log s: usps 8 to 16, zero_one 5 to 10, mnist
# Epochs of second_order for hinge: a + c min(1, r d/n) (1 + f d/n) (1 + log s), fewer for many rows per feature.
ROUND_EPOCHS = (10.0, 20.0, 100.0, 15.0)  # ijcnn1 9, higgs 13, a9a 37, w8a 41, usps 106, dense_wide 137
MATRICES = 0.1  # matrices in an epoch of second_order for hinge: most steps run on a part of the rows
PRODUCTS = (60.0, 0.2)  # conjugate gradients of newton take a s^p products: text_like, 20news, zero_one
PRODUCTS_DENSE = (15.0, 0.05)  # the same for dense rows: dense_wide 12 to 29
# The same with at least as many features as rows, where the classes are separable: rcv1_vw_1000, reuters, news20 take
# 22, 340 and 3,800 for s = 1, 100 and 480; for logistic loss 7, 70 and 430.
PRODUCTS_SEPARABLE = {False: (30.0, 0.7), True: (10.0, 0.5)}
ACTIVE = 0.5  # rows with a positive squared hinge loss, as a part of all rows: usps
PRODUCTS_OF_ROUNDS = (40.0, 0.25)  # the same for second_order, whose systems are preconditioned: text_like

# Solvers for small problems, on generated data of 200 to 2,000 rows and 10 to 400 columns.
SMALL_NEWTON = 1.0  # of n d²
SMALL_INTERIOR = 6.0  # of n d²
SMALL_PAIRS = 120.0  # of n², with many columns
EASY = 0.2  # of these for small_smo, if s is below 1
OVERHEAD = 1e6  # of the loop around the other solvers


class Cost(NamedTuple):
    """Nanoseconds of an epoch, and the epochs expected. If the gap falls at a steady slope, the slope predicts them.

    `most` are the epochs if the classes overlap; 0 if they cannot, or if that makes no difference.
    """

    epoch: float
    epochs: float
    steady: bool = False
    most: float = 0.0

    @property
    def total(self) -> float:
        """Nanoseconds of the whole run."""
        return self.epoch * self.epochs


def steepness(problem: Problem) -> float:
    """Return the mean of C ‖x‖²; a bias counts as one more feature of x."""
    return problem.mean_C * (problem.mean_square + (1.0 if problem.bias == "free" else problem.bias_square))


def dual_coordinate(problem: Problem) -> Cost:
    """Return the cost of dual coordinate descent."""
    n, d, nnz = problem.n, max(problem.d, 1), problem.nnz
    strict = problem.loss.strictly_convex
    epoch = n * (VISIT + VISIT_ENTROPY * strict) + nnz * VALUE
    if nnz * BYTES[is_dense(problem)] > CACHE_BYTES:
        epoch += n * FAR_VISIT + nnz * FAR_VALUE * (not is_dense(problem))
    steep = steepness(problem)
    most = 0.0 if d >= n else dual_epochs(problem.loss, steep)
    return Cost(epoch, dual_epochs(problem.loss, min(steep, STEEP_ENOUGH * (n / d) ** 2)), steady=True, most=most)


def dual_epochs(loss: Loss, steepness: float) -> float:
    """Return the epochs of dual coordinate descent."""
    name = "logistic" if loss.strictly_convex else "squared_hinge" if loss.smooth else "hinge"
    first, growth, power = DUAL_EPOCHS[name]
    return float(first + growth * steepness**power)


def dual_pairs(problem: Problem) -> Cost:
    """Return the cost of steps on pairs."""
    cost = dual_coordinate(problem)
    return cost._replace(epoch=2.0 * cost.epoch, epochs=1.5 * cost.epochs, most=1.5 * cost.most)


def newton(problem: Problem) -> Cost:
    """Return the cost of Newton's method. An epoch is half a step with the matrix, or one product."""
    if not small_enough(problem):
        products, power = PRODUCTS_DENSE if is_dense(problem) else PRODUCTS
        if problem.d >= problem.n:
            products, power = PRODUCTS_SEPARABLE[problem.loss.strictly_convex]
        return Cost(one_pass(problem), 5.0 + products * steepness(problem) ** power)
    sampled = problem.n >= SAMPLED_ROWS * problem.d
    active = 1.0 if problem.loss.strictly_convex else ACTIVE
    step = active * matrix(problem) + PASSES_IN_STEP * one_pass(problem)
    return Cost(0.5 * step, 2.0 * (NEWTON_STEPS_AFTER_SAMPLE if sampled else NEWTON_STEPS))


def second_order(problem: Problem) -> Cost:
    """Return the cost of Newton steps on the augmented Lagrangian."""
    n, size, s = problem.n, problem.d + 1, steepness(problem)
    if min(n, size) > LARGEST_MATRIX:
        products, power = PRODUCTS_OF_ROUNDS
        epochs = 8.0 + products * s**power
        if problem.loss.smooth:
            return Cost(one_pass(problem), max(epochs, newton(problem).epochs))
        return Cost(one_pass(problem), 20.0 * epochs)  # hinge needs many rounds: text_like
    if problem.loss.smooth:
        steps = NEWTON_STEPS + 2.0 * log10(1.0 + s)
        return Cost(0.5 * (matrix(problem) + PASSES_IN_STEP * one_pass(problem)), 2.0 * steps)
    first, growth, rows, few_rows = ROUND_EPOCHS
    epochs = first + growth * min(1.0, rows * size / n) * (1.0 + few_rows * size / n) * (1.0 + log10(1.0 + s))
    return Cost(1.2 * one_pass(problem) + MATRICES * matrix(problem), epochs)


def interior_point(problem: Problem) -> Cost:
    """Return the cost of the interior-point method."""
    step = matrix(problem) + PASSES_IN_INTERIOR_STEP * one_pass(problem)
    first, growth = INTERIOR_STEPS
    return Cost(step / 6.0, 6.0 * (first + growth * log10(1.0 + steepness(problem))))


def small_smo(problem: Problem) -> Cost:
    """Return the cost of the steps of small_smo."""
    n, d = problem.n, problem.d
    work = min(SMALL_INTERIOR * n * d * d, SMALL_PAIRS * n * n)
    return Cost(work * (EASY if steepness(problem) < 1.0 else 1.0), 1.0)


def small_newton(problem: Problem) -> Cost:
    """Return the cost of the steps of small_newton."""
    return Cost(SMALL_NEWTON * problem.n * problem.d**2, 1.0)


def one_pass(problem: Problem) -> float:
    """Return the nanoseconds of a pass over the rows in storage order."""
    row = PASS_ROW + PASS_ENTROPY * problem.loss.strictly_convex
    return row * problem.n + (PASS_VALUE_DENSE if is_dense(problem) else PASS_VALUE) * problem.nnz


def matrix(problem: Problem) -> float:
    """Return the nanoseconds of building and factoring the matrix of a Newton step, over features or over rows."""
    width, size = problem.nnz / max(problem.n, 1), min(problem.d + 1, problem.n)
    by_blas = suits_blas(problem.rows, problem.d)
    products = GRAM_DENSE * problem.n * problem.d**2 if by_blas else GRAM * problem.nnz * width
    return products + CUBE * size**3


def is_dense(problem: Problem) -> bool:
    """Whether the rows are stored as a dense array."""
    return isinstance(problem.rows, Dense)


COSTS: dict[str, Callable[[Problem], Cost]] = {
    "dual_coordinate": dual_coordinate,
    "dual_pairs": dual_pairs,
    "newton": newton,
    "second_order": second_order,
    "interior_point": interior_point,
}
