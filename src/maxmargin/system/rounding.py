"""How far float64 sums can be from the true ones: the bounds that every certificate carries.

A sum or dot product of k terms, added in any order, errs by at most γ_k Σ |terms|, with γ_k = k u / (1 − k u) and
u = 2⁻⁵³ (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 4). A fused multiply-add only does
better. So with m stored values in the longest row

    scores    |f_i − ⟨w, x_i⟩|  ≤  γ_m Σ_j |w_j x_ij|  ≤  γ_m ‖w‖ ‖x_i‖
    w(α)      ‖ŵ − w(α)‖        ≤  γ_k Σ α_i ‖x_i‖,       k additions on the longest way of a term into the sum
"""

from __future__ import annotations

from math import sqrt

UNIT = 2.0**-53
PAIRWISE = 64  # above `additions_of_sum` of any array that fits in memory
LOSS = 16  # roundings of one value of a loss, exp and log1p within 4 units each
UNDERFLOW = 1e-160  # times √m: what a norm can lose where squares are too small for float64
SMALLEST = 1e-300  # above the underflow of the m products of a score


def gamma(k: float) -> float:
    """γ_k = k u / (1 − k u)."""
    return k * UNIT / (1.0 - k * UNIT)


def additions_of_sum(count: int) -> int:
    """How many additions a term of numpy.sum over a contiguous array meets at most: in blocks of 128, then by pairs."""
    return min(count, 28 + max(count // 128, 1).bit_length())


def length(square: float, count: int) -> float:
    """‖w‖ of ‖w‖², as numpy.sum has added up so many squares, rounded up."""
    return sqrt(square) * (1.0 + gamma(additions_of_sum(count) + 4)) + SMALLEST


def margin_error(longest: int, reach: float, b: float) -> tuple[float, float]:
    """How far the margins of two float64 evaluations can be apart: by slope × size_i + constant.

    `reach` × size_i bounds Σ_j |w_j x_ij|. Both evaluations count, this one and the one of `predict`: each has m
    products, one addition of b, and the subtraction of the error itself.
    """
    return 2.0 * gamma(longest + 8) * reach, 8.0 * UNIT * abs(b) + SMALLEST
