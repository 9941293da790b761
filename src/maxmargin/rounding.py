"""How far float64 sums can be from the true ones: the bounds that every certificate carries.

A sum or dot product of k terms, added in any order, errs by at most γ_k Σ |terms|, with γ_k = k u / (1 − k u) and
u = 2⁻⁵³ (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 4). A fused multiply-add only does
better. So with m stored values in the longest row

    scores    |f_i − ⟨w, x_i⟩|  ≤  γ_m Σ_j |w_j x_ij|  ≤  γ_m ‖w‖ ‖x_i‖
    w(α)      ‖ŵ − w(α)‖        ≤  γ_k Σ α_i ‖x_i‖,       k additions on the longest way of a term into the sum

Losses fall with the margin. So Σ C_i ℓ(m_i − e_i), with e_i the error of margin i, is above the true Σ C_i ℓ(m_i).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from maxmargin.compiled import compiled
from maxmargin.cores import on_threads
from maxmargin.dual_terms import DualTerm, Quadratic, response, worth

UNIT = 2.0**-53
PAIRWISE = 64  # above `additions_of_sum` of any array that fits in memory
LOSS = 16  # roundings of one value of a loss, exp and log1p within 4 units each
UNDERFLOW = 1e-160  # times √m: what a norm can lose where squares are too small for float64
SMALLEST = 1e-300  # above the underflow of the m products of a score
BLOCK = 64  # examples that are added up one after the other; their sums by numpy.sum
CHUNK = 512  # blocks that a thread takes at once
FEW = 1000  # examples up to which calling NumPy takes longer than a compiled exp


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


def loss_sums(
    f: np.ndarray, y: np.ndarray, term: DualTerm, b: float, sizes: np.ndarray, error: tuple[float, float], threads: int
) -> tuple[float, float]:
    """Σ C_i ℓ(m_i) as computed, and an upper bound of it for margins that are off by at most their error."""
    some = _losses if isinstance(term, Quadratic) or len(f) <= FEW else _many_entropy_losses

    def add(first: int, last: int, sums: np.ndarray) -> None:
        some(f, y, term, b, sizes, error[0], error[1], first, last, sums)

    total, above = sums_of_blocks(len(f), 2, threads, add)
    return total, above * (1.0 + gamma(LOSS + additions_of_blocks(len(f))))


class DualSums(NamedTuple):
    """Σ d_i(α_i), Σ α_i, Σ α_i y_i and, or above it, Σ α_i ‖x_i‖."""

    terms: float
    total: float
    balance: float
    reach: float


def dual_sums(alpha: np.ndarray, y: np.ndarray, term: DualTerm, norms: np.ndarray, threads: int) -> DualSums:
    """The sums of a dual objective, added up in blocks."""
    return DualSums(
        *sums_of_blocks(
            len(alpha), 4, threads, lambda first, last, sums: _dual_sums(alpha, y, term, norms, first, last, sums)
        )
    )


def price_of_balance(off: float, total: float) -> float:
    """The part by which α must shrink for Σ α_i y_i to be 0 exactly, where it is off by at most `off`."""
    return min(2.0 * off / total, 1.0) if total > 0.0 else 0.0


def dual_bound(
    sums: DualSums, off: float, half_square: float, growth: float, bias_square: float, shrunk: float, added: float
) -> tuple[float, float]:
    """D(α) = Σ d_i(α_i) − ½‖w‖² − ½ B² s² rounded down, and by how much.

    ½‖w‖² may grow by `growth`, |s| is at most `off`, α is shrunk by a part `shrunk` to be balanced, and `added` is the
    relative error of each sum.
    """
    terms, total, s, _ = sums
    half_norm = half_square + 0.5 * bias_square * s * s
    growth += bias_square * off * (off - abs(s)) + gamma(8) * bias_square * off * off
    lost = added * (2.0 * total + abs(terms) + 2.0 * half_norm)
    lost += shrunk * (total + abs(terms)) + growth * (1.0 + 1e-12) + SMALLEST
    return terms - half_norm - lost, lost


def additions_of_blocks(n: int) -> int:
    """How many additions a term of `sums_of_blocks` meets at most."""
    return min(n, BLOCK) + additions_of_sum(-(-n // BLOCK))


def sums_of_blocks(n: int, count: int, threads: int, add: Callable[[int, int, np.ndarray], None]) -> list[float]:
    """So many sums over n examples, from what add(first, last, sums) writes for these blocks of them."""
    blocks = -(-n // BLOCK)
    sums = np.empty((count, blocks))
    on_threads(threads, lambda first: add(first, min(first + CHUNK, blocks), sums), range(0, blocks, CHUNK))
    return list(np.sum(sums, axis=1).tolist())


@compiled
def _losses(f, y, term, b, sizes, slope, constant, first, last, sums):
    for k in range(first, last):
        total, above = 0.0, 0.0
        for i in range(k * BLOCK, min((k + 1) * BLOCK, f.size)):
            m = y[i] * (f[i] + b)
            total += response(term, i, m)[0]
            above += response(term, i, m - (slope * sizes[i] + constant))[0]
        sums[0, k], sums[1, k] = total, above


@compiled
def _dual_sums(alpha, y, term, norms, first, last, sums):
    for k in range(first, last):
        terms, total, balance, reach = 0.0, 0.0, 0.0, 0.0
        for i in range(k * BLOCK, min((k + 1) * BLOCK, alpha.size)):
            a = alpha[i]
            terms += worth(term, i, a)
            total += a
            balance += a * y[i]
            reach += a * norms[i]
        sums[0, k], sums[1, k], sums[2, k], sums[3, k] = terms, total, balance, reach


def _many_entropy_losses(f, y, term, b, sizes, slope, constant, first, last, sums):
    """The same for logistic, by NumPy, whose exp is several times as fast as a compiled one.

    With e the error, ℓ(m − e) ≤ ℓ(m) − e ℓ′(m − e), and −ℓ′ ≤ ℓ, −ℓ′ ≤ 1, and −ℓ′ grows by at most e^e ≤ 1 + 2e over a
    distance e ≤ 1.
    """
    part = slice(first * BLOCK, min(last * BLOCK, len(f)))
    m, e = y[part] * (f[part] + b), slope * sizes[part] + constant
    value = np.log1p(np.exp(-np.abs(m)))
    value -= np.minimum(m, 0.0)
    sums[:, first:last] = 0.0
    sums[0, first] = np.sum(term.U[part] * value)
    value += e * np.minimum(value * (1.0 + 2.0 * e), 1.0)
    sums[1, first] = np.sum(term.U[part] * value)
