"""Line searches: the length of a step.

Each search uses the quantities that its solvers can compute without a pass over the rows. Replacing one by another
would change the measured numbers of steps, so there are four:

bisect         uses the sign of the slope along a ray: scales a starting point, and the output of the perceptron
find_flat      uses the slope at any length: newton, second_order. The whole Newton step is tried first
newton_length  uses slope and curvature at any length: newton on logistic loss, where the whole step is too short
backtrack      uses the value at any length: gradient_descent, lbfgs. It also works for hinge, whose slope jumps
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.problems.losses import Loss

LONGEST = 1024.0  # largest length of a ray, or of a step found by newton_length
FLAT = 0.25  # a step may end where |slope| is at most this fraction of the slope at its start
LONGEST_FLAT = 1e6  # largest length that find_flat tries
FLAT_TRIALS = 20  # most lengths that find_flat tries inside its bracket
NEWTON_TRIALS = 6  # most lengths that newton_length tries
NEWTON_ACCURACY = 0.05  # newton_length stops when the relative change of t is at most this
SHORTEST = 1e-12  # smallest length that backtrack tries: below it rounding errors exceed the gain


def bisect(falls: Callable[[float], bool], low: float, high: float, halvings: int) -> tuple[float, float]:
    """Halve the bracket [low, high] of the point at which a convex function stops falling."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low, high


def slope_along_ray(loss: Loss, C: np.ndarray, m: np.ndarray, square: float) -> Callable[[float], float]:
    """Return the derivative of P(t v) in t, from the margins m of v and square = Σ r_k v_k²: no pass over the rows."""
    return lambda t: t * square + float(np.sum(C * loss.slope(t * m) * m))


def find_flat(slope_at: Callable[[float], float], start: float, whole: float) -> float:
    """Return a length at which |slope| ≤ FLAT |start|, where `start` and `whole` are the slopes at lengths 0 and 1.

    The divisors grow quadratically: if no row has h_i > 0, the step is the gradient, whose scale depends on the units
    of the features, and may be many orders of magnitude too long.
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
    """Return the t that minimises a function along a step, by Newton's method; 1 if t is close to 1 or not found."""
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
    """Return the largest of first, first/2, ... that satisfies the Armijo rule with factor `enough`; 0 if none does."""
    length = first
    while length > SHORTEST:
        if value_at(length) <= before + enough * length * slope:
            return length
        length *= 0.5
    return 0.0
