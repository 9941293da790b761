"""The best free bias: b minimises  φ(b) = Σ C_i ℓ(y_i (f_i + b))  for given scores f.

hard margin      the middle between the lowest positive and the highest negative score
hinge            φ′ jumps by C_i at t_i = y_i − f_i, from −C₊ to C₋: b is the point where the C's of the t's to its
                 left add up to C₊, the weight of the positive examples. A weighted quantile: a sample of the t's says
                 about where it is, and only those near that place are sorted.
smooth losses    φ′ rises continuously from negative to positive: a Newton iteration from a guess, and where that does
                 not settle at once, one kept inside its bracket. For squared hinge φ′ is made of straight pieces and
                 the iteration ends on the exact answer.
"""

from __future__ import annotations

import numpy as np

from maxmargin.compiled import compiled
from maxmargin.dual_terms import DualTerm, response
from maxmargin.losses import HARD_MARGIN, Loss

NEWTON_STEPS = 200
FROM_A_GUESS = 12  # steps, before the bracket is looked for
BALANCED = 1e-13  # of the force on either side
LONG = 20_000  # kinks, of which
SAMPLE = 4_000  # are sorted first, and then
NEAR = 0.02  # of all on either side


def best_bias(f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss, guess: float | None = None) -> float:
    """The b that minimises Σ C_i ℓ(y_i (f_i + b)); both classes must have weight. A good guess saves time."""
    if loss is HARD_MARGIN:
        return _by_midpoint(f, y, C)
    if not loss.smooth:
        return _by_quantile(y - f, C, float(C @ (y > 0)))
    term = loss.dual_term(C)
    start = float(np.average(y - f, weights=C)) if guess is None else guess
    found = _from_guess(f, y, term, start)
    return _in_bracket(f, y, term, start) if found is None else found


def best_constant(y: np.ndarray, C: np.ndarray, loss: Loss) -> float:
    """The best b where every score is 0, so that only the weight of either class counts."""
    weights = np.array([C @ (y > 0), C @ (y < 0)])
    return best_bias(np.zeros(2), np.array([1.0, -1.0]), weights, loss)


def _by_midpoint(f: np.ndarray, y: np.ndarray, C: np.ndarray) -> float:
    lowest, highest = np.min(f[(y > 0) & (C > 0)]), np.max(f[(y < 0) & (C > 0)])
    return float(-0.5 * (lowest + highest))


def _by_quantile(kinks: np.ndarray, C: np.ndarray, positive: float) -> float:
    """Of the kinks in rising order, the first at which their weights add up to `positive`."""
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


def _from_guess(f: np.ndarray, y: np.ndarray, term: DualTerm, b: float) -> float | None:
    """Newton steps as long as each halves φ′; None where one does not."""
    before = np.inf
    for _ in range(FROM_A_GUESS):
        up, down, bend = _forces(f, y, term, b)
        slope = down - up
        if not (bend > 0.0 and abs(slope) <= 0.5 * before):
            return None
        b, before = b - slope / bend, abs(slope)
        if before <= BALANCED * up:
            return float(b)
    return None


def _in_bracket(f: np.ndarray, y: np.ndarray, term: DualTerm, b: float) -> float:
    low, high = _bracket(f, y, term)
    b = min(max(b, low), high)
    step = high - low
    for _ in range(NEWTON_STEPS):
        up, down, bend = _forces(f, y, term, b)
        slope = down - up
        low, high = (b, high) if slope < 0 else (low, b)
        before, step = abs(step), -slope / bend if bend > 0 else np.inf
        if not low <= b + step <= high or abs(step) > 0.5 * before:  # kinks can send Newton back and forth
            step = 0.5 * (low + high) - b
        if abs(step) <= 1e-15 * (1.0 + abs(b)):
            break
        b += step
    return b


def _bracket(f: np.ndarray, y: np.ndarray, term: DualTerm) -> tuple[float, float]:
    """Two ends between which φ′ changes its sign; beyond all kinks for squared hinge, as far as needed for logistic."""

    def slope(b: float) -> float:
        up, down, _ = _forces(f, y, term, b)
        return float(down - up)

    low, high = float(np.min(y - f)) - 1.0, float(np.max(y - f)) + 1.0
    width = max(high - low, 1.0, 4.0 * np.spacing(max(abs(low), abs(high))))
    while np.isfinite(width) and slope(low) > 0:
        width *= 2.0
        low -= width
    while np.isfinite(width) and slope(high) < 0:
        width *= 2.0
        high += width
    return low, high


@compiled
def _forces(f, y, term, b):
    """What pulls b up, what pulls it down, and φ″: φ′ is the second less the first."""
    up, down, bend = 0.0, 0.0, 0.0
    for i in range(f.size):
        _, force, curvature = response(term, i, y[i] * (f[i] + b))
        if y[i] > 0.0:
            up += force
        else:
            down += force
        bend += curvature
    return up, down, bend
