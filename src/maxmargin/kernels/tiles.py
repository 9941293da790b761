"""Kernel matrices between two sets of examples, computed in tiles on all threads.

A tile stays in the cache of a core from the products to the kernel function. Each thread computes its own tiles, so
BLAS is limited to one thread. Usually a strip of `many` forms the columns of an array, and the rows of `few` are
multiplied by it. If sparse examples are too wide to be stored densely, the roles are exchanged. A user's callable is
called with large tiles, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.rows import Csr, count_columns
from maxmargin.kernels.functions import Custom, Kernel
from maxmargin.kernels.points import Few, Points, few_of
from maxmargin.system.buffers import room
from maxmargin.system.threads import blas_on_one_thread, on_threads

# Sizes of a tile: 1 MB in float64, which stays in the cache of a core.
MANY_PER_TILE = 1024  # Examples of `many`.
FEW_PER_TILE = 128  # Examples of `few`.
FUNCTION_COST = 50  # Cost of the kernel function of one value, in features of its product.
ONE_THREAD_WORK = 1 << 24  # Products and functions, in features: less work is not worth a second thread.
MOST_DENSE_FEATURES = 2048  # Sparse examples with no more features are stored densely.
MOST_COLUMNS = 1 << 25  # Numbers of `few` stored as columns: 256 MB in float64.
SYMMETRIC_BLOCK = 256  # Examples of a block of a symmetric matrix; smaller matrices are computed at once.
CALLABLE_TILE = 1 << 24  # Numbers of a tile for a user's callable: few calls matter more than the cache.

NO_COLUMNS = np.zeros((0, 0))

Work = Callable[[slice, slice, np.ndarray], None]


def rows_of_kernel(
    kernel: Kernel, few: Points, many: Points, out: np.ndarray, threads: int = 1, places: np.ndarray | None = None
) -> None:
    """Write K(z, x) for every z of few (a row) and x of many (a column) to the rows of `out`, or to rows `places`."""
    to = np.arange(len(few)) if places is None else places

    def put(lines: slice, columns: slice, tile: np.ndarray) -> None:
        out[to[lines], columns] = tile

    each_tile(kernel, few, many, out.dtype, threads, put)


def combination(kernel: Kernel, many: Points, few: Points, coefficients: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return Σ_z K(x, z) coefficient_z for every x of many and each column of coefficients, in float64."""
    total = np.zeros((len(many), coefficients.shape[1]))

    def add(lines: slice, columns: slice, tile: np.ndarray) -> None:
        total[columns] += tile.T @ coefficients[lines]

    each_tile(kernel, few, many, total.dtype, threads, add)
    return total


def symmetric_matrix(kernel: Kernel, points: Points, threads: int = 1) -> np.ndarray:
    """Return K(x, z) of all pairs of dense points, in float64. Blocks below the diagonal are copies of those above."""
    n = len(points)
    K = np.empty((n, n))

    def fill(start: int) -> None:
        stop = min(start + SYMMETRIC_BLOCK, n)
        block = room("block of a kernel", (stop - start, n - start), K.dtype)
        kernel.fill(points.part(slice(start, stop)), few_of(points.part(slice(start, n))), block)
        K[start:stop, start:] = block
        K[stop:, start:stop] = block[:, stop - start :].T

    if n <= SYMMETRIC_BLOCK:
        kernel.fill(points, few_of(points), K)
    else:
        with blas_on_one_thread:
            on_threads(threads, fill, range(0, n, SYMMETRIC_BLOCK))
    return K


def additions(kernel: Kernel, count: int) -> int:
    """Return the most additions that a term takes part in in `combination` over `count` examples z."""
    return count if isinstance(kernel, Custom) else min(count, FEW_PER_TILE) + -(-count // FEW_PER_TILE)


def each_tile(kernel: Kernel, few: Points, many: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Call work(lines, columns, tile) for all tiles, with few as rows and many as columns.

    No two threads work on the same columns at once.
    """
    wide = isinstance(many.rows, Csr) and count_columns(many.rows) > MOST_DENSE_FEATURES
    way = many_beside if kernel.by_products and not wide else few_beside
    way(kernel, few, many, dtype, threads, work)


def many_beside(kernel: Kernel, few: Points, many: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Compute tiles with `many` as the columns of an array, one strip for each task."""
    if len(few) * len(many) * (count_columns(many.rows) + FUNCTION_COST) < ONE_THREAD_WORK:
        threads = 1
    height, width = (
        even(len(few), FEW_PER_TILE),
        even(len(many), MANY_PER_TILE),
    )  # independent of the number of threads, so that the result is too

    every = [slice(start, min(start + height, len(few))) for start in range(0, len(few), height)]
    parts = [(lines, few.part(lines)) for lines in every]

    def strip(first: int) -> None:
        columns = slice(first, min(first + width, len(many)))
        beside = few_of(many.part(columns), isinstance(few.rows, Csr))
        for lines, some in parts:
            tile = room("tile of a kernel", (len(some), columns.stop - first), dtype)
            kernel.fill(some, beside, tile)
            work(lines, columns, tile)

    with blas_on_one_thread:
        on_threads(threads, strip, range(0, len(many), width))


def even(size: int, most: int) -> int:
    """Return the size of equal parts that are not larger than `most`."""
    return max(1, -(-size // max(-(-size // most), 1)))


def few_beside(kernel: Kernel, few: Points, many: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Compute transposed tiles, with `few` as the columns of an array."""
    large = isinstance(kernel, Custom)
    width = len(few) if large else max(1, min(FEW_PER_TILE, MOST_COLUMNS // max(count_columns(few.rows), 1)))
    height = max(1, CALLABLE_TILE // max(width, 1)) if large else MANY_PER_TILE
    with blas_on_one_thread:
        for start in range(0, len(few), max(width, 1)):
            columns = slice(start, min(start + width, len(few)))
            apart = isinstance(many.rows, Csr)
            part = few_of(few.part(columns), apart) if kernel.by_products else Few(few.part(columns), NO_COLUMNS)

            def fill(first: int, columns: slice = columns, part: Few = part) -> None:
                lines = slice(first, min(first + height, len(many)))
                tile = room("tile of a kernel", (lines.stop - first, columns.stop - columns.start), dtype)
                kernel.fill(many.part(lines), part, tile)
                work(columns, lines, tile.T)

            on_threads(1 if large else threads, fill, range(0, len(many), height))
