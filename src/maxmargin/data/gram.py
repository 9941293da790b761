"""The weighted Gram matrix of the columns, XᵀDX, optionally with a constant column: the Hessian of a problem."""

from __future__ import annotations

import numpy as np

from maxmargin.data.rows import Dense, Rows, axpy, count_stored, row_length
from maxmargin.system.buffers import room, scratch
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

PARTS = 4  # Separate sums for parallel work. The number is fixed, so the result does not depend on the threads.
# The work is divided into parts only if it is larger than both of these.
LEAST_PRODUCTS_PER_ENTRY = 16  # Products for each entry of such a sum: with fewer, adding the sums would dominate.
LEAST_PRODUCTS = 1 << 20  # Products in all, about a millisecond.
# Stored part of sparse rows from which on BLAS on dense copies of them is faster: 0.25 to 1.3 times as fast on mnist,
# covtype, dna.scale, mushrooms (0.19 to 0.25), 1.7 to 22 times on usps, ijcnn1, letter, madelon (0.41 to 1).
DENSE_ENOUGH = 0.35
CACHED_BLOCK = 1 << 17  # Numbers in a block of rows: 1 MB stays in a core's cache. A block has at least d rows.


def weighted_gram(rows: Rows, d: int, weights: np.ndarray, out: np.ndarray, threads: int = 1) -> None:
    """Add Σ weight_i z_i z_iᵀ, weight_i ≥ 0, to the lower triangle of `out`: by BLAS, or row by row if rows are sparse.

    z_i is x_i, or (x_i, 1) if `out` has d + 1 rows.
    """
    parts = (
        PARTS
        if count_stored(rows) * row_length(rows) > max(LEAST_PRODUCTS, LEAST_PRODUCTS_PER_ENTRY * PARTS * d * d)
        else 1
    )
    add_products = by_blocks if suits_blas(rows, d) else _outer_products
    if parts == 1:
        add_products(rows, d, weights, 0, len(weights), out)
        return
    sums, ends = scratch("sums of outer products", (parts, *out.shape)), np.linspace(0, len(weights), parts + 1)

    def add(part: int) -> None:
        add_products(rows, d, weights, int(ends[part]), int(ends[part + 1]), sums[part])

    on_threads(threads, add, range(parts))
    for total in sums:
        out += total


def suits_blas(rows: Rows, d: int) -> bool:
    """Whether BLAS on dense copies of the rows is faster than products of stored values."""
    return isinstance(rows, Dense) or row_length(rows) > DENSE_ENOUGH * d


def by_blocks(rows: Rows, d: int, weights: np.ndarray, start: int, stop: int, total: np.ndarray) -> None:
    """Add BᵀB to `total` for blocks B of rows √weight z. Rows with weight 0 are skipped."""
    size = len(total)
    block = room("rows times the roots of their weights", (max(size, CACHED_BLOCK // size), size), total.dtype)
    product = room("product of a block with itself", total.shape, total.dtype)
    while start < stop:
        start, filled = _weigh(rows, d, weights, start, stop, block)
        total += np.matmul(block[:filled].T, block[:filled], out=product)  # NumPy calls the symmetric product of BLAS


@compiled
def _weigh(rows, d, weights, start, stop, block):
    """Fill the block with rows times the roots of their weights; return the next row and the number filled."""
    filled = 0
    while start < stop and filled < block.shape[0]:
        if weights[start] != 0.0:
            root = np.sqrt(weights[start])
            block[filled, :d] = 0.0
            axpy(rows, start, root, block[filled, :d])
            block[filled, d:] = root
            filled += 1
        start += 1
    return start, filled


@compiled
def _outer_products(rows, d, weights, start, stop, total):
    for i in range(start, stop):
        if weights[i] != 0.0:
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                a, line = weights[i] * rows.values[p], total[np.uintp(rows.indices[p])]
                for q in range(rows.indptr[i], p + 1):
                    line[np.uintp(rows.indices[q])] += a * rows.values[q]
            if total.shape[0] > d:
                last = total[d]
                for p in range(rows.indptr[i], rows.indptr[i + 1]):
                    last[np.uintp(rows.indices[p])] += weights[i] * rows.values[p]
                last[d] += weights[i]
