"""Both objectives with a bound on their rounding errors, from the sums of a pass (see rounding and certificate).

The bounds need no norm of a single row: by Cauchy–Schwarz, Σ α_i ‖x_i‖ ≤ ‖α‖ ‖X‖ and Σ C_i ‖x_i‖ ≤ √(Σ C_i²) ‖X‖,
where ‖X‖² is the sum of all squares, and Σ C_i² ≤ max C_i Σ C_i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.problems.bounded_sums import DualSums, dual_bound, price_of_balance
from maxmargin.problems.losses import Loss
from maxmargin.system.rounding import LOSS, PAIRWISE, SMALLEST, gamma, margin_error

SQUARED_AT_ONCE = 1 << 20  # Numbers of w whose squares are in memory at once: 8 MB.


class Sizes(NamedTuple):
    """Sizes of the data: rows, values of the longest row, the sum of all squares.

    A term of a sum of numbers takes part in at most `additions` additions, one of w(α) in `vector_additions`.
    """

    n: int
    longest: int
    squares: float
    additions: int
    vector_additions: int


class PrimalSide(NamedTuple):
    """The computed losses at (w, b); the sum of all C_i, and the largest."""

    w: np.ndarray
    b: float
    losses: float
    sum_of_C: float
    largest_C: float


class DualSide(NamedTuple):
    """The computed w(α), Σ d_i(α_i), Σ α_i, Σ α_i y_i and Σ α_i²."""

    w: np.ndarray
    terms: float
    total: float
    balance: float
    squares: float


def half_square(w: np.ndarray) -> float:
    """Return ½‖w‖², computed in parts to avoid a second vector as long as w."""
    starts = range(0, len(w), SQUARED_AT_ONCE)
    return 0.5 * sum(float(np.sum(np.square(w[start : start + SQUARED_AT_ONCE]))) for start in starts)


def half_norm(w: np.ndarray, b: float, bias_square: float) -> float:
    """Return ½‖w‖² + b²/(2B²)."""
    return half_square(w) + (0.5 * b * b / bias_square if bias_square else 0.0)


def primal_side(at: PrimalSide, loss: Loss, bias_square: float, sizes: Sizes) -> tuple[float, float]:
    """Return P(w, b), rounded up, and the amount of this rounding."""
    norm = half_norm(at.w, at.b, bias_square)
    slope, constant = margin_error(sizes.longest, length(half_square(at.w)), at.b)
    if np.isfinite(loss.steepest):
        spread = np.sqrt(at.largest_C * at.sum_of_C * sizes.squares)
        above = loss.steepest * (slope * spread + at.sum_of_C * constant)
    else:  # Σ ℓ(m − e) ≤ Σ ℓ(m) + √(2κ Σ ℓ(m) Σ e²) + κ/2 Σ e²: with ℓ″ ≤ κ and ℓ ≥ 0, ℓ′² ≤ 2κℓ
        curvature = at.largest_C * loss.largest_curvature
        squares = 2.0 * (slope * slope * sizes.squares + sizes.n * constant * constant)
        above = np.sqrt(2.0 * curvature * at.losses * squares) + 0.5 * curvature * squares
    added = gamma(2 * PAIRWISE + LOSS + sizes.additions)
    rounding = float(above) * (1.0 + added) + added * (norm + at.losses)
    return norm + at.losses + rounding, rounding


def dual_side(at: DualSide, bias: str, bias_square: float, sizes: Sizes) -> tuple[float, float]:
    """Return D(α), rounded down, and the amount of this rounding."""
    half = half_square(at.w)
    added = gamma(2 * PAIRWISE + LOSS + sizes.additions)
    reach = float(np.sqrt(at.squares * sizes.squares)) * (1.0 + added)
    sums = DualSums(at.terms, at.total, at.balance, reach)
    off = abs(at.balance) + added * at.total
    shrunk = price_of_balance(off, at.total) if bias == "free" else 0.0
    error = (gamma(sizes.vector_additions + 16) + shrunk) * reach
    growth = length(half) * error + 0.5 * error * error
    return dual_bound(sums, off, half, growth, bias_square, shrunk, added)


def length(half: float) -> float:
    """Return ‖w‖, rounded up, from ½‖w‖²."""
    return float(np.sqrt(2.0 * half)) * (1.0 + gamma(2 * PAIRWISE)) + SMALLEST
