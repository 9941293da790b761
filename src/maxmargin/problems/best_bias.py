"""The best free bias: b minimises  φ(b) = Σ C_i ℓ(y_i (f_i + b))  for given scores f.

The loss declares the method (`bias_rule`):

midpoint         hard margin: the midpoint between the lowest positive and the highest negative score
quantile         hinge: φ′ jumps by C_i at t_i = y_i − f_i, from −C₊ to C₋. So b is a weighted quantile: the point where
                 the C_i of all t_i to its left sum to C₊, the weight of the positive examples. A sample of the t_i
                 gives its approximate position, and only the t_i close to it are sorted.
newton           smooth losses: φ′ increases continuously from negative to positive. Newton's method starts from a
                 guess; if it does not converge quickly, it is repeated inside a bracket. For squared hinge φ′ is
                 piecewise linear, and the result is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, response
from maxmargin.problems.losses import Loss
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

NEWTON_STEPS = 200
FROM_A_GUESS = 12  # most Newton steps from a guess, before a bracket is searched
BALANCED = 1e-13  # |φ′| relative to the force of one class at which b is found: some hundred rounding errors
LONG = 20_000  # with more kinks t_i, a sample is sorted first
SAMPLE = 4_000  # kinks in that sample
NEAR = 0.02  # the quantile is searched among this fraction of all kinks on each side of the quantile of the sample
CHUNK = 1 << 15  # examples in one task of a thread

Forces = Callable[[float], tuple[float, float, float]]


def best_bias(
    f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss, guess: float | None = None, threads: int = 1
) -> float:
    """Return the b that minimises Σ C_i ℓ(y_i (f_i + b)). Both classes need a positive weight; a guess saves time."""
    if loss.bias_rule == "midpoint":
        return _by_midpoint(f, y, C)
    if loss.bias_rule == "quantile":
        return _by_quantile(y - f, C, float(C @ (y > 0)))
    term = loss.dual_term(C)

    def forces(b: float) -> tuple[float, float, float]:
        return _forces(f, y, term, b, threads)

    start = float(np.average(y - f, weights=C)) if guess is None else guess
    found = _from_guess(forces, start)
    return _in_bracket(forces, _bracket(forces, y - f), start) if found is None else found


def best_constant(y: np.ndarray, C: np.ndarray, loss: Loss) -> float:
    """Return the best b if every score is 0: it depends only on the weights of the two classes."""
    weights = np.array([C @ (y > 0), C @ (y < 0)])
    return best_bias(np.zeros(2), np.array([1.0, -1.0]), weights, loss)


def _by_midpoint(f: np.ndarray, y: np.ndarray, C: np.ndarray) -> float:
    lowest, highest = np.min(f[(y > 0) & (C > 0)]), np.max(f[(y < 0) & (C > 0)])
    return float(-0.5 * (lowest + highest))


def _by_quantile(kinks: np.ndarray, C: np.ndarray, positive: float) -> float:
    """Return the first kink, in increasing order, at which the sum of the weights reaches `positive`."""
    if len(kinks) > LONG:
        some = slice(None, None, len(kinks) // SAMPLE)
        order, share = np.argsort(kinks[some]), positive / float(np.sum(C))
        weights = np.cumsum(C[some][order])
        ends = np.searchsorted(weights, weights[-1] * np.clip([share - NEAR, share + NEAR], 0.0, 1.0))
        low, high = kinks[some][order[np.minimum(ends, len(order) - 1)]]
        near = (kinks >= low) & (kinks <= high)
        before = float(np.sum(C[kinks < low]))
        if before < positive <= before + float(np.sum(C[near])):
            kinks, C, positive = kinks[near], C[near], positive - before
    order = np.argsort(kinks)
    place = int(np.searchsorted(np.cumsum(C[order]), positive))
    return float(kinks[order[min(place, len(order) - 1)]])


def _from_guess(forces: Forces, b: float) -> float | None:
    """Take Newton steps while each at least halves |φ′|; return None if one does not."""
    before = np.inf
    for _ in range(FROM_A_GUESS):
        up, down, bend = forces(b)
        slope = down - up
        if not (bend > 0.0 and abs(slope) <= 0.5 * before):
            return None
        b, before = b - slope / bend, abs(slope)
        if before <= BALANCED * up:
            return float(b)
    return None


def _in_bracket(forces: Forces, ends: tuple[float, float], b: float) -> float:
    low, high = ends
    b = min(max(b, low), high)
    step = high - low
    for _ in range(NEWTON_STEPS):
        up, down, bend = forces(b)
        slope = down - up
        low, high = (b, high) if slope < 0 else (low, b)
        before, step = abs(step), -slope / bend if bend > 0 else np.inf
        if not low <= b + step <= high or abs(step) > 0.5 * before:  # at kinks Newton steps can oscillate
            step = 0.5 * (low + high) - b
        if abs(step) <= 1e-15 * (1.0 + abs(b)):
            break
        b += step
    return b


def _bracket(forces: Forces, kinks: np.ndarray) -> tuple[float, float]:
    """Return an interval on which φ′ changes its sign: the range of y − f, widened as far as the loss needs."""

    def slope(b: float) -> float:
        up, down, _ = forces(b)
        return float(down - up)

    low, high = float(np.min(kinks)) - 1.0, float(np.max(kinks)) + 1.0
    width = max(high - low, 1.0, 4.0 * np.spacing(max(abs(low), abs(high))))
    while np.isfinite(width) and slope(low) > 0:
        width *= 2.0
        low -= width
    while np.isfinite(width) and slope(high) < 0:
        width *= 2.0
        high += width
    return low, high


def _forces(f: np.ndarray, y: np.ndarray, term: DualTerm, b: float, threads: int) -> tuple[float, float, float]:
    """Return the sums of −C_i ℓ′(m_i) over positive and over negative examples, and φ″. φ′ is second minus first."""
    starts = range(0, len(f), CHUNK)
    sums = np.empty((len(starts), 3))

    def add(start: int) -> None:
        sums[start // CHUNK] = _forces_of_some(f, y, term, b, start, min(start + CHUNK, len(f)))

    on_threads(threads, add, starts)
    up, down, bend = np.sum(sums, axis=0).tolist()
    return up, down, bend


@compiled
def _forces_of_some(f, y, term, b, start, stop):
    up, down, bend = 0.0, 0.0, 0.0
    for i in range(start, stop):
        _, force, curvature = response(term, i, y[i] * (f[i] + b))
        if y[i] > 0.0:
            up += force
        else:
            down += force
        bend += curvature
    return up, down, bend
