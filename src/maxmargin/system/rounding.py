"""Bounds on the rounding errors of float64 sums, used by every certificate.

The error of a sum or dot product of k terms, added in any order, is at most γ_k Σ |terms|, with γ_k = k u / (1 − k u)
and u = 2⁻⁵³ (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 4). A fused multiply-add only makes
it smaller. With m stored values in the longest row this gives

    scores    |f_i − ⟨w, x_i⟩|  ≤  γ_m Σ_j |w_j x_ij|  ≤  γ_m ‖w‖ ‖x_i‖
    w(α)      ‖ŵ − w(α)‖        ≤  γ_k Σ α_i ‖x_i‖,       if a term takes part in at most k additions
"""

from __future__ import annotations

from math import sqrt

import numpy as np

UNIT = 2.0**-53  # The unit roundoff u of float64.
PAIRWISE = 64  # Exceeds `additions_of_sum` for every array that fits in memory.
LOSS = 16  # Roundings in one evaluation of a loss; exp and log1p are accurate to 4 units each.
UNDERFLOW = 1e-160  # Times √m, bounds the part of a norm that is lost when squares underflow.
SMALLEST = 1e-300  # Exceeds the total underflow of the m products of a score.
FEW_TERMS = 512  # Up to this many, `inner` calls BLAS: a short numpy.sum takes several times as long.


def gamma(k: float) -> float:
    """γ_k = k u / (1 − k u)."""
    return k * UNIT / (1.0 - k * UNIT)


def additions_of_sum(count: int) -> int:
    """Return the most additions that a term undergoes in numpy.sum of a contiguous array.

    numpy.sum adds blocks of 128 numbers, then their sums pairwise.
    """
    return min(count, 28 + max(count // 128, 1).bit_length())


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """Return Σ a_i b_i. Its relative error, to Σ |a_i b_i|, is at most γ_k with k = `additions_of_inner`."""
    return float(a.dot(b)) if len(a) <= FEW_TERMS else float(np.sum(a * b))


def additions_of_inner(count: int) -> int:
    """Return the most roundings of a term in `inner`."""
    return count + 1 if count <= FEW_TERMS else PAIRWISE


def length(square: float, count: int) -> float:
    """Return ‖w‖, rounded up, from ‖w‖² as computed by numpy.sum over `count` squares."""
    return sqrt(square) * (1.0 + gamma(additions_of_sum(count) + 4)) + SMALLEST


def margin_error(longest: int, reach: float, b: float) -> tuple[float, float]:
    """Return (slope, constant): two float64 evaluations of a margin differ by at most slope × size_i + constant.

    `reach` × size_i bounds Σ_j |w_j x_ij|. Both evaluations count: this one and the one in `predict`. Each has m
    products, one addition of b, and the subtraction of the error itself.
    """
    return 2.0 * gamma(longest + 8) * reach, 8.0 * UNIT * abs(b) + SMALLEST
