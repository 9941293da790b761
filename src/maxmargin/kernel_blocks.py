"""Kernels of many examples against many, tile by tile, on all threads.

A tile is small enough to stay in a core's cache from its products to its last function, and each thread multiplies its
own tiles, so BLAS itself is held to one thread meanwhile. A user's function is called for large tiles, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.cores import blas_on_one_thread, on_threads
from maxmargin.kernels import Custom, Kernel
from maxmargin.points import Few, Points, few_of
from maxmargin.rows.memory import count_columns
from maxmargin.scratch import room

MANY = 1024  # lines of a tile
FEW = 128  # its columns
WIDE = 1 << 25  # numbers of few examples as columns
LARGE = 1 << 24  # numbers of a tile for a user's function

NO_COLUMNS = np.zeros((0, 0))

Work = Callable[[slice, slice, np.ndarray], None]


def rows_of_kernel(kernel: Kernel, few: Points, many: Points, out: np.ndarray, threads: int = 1) -> None:
    """K(z, x) for every z of few, a line each, and x of many, into `out`."""

    def put(lines: slice, columns: slice, tile: np.ndarray) -> None:
        out[columns, lines] = tile.T

    each_tile(kernel, many, few, out.dtype, threads, put)


def combination(kernel: Kernel, many: Points, few: Points, coefficients: np.ndarray, threads: int = 1) -> np.ndarray:
    """Σ_z K(x, z) coefficient_z for every x of many, a column for each column of coefficients, in float64."""
    total = np.zeros((len(many), coefficients.shape[1]))

    def add(lines: slice, columns: slice, tile: np.ndarray) -> None:
        total[lines] += tile @ coefficients[columns]

    each_tile(kernel, many, few, np.dtype(np.float64), threads, add)
    return total


def each_tile(kernel: Kernel, many: Points, few: Points, dtype: np.dtype, threads: int, work: Work) -> None:
    """Call work(lines, columns, tile) for all tiles: those of the same columns together, no lines twice at once."""
    large = isinstance(kernel, Custom)
    width = len(few) if large else max(1, min(FEW, WIDE // max(count_columns(few.rows), 1)))
    height = max(1, LARGE // max(width, 1)) if large else MANY
    with blas_on_one_thread:
        for start in range(0, len(few), max(width, 1)):
            columns = slice(start, min(start + width, len(few)))
            part = few_of(few.part(columns)) if kernel.by_products else Few(few.part(columns), NO_COLUMNS)

            def fill(first: int, columns: slice = columns, part: Few = part) -> None:
                lines = slice(first, min(first + height, len(many)))
                tile = room("tile of a kernel", (lines.stop - first, columns.stop - columns.start), dtype)
                kernel.fill(many.part(lines), part, tile)
                work(lines, columns, tile)

            on_threads(1 if large else threads, fill, range(0, len(many), height))
