"""The estimated time of each solver for rows on disk or on a cluster: nanoseconds of a pass, times the passes expected.

    cached_loops     a trainer beside the reader; passes grow with the steepness s = C ‖x‖²
    newton           a pass sums the matrix Σ h x xᵀ; or, with many features, is a product of conjugate gradients
    second_order     the same pass; more of them where there are few rows for each feature
    interior_point   a third of the passes sum the matrix
    lbfgs, cocoa     a pass costs little more than reading, or a few sweeps of dual coordinate descent

A pass costs what reading and work cost on all threads, and a round with its messages. The constants are fits by eye to
the data in benchmarks/results/choices_from_disk_tuned.md, and for lbfgs, cocoa and products to rounds on
20news.binary and rcv1_vw_1000. Estimates are right within a factor of about three.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log10
from typing import NamedTuple

from maxmargin.costs import CUBE, GRAM, GRAM_DENSE, STEEP_ENOUGH, dual_epochs
from maxmargin.problems.losses import Loss
from maxmargin.solvers.passes.newton import LARGEST_MATRIX

# Nanoseconds on one core.
READ_ROW = 150.0  # of a row of a file, besides its values
READ_VALUE = 20.0  # of a value of a text file: covtype, mnist
DECOMPRESS_VALUE = 80.0  # more, if blocks can only be read one after the other: xz
PASS_ROW = 300.0  # of a row in a pass of a batch method, besides its values
PASS_VALUE = 4.0
INTERIOR_ROW = 1000.0  # more, of a row in a pass of interior_point: ijcnn1.t, letter.scale
DUAL_ROW = 1500.0  # of a row that arrives in cached_loops, with the steps in its cache: a9a, covtype.scale, kddcup99
DUAL_VALUE = 20.0
COCOA_ROW = 55.0  # of a row in a local sweep: as in costs.py
COCOA_VALUE = 2.0
DENSE_PART = 1.0 / 3.0  # part of the values that is stored from which on BLAS multiplies the rows

# Passes.
FIRST_DUAL_PASSES, EPOCHS_IN_PASS = 3.0, 6.0  # epochs of dual steps that a pass of cached_loops is worth
ENOUGH_CACHED = 0.05  # part of the rows in the cache from which that is so
NEWTON_PASSES = 8.0  # covtype 7 to 10, ijcnn1 5
HARD_NEWTON = (15.0, 30.0)  # more: a min(1, b d/n) log s: mnist 52
ROUND_PASSES = (14.0, 2.5, 100.0)  # second_order: a + b min(1, c d/n) log² s: usps 12 to 23, madelon 113, mnist 117
INTERIOR_STEPS = (8.0, 250.0, 1.0)  # a max(1, log(n/b)) + c log s, of three passes: madelon 11, ijcnn1.t 33
PRODUCTS = {False: (27.0, 0.5), True: (11.0, 0.4)}  # of newton, a s^b, for a loss that is strictly convex or not
LBFGS_PASSES = {False: (45.0, 0.55), True: (12.0, 0.45)}
COCOA_ROUNDS = (14.0, 0.35)
COCOA_SWEEPS = 5.0
CURVED_PART = 0.5  # rows in the matrix of second_order for hinge, as a part of all


class Sizes(NamedTuple):
    """Rows, features, values of a row, the mean of ‖x‖², and the number of two-class problems in the same passes."""

    n: float
    d: int
    width: float
    square: float
    problems: int = 1

    @property
    def few(self) -> float:
        """Features for each row."""
        return self.d / max(self.n, 1.0)


class Place(NamedTuple):
    """Where rows lie: nanoseconds of reading a row, threads that read and work, and those of a round with messages.

    `number` are the nanoseconds of sending one number of the totals. `at_once` is the number of matrices that fit in
    memory, `cached` the part of the rows that a cache for each problem holds.
    """

    reading: float
    readers: int
    threads: int
    round: float = 0.0
    number: float = 0.0
    at_once: int = 1 << 30
    cached: float = 1.0


class PassCost(NamedTuple):
    """Nanoseconds of a pass, and the passes expected."""

    one: float
    passes: float

    @property
    def total(self) -> float:
        """Nanoseconds of the whole run."""
        return self.one * self.passes


def cost_of(name: str, sizes: Sizes, place: Place, C: float, loss: Loss) -> PassCost:
    """Return the estimated cost of a solver."""
    return COSTS[name](sizes, place, C * (sizes.square + 1.0), loss)


def cached_loops(sizes: Sizes, place: Place, s: float, loss: Loss) -> PassCost:
    """Return the cost of dual cached loops: the reader and the trainers work at the same time."""
    wide = sizes.d >= sizes.n  # the classes are separable
    epochs = dual_epochs(loss, min(s, STEEP_ENOUGH * (sizes.n / max(sizes.d, 1)) ** 2) if wide else s)
    in_pass = 1.0 + (EPOCHS_IN_PASS - 1.0) * min(1.0, place.cached / ENOUGH_CACHED)
    training = sizes.problems * sizes.n * (DUAL_ROW + DUAL_VALUE * sizes.width) / min(place.threads, sizes.problems)
    reading = sizes.n * place.reading / place.readers
    both = max(training, reading) if place.threads > 1 else training + reading
    return PassCost(both, FIRST_DUAL_PASSES + epochs / in_pass)


def newton(sizes: Sizes, place: Place, s: float, loss: Loss) -> PassCost:
    """Return the cost of Newton's method, with a matrix or with products."""
    if sizes.d > LARGEST_MATRIX:
        return PassCost(one_pass(sizes, place), 5.0 + power_of(s, PRODUCTS[loss.strictly_convex]))
    more, rows = HARD_NEWTON
    steps = NEWTON_PASSES + more * min(1.0, rows * sizes.few) * log10(1.0 + s)
    return PassCost(pass_with_matrix(sizes, place, 1.0), steps)


def second_order(sizes: Sizes, place: Place, s: float, loss: Loss) -> PassCost:
    """Return the cost of Newton steps on the augmented Lagrangian."""
    if loss.smooth:
        return newton(sizes, place, s, loss)
    first, more, rows = ROUND_PASSES
    passes = first + more * min(1.0, rows * sizes.few) * log10(1.0 + s) ** 2
    return PassCost(pass_with_matrix(sizes, place, CURVED_PART), passes)


def interior_point(sizes: Sizes, place: Place, s: float, loss: Loss) -> PassCost:
    """Return the cost of the interior-point method, three passes a step."""
    return PassCost(pass_with_matrix(sizes, place, 1.0 / 3.0, INTERIOR_ROW), interior_passes(sizes.n, s))


def interior_passes(n: float, s: float) -> float:
    """Return the passes of the interior-point method: its steps grow with log n and log s, and not with d."""
    first, few, more = INTERIOR_STEPS
    return 3.0 * (first * max(1.0, log10(max(n, 1.0) / few)) + more * log10(1.0 + s))


def lbfgs(sizes: Sizes, place: Place, s: float, loss: Loss) -> PassCost:
    """Return the cost of L-BFGS."""
    return PassCost(one_pass(sizes, place), 10.0 + power_of(s, LBFGS_PASSES[loss.strictly_convex]))


def cocoa(sizes: Sizes, place: Place, s: float, loss: Loss) -> PassCost:
    """Return the cost of dual coordinate descent on all partitions at once."""
    sweeps = COCOA_SWEEPS * (COCOA_ROW + COCOA_VALUE * sizes.width)
    return PassCost(one_pass(sizes, place, sweeps), 5.0 + power_of(s, COCOA_ROUNDS))


COSTS: dict[str, Callable[[Sizes, Place, float, Loss], PassCost]] = {
    "cached_loops": cached_loops,
    "newton": newton,
    "second_order": second_order,
    "interior_point": interior_point,
    "lbfgs": lbfgs,
    "cocoa": cocoa,
}


def power_of(s: float, rule: tuple[float, float]) -> float:
    """Return a s^b for the rule (a, b)."""
    many, power = rule
    return float(many * s**power)


def one_pass(sizes: Sizes, place: Place, work: float = 0.0) -> float:
    """Return the nanoseconds of a pass with `work` nanoseconds for each row and problem, besides its scores."""
    each = sizes.problems * (PASS_ROW + PASS_VALUE * sizes.width + work)
    reading = place.reading / place.readers + each / place.threads
    return sizes.n * reading + place.round + place.number * sizes.problems * sizes.d


def pass_with_matrix(sizes: Sizes, place: Place, part: float, work: float = 0.0) -> float:
    """Return the nanoseconds of a pass that sums a matrix over a part of the rows, and of its Cholesky factors.

    `work` are the nanoseconds of each row and problem besides its scores and the matrix.
    """
    dense = sizes.width >= DENSE_PART * sizes.d
    products = GRAM_DENSE * sizes.d**2 if dense else GRAM * sizes.width**2
    groups = ceil(sizes.problems / max(place.at_once, 1))
    numbers = sizes.problems * sizes.d**2 * (place.number + CUBE * sizes.d)
    each = sizes._replace(problems=ceil(sizes.problems / groups))
    return groups * one_pass(each, place, work + part * products) + numbers
