"""The weighted Gram matrix of the columns, XᵀDX, for what needs second derivatives."""

from __future__ import annotations

import numpy as np

from maxmargin.compiled import compiled
from maxmargin.rows.memory import Dense, Rows, count_rows


def weighted_gram(rows: Rows, d: int, weights: np.ndarray, out: np.ndarray) -> None:
    """Add Σ weight_i x_i x_iᵀ to out[:d, :d]: by BLAS for dense rows, by outer products for sparse ones."""
    if isinstance(rows, Dense):
        block = max(1, 2**22 // max(d, 1))
        for start in range(0, count_rows(rows), block):
            X = rows.values[start : start + block].astype(np.float64, copy=False)
            out[:d, :d] += X.T @ (X * weights[start : start + block, None])
    else:
        _outer_products(rows, weights, out)


@compiled
def _outer_products(rows, weights, out):
    for i in range(weights.size):
        if weights[i] != 0.0:
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                a = weights[i] * rows.values[p]
                for q in range(rows.indptr[i], rows.indptr[i + 1]):
                    out[rows.indices[p], rows.indices[q]] += a * rows.values[q]
