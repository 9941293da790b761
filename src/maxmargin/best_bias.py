"""The best free bias: b minimises  φ(b) = Σ C_i ℓ(y_i (f_i + b))  for given scores f.

hard margin      the middle between the lowest positive and the highest negative score
hinge            φ′ jumps by C_i at t_i = y_i − f_i, from −C₊ to C₋: b is the point where the C's of the t's to its
                 left add up to C₊, the weight of the positive examples. A weighted quantile, found by sorting.
smooth losses    φ′ rises continuously from negative to positive: a Newton iteration kept inside its bracket. For
                 squared hinge φ′ is made of straight pieces and the iteration ends on the exact answer.
"""

from __future__ import annotations

import numpy as np

from maxmargin.losses import HARD_MARGIN, Loss

NEWTON_STEPS = 200


def best_bias(f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss) -> float:
    """The b that minimises Σ C_i ℓ(y_i (f_i + b)); both classes must have weight."""
    if loss is HARD_MARGIN:
        return _by_midpoint(f, y, C)
    return _by_newton(f, y, C, loss) if loss.smooth else _by_quantile(f, y, C)


def _by_midpoint(f: np.ndarray, y: np.ndarray, C: np.ndarray) -> float:
    lowest, highest = np.min(f[(y > 0) & (C > 0)]), np.max(f[(y < 0) & (C > 0)])
    return float(-0.5 * (lowest + highest))


def _by_quantile(f: np.ndarray, y: np.ndarray, C: np.ndarray) -> float:
    kinks = y - f
    order = np.argsort(kinks)
    positive = float(np.sum(C[y > 0]))
    place = int(np.searchsorted(np.cumsum(C[order]), positive))
    return float(kinks[order[min(place, len(order) - 1)]])


def _by_newton(f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss) -> float:
    low, high = _bracket(f, y, C, loss)
    b = float(np.average(y - f, weights=C))
    step = high - low
    for _ in range(NEWTON_STEPS):
        slope = _slope(f, y, C, loss, b)
        low, high = (b, high) if slope < 0 else (low, b)
        bend = float(np.sum(C * loss.curvature(y * (f + b))))
        before, step = abs(step), -slope / bend if bend > 0 else np.inf
        if not low <= b + step <= high or abs(step) > 0.5 * before:  # kinks can send Newton back and forth
            step = 0.5 * (low + high) - b
        if abs(step) <= 1e-15 * (1.0 + abs(b)):
            break
        b += step
    return b


def _bracket(f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss) -> tuple[float, float]:
    """Two ends between which φ′ changes its sign; beyond all kinks for squared hinge, as far as needed for logistic."""
    low, high = float(np.min(y - f)) - 1.0, float(np.max(y - f)) + 1.0
    width = max(high - low, 1.0, 4.0 * np.spacing(max(abs(low), abs(high))))
    while np.isfinite(width) and _slope(f, y, C, loss, low) > 0:
        width *= 2.0
        low -= width
    while np.isfinite(width) and _slope(f, y, C, loss, high) < 0:
        width *= 2.0
        high += width
    return low, high


def _slope(f: np.ndarray, y: np.ndarray, C: np.ndarray, loss: Loss, b: float) -> float:
    return float(np.sum(C * y * loss.slope(y * (f + b))))
