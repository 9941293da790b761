"""Kernels of many examples against many, tile by tile, on all threads.

A tile is small enough to stay in a core's cache from its products to its last function, and each thread multiplies its
own tiles, so BLAS itself is held to one thread meanwhile. Some of the many stand beside each other as the columns of an
array, and the few pass them as rows. Where sparse examples are too wide to be written out, it is the other way round,
and a user's function is called for large tiles, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.rows import Csr, count_columns
from maxmargin.kernels.functions import Custom, Kernel
from maxmargin.kernels.points import Few, Points, few_of
from maxmargin.system.buffers import room
from maxmargin.system.threads import blas_on_one_thread, on_threads

MANY = 1024  # lines or columns of a tile
FEW = 128  # the other way
EACH = 50  # what a value of the kernel costs beside its product, in features,
SMALL = 1 << 24  # and how much of this is not worth a second thread
NARROW = 2048  # features of sparse examples that are written out
WIDE = 1 << 25  # numbers of few examples as columns
LARGE = 1 << 24  # numbers of a tile for a user's function

NO_COLUMNS = np.zeros((0, 0))

Work = Callable[[slice, slice, np.ndarray], None]


def rows_of_kernel(
    kernel: Kernel, few: Points, many: Points, out: np.ndarray, threads: int = 1, places: np.ndarray | None = None
) -> None:
    """K(z, x) for every z of few, a line each, and x of many, into the lines of `out`, or into those at `places`."""
    to = np.arange(len(few)) if places is None else places

    def put(lines: slice, columns: slice, tile: np.ndarray) -> None:
        out[to[lines], columns] = tile

    each_tile(kernel, few, many, out.dtype, threads, put)


def combination(kernel: Kernel, many: Points, few: Points, coefficients: np.ndarray, threads: int = 1) -> np.ndarray:
    """Σ_z K(x, z) coefficient_z for every x of many, a column for each column of coefficients, in float64."""
    total = np.zeros((len(many), coefficients.shape[1]))

    def add(lines: slice, columns: slice, tile: np.ndarray) -> None:
        total[columns] += tile.T @ coefficients[lines]

    each_tile(kernel, few, many, total.dtype, threads, add)
    return total


def additions(kernel: Kernel, count: int) -> int:
    """How many additions a term of `combination` over so many z meets at most on its way into the sum."""
    return count if isinstance(kernel, Custom) else min(count, FEW) + -(-count // FEW)


def each_tile(kernel: Kernel, few: Points, many: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Call work(lines, columns, tile) for all tiles, few as lines, many as columns: no columns twice at once."""
    wide = isinstance(many.rows, Csr) and count_columns(many.rows) > NARROW
    way = many_beside if kernel.by_products and not wide else few_beside
    way(kernel, few, many, dtype, threads, work)


def many_beside(kernel: Kernel, few: Points, many: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Many as the columns of an array, a thousand at a time, which few pass."""
    if len(few) * len(many) * (count_columns(many.rows) + EACH) < SMALL:
        threads = 1
    height, width = even(len(few), FEW), even(len(many), MANY)  # whatever the threads are: no bit depends on them

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
    """How large parts are, if all are equal and none is larger than `most`."""
    return max(1, -(-size // max(-(-size // most), 1)))


def few_beside(kernel: Kernel, few: Points, many: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Few as the columns of an array, which many pass: tiles are computed the other way round, and turned."""
    large = isinstance(kernel, Custom)
    width = len(few) if large else max(1, min(FEW, WIDE // max(count_columns(few.rows), 1)))
    height = max(1, LARGE // max(width, 1)) if large else MANY
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
