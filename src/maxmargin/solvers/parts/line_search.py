"""How far to go along a step.

Each search fits what its solvers can compute without a pass over the rows. Replacing one by another would change the
measured numbers of steps, so all four stay:

bisect         the sign of the slope along a ray: the length of a starting point, the output of the perceptron
find_flat      the slope at any length: newton, second_order. The step is a Newton step, so its whole length is likely
newton_length  slope and curvature at any length: newton on logistic loss, where the whole step is too short
backtrack      the value at any length: gradient_descent, lbfgs. It also works at the kinks of hinge, where slopes jump
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.problems.losses import Loss

LONGEST = 1024.0  # a ray, or a step of newton_length, is lengthened by this factor at most
FLAT = 0.25  # a step may end where the slope is this part of the slope at its beginning
LONGEST_FLAT = 1e6  # find_flat gives up lengthening here
FLAT_TRIALS = 20  # lengths that find_flat tries after it has a bracket
NEWTON_TRIALS = 6  # lengths that newton_length tries
NEWTON_ACCURACY = 0.05  # newton_length stops when t changes by less than this part
SHORTEST = 1e-12  # backtrack gives up here: rounding leaves nothing to gain


def bisect(falls: Callable[[float], bool], low: float, high: float, halvings: int) -> tuple[float, float]:
    """Halve the bracket [low, high] of the point at which a convex function stops falling."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low, high


def slope_along_ray(loss: Loss, C: np.ndarray, m: np.ndarray, square: float) -> Callable[[float], float]:
    """The slope of P(t v) in t, given the margins of v and its square Σ r_k v_k²: no pass over the rows."""
    return lambda t: t * square + float(np.sum(C * loss.slope(t * m) * m))


def find_flat(slope_at: Callable[[float], float], start: float, whole: float) -> float:
    """The length at which the slope is at most FLAT of `start`; `whole` is the slope after the whole step.

    The divisions grow: where no row takes part, the step is the gradient in the units of the features, and may be
    many orders of magnitude too long.
    """
    slope, enough, low, high, smaller = whole, FLAT * abs(start), 0.0, 1.0, 0.5
    while slope < -enough and high < LONGEST_FLAT:
        low, high = high, 2.0 * high
        slope = slope_at(high)
    length = high
    for _ in range(FLAT_TRIALS):
        if abs(slope) <= enough:
            break
        if low == 0.0:
            length, smaller = smaller * high, smaller * smaller
        else:
            length = 0.5 * (low + high) if high <= 4.0 * low else float(np.sqrt(low * high))
        slope = slope_at(length)
        low, high = (length, high) if slope < 0.0 else (low, length)
    return length


def newton_length(derivatives_at: Callable[[float], tuple[float, float]]) -> float:
    """The t that minimises along a step, by Newton's method on slope and curvature; 1 if it is near 1 or not found."""
    t = 1.0
    for _ in range(NEWTON_TRIALS):
        slope, curvature = derivatives_at(t)
        before, t = t, t - slope / curvature
        if not 0.0 < t < LONGEST:
            return 1.0
        if abs(t - before) <= NEWTON_ACCURACY * t:
            break
    return t if abs(t - 1.0) > NEWTON_ACCURACY else 1.0


def backtrack(value_at: Callable[[float], float], before: float, slope: float, first: float, enough: float) -> float:
    """The longest of first, first/2, ... that lowers the value by `enough` of what the slope promises; 0 if none."""
    length = first
    while length > SHORTEST:
        if value_at(length) <= before + enough * length * slope:
            return length
        length *= 0.5
    return 0.0
