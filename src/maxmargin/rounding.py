"""How far float64 sums can be from the true ones: the bounds that every certificate carries.

A sum or dot product of k terms, added in any order, errs by at most γ_k Σ |terms|, with γ_k = k u / (1 − k u) and
u = 2⁻⁵³ (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 4). A fused multiply-add only does
better. So with m stored values in the longest row

    scores    |f_i − ⟨w, x_i⟩|  ≤  γ_m Σ_j |w_j x_ij|  ≤  γ_m ‖w‖ ‖x_i‖
    w(α)      ‖ŵ − w(α)‖        ≤  γ_k Σ α_i ‖x_i‖,       k additions on the longest way of a term into the sum

Losses fall with the margin. So Σ C_i ℓ(m_i − e_i), with e_i the error of margin i, is above the true Σ C_i ℓ(m_i).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.compiled import compiled, holds, inlined
from maxmargin.cores import on_threads
from maxmargin.dual_terms import DualTerm, Quadratic, response

UNIT = 2.0**-53
PAIRWISE = 64  # above `additions_of_sum` of any array that fits in memory
LOSS = 16  # roundings of one value of a loss, exp and log1p within 4 units each
UNDERFLOW = 1e-160  # times √m: what a norm can lose where squares are too small for float64
SMALLEST = 1e-300  # above the underflow of the m products of a score
CHUNK = 1 << 15  # examples that a thread adds up at once,
BLOCK = 1 << 8  # in sums of so many


def gamma(k: float) -> float:
    """γ_k = k u / (1 − k u)."""
    return k * UNIT / (1.0 - k * UNIT)


def additions_of_sum(count: int) -> int:
    """How many additions a term of numpy.sum over a contiguous array meets at most: in blocks of 128, then by pairs."""
    return min(count, 28 + max(count // 128, 1).bit_length())


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
    starts = range(0, len(f), CHUNK)
    sums = np.empty((len(starts), 2))

    def add(start: int) -> None:
        stop = min(start + CHUNK, len(f))
        sums[start // CHUNK] = _loss_sums(f, y, term, b, sizes, error[0], error[1], start, stop)

    on_threads(threads, add, starts)
    total, above = np.sum(sums, axis=0).tolist()
    additions = min(len(f), BLOCK) + min(-(-len(f) // BLOCK), CHUNK // BLOCK) + len(starts)
    return total, above * (1.0 + gamma(LOSS + additions))


def value_and_most(term: Any, i: int, m: float, e: float) -> tuple[float, float]:
    """C_i ℓ(m), and an upper bound on it anywhere from m − e on, in compiled code."""
    raise NotImplementedError("value_and_most works inside compiled functions only")


@compiled
def most_of_entropy(value, force, U, e):
    """ℓ(m − e) ≤ ℓ(m) − e ℓ′(m − e), and the slope grows by at most e^e over a distance e, to at most 1."""
    return value + e * min(force * (1.0 + 2.0 * e), U) if e < 1.0 else value + e * U


@inlined(value_and_most)
def _value_and_most(term, i, m, e):
    if holds(term, Quadratic):
        return lambda term, i, m, e: (response(term, i, m)[0], response(term, i, m - e)[0])

    def entropy(term, i, m, e):
        value, force, _ = response(term, i, m)
        return value, most_of_entropy(value, force, term.U[i], e)

    return entropy


@compiled
def _loss_sums(f, y, term, b, sizes, slope, constant, start, stop):
    total, above = 0.0, 0.0
    for first in range(start, stop, BLOCK):
        part, part_above = 0.0, 0.0
        for i in range(first, min(first + BLOCK, stop)):
            value, most = value_and_most(term, i, y[i] * (f[i] + b), slope * sizes[i] + constant)
            part += value
            part_above += most
        total += part
        above += part_above
    return total, above
