"""The best free bias: b minimises  φ(b) = Σ C_i ℓ(y_i (f_i + b))  for given scores f.

The loss says by which rule it is found (`bias_rule`):

midpoint         hard margin: the middle between the lowest positive and the highest negative score
quantile         hinge: φ′ jumps by C_i at t_i = y_i − f_i, from −C₊ to C₋. So b is the point where the C's of the t's
                 to its left add up to C₊, the weight of the positive examples: a weighted quantile. A sample of the
                 t's says about where it is, and only those near that place are sorted.
newton           smooth losses: φ′ rises continuously from negative to positive. A Newton iteration from a guess, and
                 where that does not converge at once, one kept inside its bracket. For squared hinge φ′ is made of
                 straight pieces and the iteration ends on the exact answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, response
from maxmargin.problems.losses import Loss
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

NEWTON_STEPS = 200
FROM_A_GUESS = 12  # Newton steps from a guess, before a bracket is looked for
BALANCED = 1e-13  # |φ′| relative to the force on either side at which b is found: some hundred roundings
LONG = 20_000  # kinks from which on a sample of them is sorted first
SAMPLE = 4_000  # kinks in that sample
NEAR = 0.02  # share of all kinks, on either side of the sample's quantile, among which the exact one is looked for
CHUNK = 1 << 15  # examples that a thread adds up at once

Forces = Callable[[float], tuple[float, float, float]]


def best_bias(
    f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss, guess: float | None = None, threads: int = 1
) -> float:
    """The b that minimises Σ C_i ℓ(y_i (f_i + b)); both classes must have weight. A good guess saves time."""
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
    """The best b where every score is 0, so that only the weight of either class counts."""
    weights = np.array([C @ (y > 0), C @ (y < 0)])
    return best_bias(np.zeros(2), np.array([1.0, -1.0]), weights, loss)


def _by_midpoint(f: np.ndarray, y: np.ndarray, C: np.ndarray) -> float:
    lowest, highest = np.min(f[(y > 0) & (C > 0)]), np.max(f[(y < 0) & (C > 0)])
    return float(-0.5 * (lowest + highest))


def _by_quantile(kinks: np.ndarray, C: np.ndarray, positive: float) -> float:
    """The first of the kinks, in rising order, at which their weights add up to `positive`."""
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
    """Newton steps as long as each halves φ′; None where one does not."""
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
        if not low <= b + step <= high or abs(step) > 0.5 * before:  # kinks can send Newton back and forth
            step = 0.5 * (low + high) - b
        if abs(step) <= 1e-15 * (1.0 + abs(b)):
            break
        b += step
    return b


def _bracket(forces: Forces, kinks: np.ndarray) -> tuple[float, float]:
    """Two ends between which φ′ changes its sign: beyond all y − f, and as much farther as the loss needs."""

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
    """The force that raises b, the force that lowers it, and φ″: φ′ is the second less the first."""
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
