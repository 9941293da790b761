"""Whole passes over the rows: products with all of them, their norms, and the check that they can be trusted.

A pass is cut into chunks of fixed size, so its result does not depend on how many threads share the chunks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.rows import Rows, axpy, count_rows, dot, entry, feature, part_of_rows, row_length, span, square
from maxmargin.data.take import read_only
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

CHUNK = 1 << 21  # numbers visited in one chunk: about a millisecond
NEAR = 1 << 17  # numbers that stay near the core from one visit to the next
SPLIT = 2.0**27 + 1.0  # cuts a float64 into two halves whose products are exact
UPWARDS = 1.0 + 1e-9  # more than rounding takes from a sum of positive terms
WIDE = 16  # values for each feature, at least, where a chunk has a sum of its own


def scores(rows: Rows, w: np.ndarray, threads: int = 1) -> np.ndarray:
    """⟨x_i, w⟩ for every row, in float64."""
    out = np.empty(count_rows(rows))
    in_chunks(rows, threads, lambda start, stop: _scores(rows, w, start, stop, out))
    return out


def squared_norms(rows: Rows, threads: int = 1) -> np.ndarray:
    """‖x_i‖² for every row, in float64."""
    out = np.empty(count_rows(rows))
    in_chunks(rows, threads, lambda start, stop: _squared_norms(rows, start, stop, out))
    return out


def combination(rows: Rows, d: int, coefficients: np.ndarray, threads: int = 1) -> np.ndarray:
    """Σ coefficient_i x_i, in float64."""

    def add(start: int, stop: int, total: np.ndarray) -> None:
        _combination(rows, coefficients, start, stop, total)

    return sum_of_chunks(rows, d, threads, add, CHUNK)


def scores_and_combination(
    rows: Rows, d: int, w: np.ndarray, answer: Callable[[slice, np.ndarray], np.ndarray], threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and Σ coefficient_i x_i with the coefficients that `answer` gives to the scores of some rows.

    Chunks are so small that their rows are read from memory once, unless there are so many features that each chunk
    would need a long sum of its own.
    """
    f, coefficients = np.empty(count_rows(rows)), np.empty(count_rows(rows))

    def add(start: int, stop: int, total: np.ndarray) -> None:
        part = slice(start, stop)
        _scores(rows, w, start, stop, f)
        coefficients[part] = answer(part, f[part])
        _combination(rows, coefficients, start, stop, total)

    return f, sum_of_chunks(rows, d, threads, add, NEAR if WIDE * d <= NEAR else CHUNK)


def absolute_scores(rows: Rows, w: np.ndarray, threads: int = 1) -> np.ndarray:
    """Σ_j |x_ij w_j| for every row, rounded up."""
    n, step, found = count_rows(rows), chunk_of(rows), np.empty(count_rows(rows))
    for start in range(0, n, step):
        stop = min(start + step, n)
        part = part_of_rows(rows, start, stop)
        found[start:stop] = scores(part._replace(values=read_only(np.abs(part.values))), np.abs(w), threads)
    return found * UPWARDS


def accurate_combination(
    rows: Rows, d: int, coefficients: np.ndarray, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Σ coefficient_i x_i as if summed in twice the precision, and Σ |coefficient_i x_i|, rounded up.

    Each product and each sum keeps its own rounding error (Dekker, Knuth), and the errors are added up beside it. So of
    the result only the last rounding is left, and γ_k² of the second sum, k additions on the longest way.
    """
    chunk = max(CHUNK, WIDE * d)
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
    """Σ coefficient_i x_ik² for every feature k, in float64."""

    def add(start: int, stop: int, total: np.ndarray) -> None:
        _combination_of_squares(rows, coefficients, start, stop, total)

    return sum_of_chunks(rows, d, threads, add, CHUNK)


def add_combination(rows: Rows, coefficients: np.ndarray, total: np.ndarray) -> None:
    """Add Σ coefficient_i x_i to `total`, on this thread."""
    _combination(rows, coefficients, 0, count_rows(rows), total)


def additions(rows: Rows, d: int) -> int:
    """How many additions a term of `combination` or `scores_and_combination` meets at most on its way into the sum."""
    step = min(chunk_of(rows, max(CHUNK, WIDE * d)), count_rows(rows))
    return step + -(-count_rows(rows) // chunk_of(rows, max(NEAR, WIDE * d)))


def sum_of_chunks(
    rows: Rows, size: int, threads: int, add: Callable[[int, int, np.ndarray], None], chunk: int
) -> np.ndarray:
    """What add(start, stop, total) makes of a sum for each chunk, all begun at 0, and these added in their order."""
    chunk = max(chunk, WIDE * size)
    step = chunk_of(rows, chunk)
    sums = np.zeros((-(-count_rows(rows) // step), size))
    in_chunks(rows, threads, lambda start, stop: add(start, stop, sums[start // step]), chunk)
    return np.asarray(np.sum(sums, axis=0)) if len(sums) != 1 else sums[0]


def scores_with_bias(rows: Rows, d: int, v: np.ndarray, threads: int = 1) -> np.ndarray:
    """⟨z_i, v⟩ for every row: z_i = (x_i, 1) if v is one longer than the d features, else x_i."""
    f = scores(rows, v[:d], threads)
    return f + v[-1] if len(v) > d else f


def combination_with_bias(rows: Rows, d: int, coefficients: np.ndarray, size: int, threads: int = 1) -> np.ndarray:
    """Σ coefficient_i z_i: z_i = (x_i, 1) if size is one more than the d features, else x_i."""
    total = combination(rows, d, coefficients, threads)
    return np.append(total, np.sum(coefficients)) if size > d else total


def curved(rows: Rows, d: int, h: np.ndarray, v: np.ndarray, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Σ h_i ⟨z_i, v⟩ z_i, in one pass, and ⟨z_i, v⟩ where h_i is not 0; z_i as in `scores_with_bias`."""
    b, f = float(v[-1]) if len(v) > d else 0.0, np.zeros(len(h))

    def add(start: int, stop: int, total: np.ndarray) -> None:
        _curved(rows, h, v, b, start, stop, f, total)

    return sum_of_chunks(rows, d + 1, threads, add, CHUNK)[: len(v)], f


def chunk_of(rows: Rows, size: int = CHUNK) -> int:
    """How many rows a chunk of so many values has."""
    return max(1, int(size / max(row_length(rows), 1.0)))


def in_chunks(rows: Rows, threads: int, work: Callable[[int, int], None], size: int = CHUNK) -> None:
    """Call work(start, stop) over the rows, chunk by chunk, on `threads` threads."""
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
