"""Passes over all rows: products, sums and norms.

A pass is divided into chunks of fixed size, so its result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.rows import (
    Dense,
    Rows,
    axpy,
    count_rows,
    dot,
    entry,
    feature,
    part_of_rows,
    row_length,
    span,
    square,
)
from maxmargin.data.take import read_only
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

CHUNK = 1 << 21  # Values in a chunk: about a millisecond of work.
CACHED_CHUNK = 1 << 17  # Values in a chunk that is visited twice: 1 MB, which stays in the cache of a core.
FEW_VALUES = 1 << 17  # Values of dense rows up to which NumPy is used: about a tenth of a millisecond of work.
SPLIT = 2.0**27 + 1.0  # Dekker's constant: splits a float64 into two halves whose products are exact.
UPWARDS = 1.0 + 1e-9  # Exceeds the relative rounding error of any sum of positive terms.
LEAST_VALUES_PER_SUM = 16  # Values of a chunk for each feature: with fewer, adding the sums of chunks would dominate.


def is_few(rows: Rows) -> bool:
    """Whether NumPy takes less time than compiled code needs to be called or, at first, to be compiled."""
    return isinstance(rows, Dense) and rows.values.size <= FEW_VALUES


def scores(rows: Rows, w: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return ⟨x_i, w⟩ for every row, in float64."""
    if is_few(rows):
        return np.asarray(np.einsum("ij,j->i", rows.values, w[: rows.values.shape[1]]), dtype=np.float64)
    out = np.empty(count_rows(rows))
    in_chunks(rows, threads, lambda start, stop: _scores(rows, w, start, stop, out))
    return out


def squared_norms(rows: Rows, threads: int = 1) -> np.ndarray:
    """Return ‖x_i‖² for every row, in float64."""
    if is_few(rows):
        return np.asarray(np.einsum("ij,ij->i", rows.values, rows.values, dtype=np.float64))
    out = np.empty(count_rows(rows))
    in_chunks(rows, threads, lambda start, stop: _squared_norms(rows, start, stop, out))
    return out


def combination(rows: Rows, d: int, coefficients: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return Σ coefficient_i x_i, in float64."""
    if is_few(rows):
        return np.asarray(np.einsum("ij,i->j", rows.values, coefficients), dtype=np.float64)

    def add(start: int, stop: int, total: np.ndarray) -> None:
        _combination(rows, coefficients, start, stop, total)

    return sum_of_chunks(rows, d, threads, add, CHUNK)


def scores_and_combination(
    rows: Rows, d: int, w: np.ndarray, answer: Callable[[slice, np.ndarray], np.ndarray], threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores and Σ coefficient_i x_i, where `answer` computes coefficients from the scores of a chunk.

    Chunks are small, so that their rows are read from memory only once. With very many features they are larger,
    because each chunk has its own sum.
    """
    if is_few(rows):
        f = scores(rows, w)
        return f, combination(rows, d, answer(slice(0, len(f)), f))
    f, coefficients = np.empty(count_rows(rows)), np.empty(count_rows(rows))

    def add(start: int, stop: int, total: np.ndarray) -> None:
        part = slice(start, stop)
        _scores(rows, w, start, stop, f)
        coefficients[part] = answer(part, f[part])
        _combination(rows, coefficients, start, stop, total)

    return f, sum_of_chunks(rows, d, threads, add, CACHED_CHUNK if LEAST_VALUES_PER_SUM * d <= CACHED_CHUNK else CHUNK)


def absolute_scores(rows: Rows, w: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return Σ_j |x_ij w_j| for every row, rounded up."""
    n, step, found = count_rows(rows), chunk_of(rows), np.empty(count_rows(rows))
    for start in range(0, n, step):
        stop = min(start + step, n)
        part = part_of_rows(rows, start, stop)
        found[start:stop] = scores(part._replace(values=read_only(np.abs(part.values))), np.abs(w), threads)
    return found * UPWARDS


def accurate_combination(
    rows: Rows, d: int, coefficients: np.ndarray, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ coefficient_i x_i computed in doubled precision, and Σ |coefficient_i x_i|, rounded up.

    The rounding errors of each product and sum are computed exactly (Dekker, Knuth) and summed separately. The error of
    the result is one final rounding and γ_k² times the second sum, if a term takes part in at most k additions.
    """
    chunk = max(CHUNK, LEAST_VALUES_PER_SUM * d)
    step = chunk_of(rows, chunk)
    parts = np.zeros((-(-count_rows(rows) // step), 3, d))

    def add(start: int, stop: int) -> None:
        part = parts[start // step]
        _accurate_combination(rows, coefficients, start, stop, part[0], part[1], part[2])

    in_chunks(rows, threads, add, chunk)
    high, low = np.zeros(d), np.zeros(d)
    for sums, errors, _ in parts:
        total = high + sums
        rest = total - high
        low += (high - (total - rest)) + (sums - rest) + errors
        high = total
    return high + low, np.sum(parts[:, 2], axis=0) * UPWARDS


def combination_of_squares(rows: Rows, d: int, coefficients: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return Σ coefficient_i x_ik² for every feature k, in float64."""

    def add(start: int, stop: int, total: np.ndarray) -> None:
        _combination_of_squares(rows, coefficients, start, stop, total)

    return sum_of_chunks(rows, d, threads, add, CHUNK)


def add_combination(rows: Rows, coefficients: np.ndarray, total: np.ndarray) -> None:
    """Add Σ coefficient_i x_i to `total`, on this thread."""
    _combination(rows, coefficients, 0, count_rows(rows), total)


def additions(rows: Rows, d: int) -> int:
    """Return the most additions of a term in `combination` and `scores_and_combination`."""
    step = min(chunk_of(rows, max(CHUNK, LEAST_VALUES_PER_SUM * d)), count_rows(rows))
    return step + -(-count_rows(rows) // chunk_of(rows, max(CACHED_CHUNK, LEAST_VALUES_PER_SUM * d)))


def sum_of_chunks(
    rows: Rows, size: int, threads: int, add: Callable[[int, int, np.ndarray], None], chunk: int
) -> np.ndarray:
    """Call add(start, stop, total) for each chunk, with its own total from 0; return the sum of the totals in order."""
    chunk = max(chunk, LEAST_VALUES_PER_SUM * size)
    step = chunk_of(rows, chunk)
    sums = np.zeros((-(-count_rows(rows) // step), size))
    in_chunks(rows, threads, lambda start, stop: add(start, stop, sums[start // step]), chunk)
    return np.asarray(np.sum(sums, axis=0)) if len(sums) != 1 else sums[0]


def scores_with_bias(rows: Rows, d: int, v: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return ⟨z_i, v⟩ for every row, with z_i = (x_i, 1) if v has d + 1 entries, else z_i = x_i."""
    f = scores(rows, v[:d], threads)
    return f + v[-1] if len(v) > d else f


def combination_with_bias(rows: Rows, d: int, coefficients: np.ndarray, size: int, threads: int = 1) -> np.ndarray:
    """Return Σ coefficient_i z_i, with z_i = (x_i, 1) if `size` is d + 1, else z_i = x_i."""
    total = combination(rows, d, coefficients, threads)
    return np.append(total, np.sum(coefficients)) if size > d else total


def curved(rows: Rows, d: int, h: np.ndarray, v: np.ndarray, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ h_i ⟨z_i, v⟩ z_i, and ⟨z_i, v⟩ where h_i ≠ 0, in one pass; z_i as in `scores_with_bias`."""
    b, f = float(v[-1]) if len(v) > d else 0.0, np.zeros(len(h))

    def add(start: int, stop: int, total: np.ndarray) -> None:
        _curved(rows, h, v, b, start, stop, f, total)

    return sum_of_chunks(rows, d + 1, threads, add, CHUNK)[: len(v)], f


def chunk_of(rows: Rows, size: int = CHUNK) -> int:
    """Return the number of rows in a chunk of `size` values."""
    return max(1, int(size / max(row_length(rows), 1.0)))


def in_chunks(rows: Rows, threads: int, work: Callable[[int, int], None], size: int = CHUNK) -> None:
    """Call work(start, stop) for each chunk of rows on `threads` threads."""
    n = count_rows(rows)
    step = chunk_of(rows, size)
    starts = range(0, n, step)
    on_threads(threads, lambda start: work(start, min(start + step, n)), starts)


@compiled
def _scores(rows, w, start, stop, out):
    for i in range(start, stop):
        out[i] = dot(rows, i, w)


@compiled
def _squared_norms(rows, start, stop, out):
    for i in range(start, stop):
        out[i] = square(rows, i)


@compiled
def _curved(rows, h, v, b, start, stop, f, total):
    forces = 0.0
    for i in range(start, stop):
        if h[i] != 0.0:
            f[i] = dot(rows, i, v) + b
            force = h[i] * f[i]
            forces += force
            axpy(rows, i, force, total)
    total[-1] = forces


@compiled
def _combination(rows, coefficients, start, stop, w):
    for i in range(start, stop):
        if coefficients[i] != 0.0:
            axpy(rows, i, coefficients[i], w)


@compiled
def _accurate_combination(rows, coefficients, start, stop, high, low, sizes):
    for i in range(start, stop):
        a = coefficients[i]
        if a != 0.0:
            c = SPLIT * a
            a_high = c - (c - a)
            a_low = a - a_high
            first, last = span(rows, i)
            for p in range(first, last):
                j, x = feature(rows, i, p), np.float64(entry(rows, i, p))
                c = SPLIT * x
                x_high = c - (c - x)
                x_low = x - x_high
                product = a * x
                error = ((a_high * x_high - product) + a_high * x_low + a_low * x_high) + a_low * x_low
                total = high[j] + product
                rest = total - high[j]
                low[j] += ((high[j] - (total - rest)) + (product - rest)) + error
                high[j] = total
                sizes[j] += abs(product)


@compiled
def _combination_of_squares(rows, coefficients, start, stop, total):
    for i in range(start, stop):
        if coefficients[i] != 0.0:
            first, last = span(rows, i)
            for p in range(first, last):
                value = np.float64(entry(rows, i, p))
                total[feature(rows, i, p)] += coefficients[i] * value * value
