"""Rows in memory, dense or CSR, behind a few functions ("verbs") for compiled code.

    dot(rows, i, w)        ⟨x_i, w⟩
    axpy(rows, i, a, w)    w += a x_i
    inner(rows, i, j)      ⟨x_i, x_j⟩
    square(rows, i)        ‖x_i‖²
    announce(rows, i)      prefetch the position of row i, which `fetch` will need
    fetch(rows, i)         prefetch row i, which will be visited soon; neither changes a result

For an algorithm that needs each stored value of a row:

    span(rows, i)          first and last position p of the values of row i
    feature(rows, i, p)    the column of the value at p
    entry(rows, i, p)      the value at p

Rows are passed to compiled code as NamedTuples of read-only views of the caller's arrays, without a copy. Values are
float32 or float64, indices int32 or int64. An algorithm is written once; Numba specialises it for each storage.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.system.compiled import holds, inlined, kernel, summing
from maxmargin.system.prefetch import prefetch


class Dense(NamedTuple):
    """Rows of a C-contiguous matrix."""

    values: np.ndarray


class Csr(NamedTuple):
    """Sparse rows: row i has values[indptr[i]:indptr[i+1]] in the increasing columns indices[...], of `d` columns."""

    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    d: int


class Spans(NamedTuple):
    """Sparse rows in any order, with gaps: row i has values[start[i]:stop[i]] (see solvers/streaming/row_pool)."""

    values: np.ndarray
    indices: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    free: np.ndarray


Rows = Dense | Csr

CACHE_LINE = 64  # Bytes.
FETCHED_LINES = 16  # Most cache lines of a dense row to prefetch: after that the hardware prefetcher continues.

# Unsigned indices: Numba need not check whether they are negative and count from the end.
ONE, TWO, THREE, FOUR = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)


def dot(rows: Any, i: int, w: Any) -> float:
    """Return ⟨x_i, w⟩, in compiled code."""
    raise NotImplementedError("dot works inside compiled functions only")


def axpy(rows: Any, i: int, a: float, w: Any) -> None:
    """Add a x_i to w, in compiled code."""
    raise NotImplementedError("axpy works inside compiled functions only")


def inner(rows: Any, i: int, j: int) -> float:
    """Return ⟨x_i, x_j⟩, in compiled code."""
    raise NotImplementedError("inner works inside compiled functions only")


def square(rows: Any, i: int) -> float:
    """Return ‖x_i‖², in compiled code."""
    raise NotImplementedError("square works inside compiled functions only")


def announce(rows: Any, i: int) -> None:
    """Prefetch the position of row i, in compiled code."""
    raise NotImplementedError("announce works inside compiled functions only")


def fetch(rows: Any, i: int) -> None:
    """Prefetch row i, in compiled code."""
    raise NotImplementedError("fetch works inside compiled functions only")


def span(rows: Any, i: int) -> tuple[int, int]:
    """Return the positions of the stored values of row i, in compiled code."""
    raise NotImplementedError("span works inside compiled functions only")


def feature(rows: Any, i: int, p: int) -> int:
    """Return the column of the value at position p of row i, in compiled code."""
    raise NotImplementedError("feature works inside compiled functions only")


def entry(rows: Any, i: int, p: int) -> float:
    """Return the value at position p of row i, in compiled code."""
    raise NotImplementedError("entry works inside compiled functions only")


@summing
def dense_dot(x, w):
    """Return ⟨x, w⟩."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * w[k]
    return total


@summing
def dense_axpy(a, x, w):
    """Add a x to w."""
    for k in range(x.size):
        w[k] += a * x[k]


@summing
def dense_inner(x, z):
    """Return ⟨x, z⟩ of two rows, in float64."""
    total = 0.0
    for k in range(x.size):
        total += np.float64(x[k]) * z[k]
    return total


@kernel
def dense_fetch(x):
    """Prefetch the first cache lines of a row."""
    for k in range(0, min(x.size, FETCHED_LINES * CACHE_LINE // x.itemsize), CACHE_LINE // x.itemsize):
        prefetch(x, k)


@kernel
def csr_dot(values, indices, start, stop, w):
    """Return ⟨x, w⟩, as four interleaved sums, because each addition must wait for the last one of its sum."""
    k, stop = np.uintp(start), np.uintp(stop)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    while k + THREE < stop:
        a += values[k] * w[np.uintp(indices[k])]
        b += values[k + ONE] * w[np.uintp(indices[k + ONE])]
        c += values[k + TWO] * w[np.uintp(indices[k + TWO])]
        d += values[k + THREE] * w[np.uintp(indices[k + THREE])]
        k += FOUR
    while k < stop:
        a += values[k] * w[np.uintp(indices[k])]
        k += ONE
    return (a + b) + (c + d)


@kernel
def csr_axpy(values, indices, start, stop, a, w):
    """Add a x to w."""
    for k in range(np.uintp(start), np.uintp(stop)):
        w[np.uintp(indices[k])] += a * values[k]


@kernel
def csr_inner(values, indices, p, p_end, q, q_end):
    """Return ⟨x, z⟩ of two rows, in float64."""
    total = 0.0
    while p < p_end and q < q_end:
        a, b = indices[p], indices[q]
        if a == b:
            total += np.float64(values[p]) * values[q]
        p += a <= b
        q += b <= a
    return total


@kernel
def csr_square(values, start, stop):
    """Return ‖x‖²."""
    total = 0.0
    for k in range(np.uintp(start), np.uintp(stop)):
        total += np.float64(values[k]) * values[k]
    return total


@kernel
def csr_fetch(values, indices, start, stop):
    """Prefetch a row."""
    for k in range(start, stop, CACHE_LINE // values.itemsize):
        prefetch(values, k)
    for k in range(start, stop, CACHE_LINE // indices.itemsize):
        prefetch(indices, k)


@inlined(dot)
def _dot(rows, i, w):
    if holds(rows, Dense):
        return lambda rows, i, w: dense_dot(rows.values[i], w)
    if holds(rows, Spans):
        return lambda rows, i, w: csr_dot(rows.values, rows.indices, rows.start[i], rows.stop[i], w)
    return lambda rows, i, w: csr_dot(rows.values, rows.indices, rows.indptr[i], rows.indptr[i + 1], w)


@inlined(axpy)
def _axpy(rows, i, a, w):
    if holds(rows, Dense):
        return lambda rows, i, a, w: dense_axpy(a, rows.values[i], w)
    if holds(rows, Spans):
        return lambda rows, i, a, w: csr_axpy(rows.values, rows.indices, rows.start[i], rows.stop[i], a, w)
    return lambda rows, i, a, w: csr_axpy(rows.values, rows.indices, rows.indptr[i], rows.indptr[i + 1], a, w)


@inlined(inner)
def _inner(rows, i, j):
    if holds(rows, Dense):
        return lambda rows, i, j: dense_inner(rows.values[i], rows.values[j])
    return lambda rows, i, j: csr_inner(
        rows.values, rows.indices, rows.indptr[i], rows.indptr[i + 1], rows.indptr[j], rows.indptr[j + 1]
    )


@inlined(square)
def _square(rows, i):
    if holds(rows, Dense):
        return lambda rows, i: dense_inner(rows.values[i], rows.values[i])
    return lambda rows, i: csr_square(rows.values, rows.indptr[i], rows.indptr[i + 1])


@inlined(announce)
def _announce(rows, i):
    if holds(rows, Dense):
        return lambda rows, i: None
    if holds(rows, Spans):
        return lambda rows, i: prefetch(rows.start, i)
    return lambda rows, i: prefetch(rows.indptr, i)


@inlined(fetch)
def _fetch(rows, i):
    if holds(rows, Dense):
        return lambda rows, i: dense_fetch(rows.values[i])
    if holds(rows, Spans):
        return lambda rows, i: csr_fetch(rows.values, rows.indices, rows.start[i], rows.stop[i])
    return lambda rows, i: csr_fetch(rows.values, rows.indices, rows.indptr[i], rows.indptr[i + 1])


@inlined(span)
def _span(rows, i):
    if holds(rows, Dense):
        return lambda rows, i: (0, rows.values.shape[1])
    return lambda rows, i: (rows.indptr[i], rows.indptr[i + 1])


@inlined(feature)
def _feature(rows, i, p):
    if holds(rows, Dense):
        return lambda rows, i, p: p
    return lambda rows, i, p: rows.indices[p]


@inlined(entry)
def _entry(rows, i, p):
    if holds(rows, Dense):
        return lambda rows, i, p: rows.values[i, p]
    return lambda rows, i, p: rows.values[p]


def count_rows(rows: Rows) -> int:
    """Return the number of rows."""
    return len(rows.values) if isinstance(rows, Dense) else len(rows.indptr) - 1


def count_columns(rows: Rows) -> int:
    """Return the number of columns."""
    return rows.values.shape[1] if isinstance(rows, Dense) else rows.d


def part_of_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Return consecutive rows, without a copy of their values."""
    if isinstance(rows, Dense):
        return Dense(rows.values[start:stop])
    first, last = int(rows.indptr[start]), int(rows.indptr[stop])
    return Csr(rows.values[first:last], rows.indices[first:last], rows.indptr[start : stop + 1] - first, rows.d)


def matrix_of(rows: Rows, kind: str = "csr_array") -> Any:
    """Return the rows as an array, or as a SciPy sparse matrix of class `kind`, without a copy of the values."""
    if isinstance(rows, Dense):
        return rows.values
    from scipy import sparse

    return getattr(sparse, kind)((rows.values, rows.indices, rows.indptr), (count_rows(rows), rows.d))


def dense_of(rows: Rows) -> np.ndarray:
    """Return the rows as an array in float64; a copy unless they are one."""
    if isinstance(rows, Dense):
        return rows.values.astype(np.float64, copy=False)
    return np.asarray(matrix_of(rows).toarray(), dtype=np.float64)


def count_stored(rows: Rows) -> int:
    """Return the number of stored values."""
    return int(rows.values.size)


def row_lengths(rows: Rows) -> np.ndarray:
    """Return the number of stored values of each row."""
    if isinstance(rows, Dense):
        return np.full(len(rows.values), rows.values.shape[1])
    return np.diff(rows.indptr)


def longest_row(rows: Rows) -> int:
    """Return the largest number of stored values in a row."""
    if isinstance(rows, Dense):
        return int(rows.values.shape[1])
    return int(np.max(np.diff(rows.indptr), initial=0))


def row_length(rows: Rows) -> float:
    """Return the mean number of stored values in a row."""
    return count_stored(rows) / max(count_rows(rows), 1)
