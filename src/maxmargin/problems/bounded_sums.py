"""Sums over the losses and over the dual terms, with a bound on their rounding errors (see system/rounding).

Losses decrease with the margin. So Σ C_i ℓ(m_i − e_i) is an upper bound of the exact Σ C_i ℓ(m_i), if e_i bounds the
error of margin i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from maxmargin.problems.dual_terms import SHAPES, DualTerm, dual_value, response
from maxmargin.problems.losses import Loss
from maxmargin.system.compiled import compiled
from maxmargin.system.rounding import LOSS, SMALLEST, additions_of_sum, gamma
from maxmargin.system.threads import on_threads

BLOCK = 64  # examples summed one after the other; numpy.sum adds the sums of the blocks
CHUNK = 512  # blocks in one task of a thread
FEW = 4096  # up to this many examples the sums are computed by NumPy: nothing needs to be compiled


def loss_sums(
    f: np.ndarray, y: np.ndarray, term: DualTerm, b: float, sizes: np.ndarray, error: tuple[float, float], threads: int
) -> tuple[float, float]:
    """Return the computed Σ C_i ℓ(m_i), and an upper bound of its exact value.

    The error of margin i is at most error[0] · sizes[i] + error[1].
    """
    by_numpy = SHAPES[type(term)].loss_bounds is not None
    some = _losses_by_numpy if by_numpy else _losses

    def add(first: int, last: int, sums: np.ndarray) -> None:
        some(f, y, term, b, sizes, error[0], error[1], first, last, sums)

    total, above = sums_of_blocks(len(f), 2, threads, add)
    return total, above * (1.0 + gamma(LOSS + additions_of_blocks(len(f))))


def loss_sums_of_few(loss: Loss, C: np.ndarray, m: np.ndarray, e: np.ndarray) -> tuple[float, float]:
    """Like `loss_sums`, for a few examples with margins m and errors e, without compiled code."""
    total, above = float(np.sum(C * loss.value(m))), float(np.sum(C * loss.value(m - e)))
    return total, above * (1.0 + gamma(LOSS + additions_of_sum(len(m))))


class DualSums(NamedTuple):
    """Σ d_i(α_i), Σ α_i, Σ α_i y_i, and Σ α_i ‖x_i‖ or an upper bound of it."""

    terms: float
    total: float
    balance: float
    reach: float


def dual_sums(alpha: np.ndarray, y: np.ndarray, term: DualTerm, norms: np.ndarray, threads: int) -> DualSums:
    """Return the sums of the dual objective, computed in blocks."""
    return DualSums(
        *sums_of_blocks(
            len(alpha), 4, threads, lambda first, last, sums: _dual_sums(alpha, y, term, norms, first, last, sums)
        )
    )


def dual_sums_of_few(loss: Loss, C: np.ndarray, alpha: np.ndarray, y: np.ndarray, norms: np.ndarray) -> DualSums:
    """Like `dual_sums`, for a few examples, without compiled code."""
    terms = float(np.sum(loss.dual(alpha, C)))
    return DualSums(terms, float(np.sum(alpha)), float(np.sum(alpha * y)), float(np.sum(alpha * norms)))


def price_of_balance(off: float, total: float) -> float:
    """Return the fraction by which α must shrink to make Σ α_i y_i exactly 0, if |Σ α_i y_i| ≤ `off`."""
    return min(2.0 * off / total, 1.0) if total > 0.0 else 0.0


def dual_bound(
    sums: DualSums, off: float, half_square: float, growth: float, bias_square: float, shrunk: float, added: float
) -> tuple[float, float]:
    """Return D(α) = Σ d_i(α_i) − ½‖w‖² − ½ B² s², rounded down, and the amount of this rounding.

    The error of ½‖w‖² is at most `growth`, |s| is at most `off`, α is shrunk by the fraction `shrunk` so that s = 0,
    and `added` is the relative error of each sum.
    """
    terms, total, s, _ = sums
    half_norm = half_square + 0.5 * bias_square * s * s
    growth += bias_square * off * (off - abs(s)) + gamma(8) * bias_square * off * off
    lost = added * (2.0 * total + abs(terms) + 2.0 * half_norm)
    lost += shrunk * (total + abs(terms)) + growth * (1.0 + 1e-12) + SMALLEST
    return terms - half_norm - lost, lost


def additions_of_blocks(n: int) -> int:
    """Return the most additions that a term takes part in in `sums_of_blocks`."""
    return min(n, BLOCK) + additions_of_sum(-(-n // BLOCK))


def sums_of_blocks(n: int, count: int, threads: int, add: Callable[[int, int, np.ndarray], None]) -> list[float]:
    """Return `count` sums over n examples; add(first, last, sums) writes the sums of the blocks first to last."""
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
            terms += dual_value(term, i, a)
            total += a
            balance += a * y[i]
            reach += a * norms[i]
        sums[0, k], sums[1, k], sums[2, k], sums[3, k] = terms, total, balance, reach


def _losses_by_numpy(f, y, term, b, sizes, slope, constant, first, last, sums):
    """Like `_losses`, for a shape with `loss_bounds`, which is faster for many examples."""
    part = slice(first * BLOCK, min(last * BLOCK, len(f)))
    m, e = y[part] * (f[part] + b), slope * sizes[part] + constant
    value, above = SHAPES[type(term)].loss_bounds(type(term)(*(array[part] for array in term)), m, e)
    sums[:, first:last] = 0.0
    sums[0, first], sums[1, first] = np.sum(value), np.sum(above)
