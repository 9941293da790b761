"""Rows in memory: dense and CSR, behind the verbs that kernels use.

    dot(rows, i, w)        ⟨x_i, w⟩
    axpy(rows, i, a, w)    w += a x_i
    inner(rows, i, j)      ⟨x_i, x_j⟩
    square(rows, i)        ‖x_i‖²
    announce(rows, i)      row i comes up in a while,
    fetch(rows, i)         row i comes up next: hints to memory that change no result

and, for an algorithm that treats each stored value of a row in its own way,

    span(rows, i)          the places p, from and to, of the values that row i stores
    feature(rows, i, p)    the column of the value at p
    entry(rows, i, p)      the value at p

Rows reach compiled code as NamedTuples of read-only views on the caller's arrays: values float32 or float64, indices
int32 or int64, never copied. An algorithm is written once; Numba specialises it for the storage.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from maxmargin.compiled import holds
from maxmargin.prefetch import prefetch


class Dense(NamedTuple):
    """Rows of a C-contiguous matrix."""

    values: np.ndarray


class Csr(NamedTuple):
    """Sparse rows: row i holds values[indptr[i]:indptr[i+1]] at columns indices[...], increasing, of `d` columns."""

    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    d: int


Rows = Dense | Csr

LINE = 64  # bytes that memory hands out at once
AHEAD = 16  # lines of a dense row: the processor itself goes on from there

SUMS_MAY_REORDER = {"fastmath": {"reassoc", "contract"}, "error_model": "numpy"}


def dot(rows: Any, i: int, w: Any) -> float:
    """⟨x_i, w⟩, in compiled code."""
    raise NotImplementedError("dot works inside compiled functions only")


def axpy(rows: Any, i: int, a: float, w: Any) -> None:
    """W += a x_i, in compiled code."""
    raise NotImplementedError("axpy works inside compiled functions only")


def inner(rows: Any, i: int, j: int) -> float:
    """⟨x_i, x_j⟩, in compiled code."""
    raise NotImplementedError("inner works inside compiled functions only")


def square(rows: Any, i: int) -> float:
    """‖x_i‖², in compiled code."""
    raise NotImplementedError("square works inside compiled functions only")


def announce(rows: Any, i: int) -> None:
    """Hint that row i will be fetched soon, in compiled code."""
    raise NotImplementedError("announce works inside compiled functions only")


def fetch(rows: Any, i: int) -> None:
    """Hint that row i will be visited soon, in compiled code."""
    raise NotImplementedError("fetch works inside compiled functions only")


def span(rows: Any, i: int) -> tuple[int, int]:
    """The places of what row i stores, in compiled code."""
    raise NotImplementedError("span works inside compiled functions only")


def feature(rows: Any, i: int, p: int) -> int:
    """The column of the value at place p of row i, in compiled code."""
    raise NotImplementedError("feature works inside compiled functions only")


def entry(rows: Any, i: int, p: int) -> float:
    """The value at place p of row i, in compiled code."""
    raise NotImplementedError("entry works inside compiled functions only")


@overload(dot, jit_options=SUMS_MAY_REORDER)
def _dot(rows, i, w):
    if holds(rows, Dense):

        def dense(rows, i, w):
            x = rows.values[i]
            total = 0.0
            for k in range(x.size):
                total += x[k] * w[k]
            return total

        return dense

    def csr(rows, i, w):  # four sums beside each other: each would wait for its own last addition
        k, stop = rows.indptr[i], rows.indptr[i + 1]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        while k + 3 < stop:
            a += rows.values[k] * w[np.uintp(rows.indices[k])]
            b += rows.values[k + 1] * w[np.uintp(rows.indices[k + 1])]
            c += rows.values[k + 2] * w[np.uintp(rows.indices[k + 2])]
            d += rows.values[k + 3] * w[np.uintp(rows.indices[k + 3])]
            k += 4
        while k < stop:
            a += rows.values[k] * w[np.uintp(rows.indices[k])]
            k += 1
        return (a + b) + (c + d)

    return csr


@overload(axpy, jit_options=SUMS_MAY_REORDER)
def _axpy(rows, i, a, w):
    if holds(rows, Dense):

        def dense(rows, i, a, w):
            x = rows.values[i]
            for k in range(x.size):
                w[k] += a * x[k]

        return dense

    def csr(rows, i, a, w):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            w[np.uintp(rows.indices[k])] += a * rows.values[k]

    return csr


@overload(inner, jit_options=SUMS_MAY_REORDER)
def _inner(rows, i, j):
    if holds(rows, Dense):

        def dense(rows, i, j):
            x, z = rows.values[i], rows.values[j]
            total = 0.0
            for k in range(x.size):
                total += np.float64(x[k]) * z[k]
            return total

        return dense

    def csr(rows, i, j):
        total = 0.0
        p, p_end = rows.indptr[i], rows.indptr[i + 1]
        q, q_end = rows.indptr[j], rows.indptr[j + 1]
        while p < p_end and q < q_end:
            a, b = rows.indices[p], rows.indices[q]
            if a == b:
                total += np.float64(rows.values[p]) * rows.values[q]
            p += a <= b
            q += b <= a
        return total

    return csr


@overload(square, jit_options=SUMS_MAY_REORDER)
def _square(rows, i):
    if holds(rows, Dense):

        def dense(rows, i):
            x = rows.values[i]
            total = 0.0
            for k in range(x.size):
                total += np.float64(x[k]) * x[k]
            return total

        return dense

    def csr(rows, i):
        total = 0.0
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            total += np.float64(rows.values[k]) * rows.values[k]
        return total

    return csr


@overload(announce)
def _announce(rows, i):
    if holds(rows, Dense):
        return lambda rows, i: None
    return lambda rows, i: prefetch(rows.indptr, i)


@overload(fetch)
def _fetch(rows, i):
    if holds(rows, Dense):

        def dense(rows, i):
            x = rows.values[i]
            for k in range(0, min(x.size, AHEAD * LINE // x.itemsize), LINE // x.itemsize):
                prefetch(x, k)

        return dense

    def csr(rows, i):
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        for k in range(start, stop, LINE // rows.values.itemsize):
            prefetch(rows.values, k)
        for k in range(start, stop, LINE // rows.indices.itemsize):
            prefetch(rows.indices, k)

    return csr


@overload(span)
def _span(rows, i):
    if holds(rows, Dense):
        return lambda rows, i: (0, rows.values.shape[1])
    return lambda rows, i: (rows.indptr[i], rows.indptr[i + 1])


@overload(feature)
def _feature(rows, i, p):
    if holds(rows, Dense):
        return lambda rows, i, p: p
    return lambda rows, i, p: rows.indices[p]


@overload(entry)
def _entry(rows, i, p):
    if holds(rows, Dense):
        return lambda rows, i, p: rows.values[i, p]
    return lambda rows, i, p: rows.values[p]


def count_rows(rows: Rows) -> int:
    """How many rows."""
    return len(rows.values) if isinstance(rows, Dense) else len(rows.indptr) - 1


def count_columns(rows: Rows) -> int:
    """How many columns."""
    return rows.values.shape[1] if isinstance(rows, Dense) else rows.d


def count_stored(rows: Rows) -> int:
    """How many values are stored."""
    return int(rows.values.size)


def row_length(rows: Rows) -> float:
    """How many values a row stores, on average."""
    return count_stored(rows) / max(count_rows(rows), 1)
