"""The weighted Gram matrix of the columns, XᵀDX, with a constant one beside them if need be: second derivatives."""

from __future__ import annotations

import numpy as np

from maxmargin.compiled import compiled
from maxmargin.cores import on_threads
from maxmargin.rows.memory import Dense, Rows, count_rows, count_stored, row_length
from maxmargin.scratch import scratch

PARTS = 4  # sums of their own, however many threads there are, so that the result does not depend on these
WORTH = 16  # products for each number of such a sum


def weighted_gram(rows: Rows, d: int, weights: np.ndarray, out: np.ndarray, threads: int = 1) -> None:
    """Add Σ weight_i z_i z_iᵀ, weight_i ≥ 0, to the lower half of `out`: by BLAS if dense, else by parts.

    z_i is x_i, or (x_i, 1) if `out` is one larger than the d features.
    """
    if len(out) > d:
        out[d, d] += np.sum(weights)
    if isinstance(rows, Dense):
        block = max(1, 2**22 // max(d, 1))
        for start in range(0, count_rows(rows), block):
            h = weights[start : start + block]
            some = np.flatnonzero(h)
            X = rows.values[start : start + block]
            roots = np.sqrt(h[some])
            X = roots[:, None] * (X if len(some) == len(h) else X[some])
            out[:d, :d] += X.T @ X  # which BLAS knows to be symmetric
            out[d:, :d] += roots @ X
        return
    parts = PARTS if count_stored(rows) * row_length(rows) > WORTH * PARTS * d * d else 1
    sums, ends = scratch("sums of outer products", (parts, len(out), d)), np.linspace(0, len(weights), parts + 1)

    def add(part: int) -> None:
        _outer_products(rows, weights, int(ends[part]), int(ends[part + 1]), sums[part])

    on_threads(threads, add, range(parts))
    for lower in sums:
        out[:, :d] += lower


@compiled
def _outer_products(rows, weights, start, stop, lower):
    with_constant, last = lower.shape[0] > lower.shape[1], lower[-1]
    for i in range(start, stop):
        if weights[i] != 0.0:
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                a, line = weights[i] * rows.values[p], lower[np.uintp(rows.indices[p])]
                for q in range(rows.indptr[i], p + 1):
                    line[np.uintp(rows.indices[q])] += a * rows.values[q]
            if with_constant:
                for p in range(rows.indptr[i], rows.indptr[i + 1]):
                    last[np.uintp(rows.indices[p])] += weights[i] * rows.values[p]
