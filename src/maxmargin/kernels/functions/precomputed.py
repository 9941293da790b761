"""A kernel matrix given by the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.errors import DataError
from maxmargin.kernels.points import Few, Points, matrix_of

BLOCK = 256  # rows compared with their columns at once
SYMMETRY = 1e-6  # relative tolerance: allows for rounding errors of matrices computed in float32


@dataclass(frozen=True)
class Precomputed:
    """K(x, z) is the entry of row x in the column of the training example z."""

    name: ClassVar[str] = "precomputed"
    by_products: ClassVar[bool] = False
    definite: ClassVar[bool | None] = None

    @staticmethod
    def check_rows(rows: Rows) -> None:
        """Raise DataError if the matrix is not square and symmetric."""
        check_square(rows)

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Look up the columns of `few`."""
        found = matrix_of(many.rows)[:, few.points.places]
        out[...] = found.toarray() if hasattr(found, "toarray") else found

    def diagonal(self, A: Points) -> np.ndarray:
        """Look up the diagonal."""
        found = matrix_of(A.rows)[np.arange(len(A)), A.places]
        return np.asarray(found, dtype=np.float64).reshape(-1)

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """Return 0: the given matrix is taken as exact."""
        return np.zeros_like(x)


def check_square(rows: Rows) -> None:
    """Raise DataError if a precomputed kernel is not square and symmetric."""
    n, d = count_rows(rows), count_columns(rows)
    if n != d:
        raise DataError(f"the precomputed kernel has shape ({n}, {d}): it must be square, a column for each row")
    K = matrix_of(rows)
    sizes = np.sqrt(np.abs(np.asarray(K.diagonal())))
    for start in range(0, n, BLOCK):
        lines, columns = K[start : start + BLOCK], K[:, start : start + BLOCK].T
        if hasattr(K, "toarray"):
            lines, columns = lines.toarray(), columns.toarray()
        size = np.maximum(np.maximum(np.abs(lines), np.abs(columns)), np.outer(sizes[start : start + BLOCK], sizes))
        wrong = np.abs(lines - columns) > SYMMETRY * size
        if wrong.any():
            i, j = (int(place[0]) for place in np.nonzero(wrong))
            i += start
            raise DataError(
                f"the precomputed kernel is not symmetric: K[{i}, {j}] is {K[i, j]:g}, K[{j}, {i}] is {K[j, i]:g}"
            )
