"""Examples in the form that kernels need: many as rows, dense or sparse, and few as the columns of an array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.passes import squared_norms
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows, count_stored, part_of_rows, row_length
from maxmargin.data.rows import matrix_of as rows_as_matrix
from maxmargin.data.take import read_only
from maxmargin.system.buffers import room
from maxmargin.system.compiled import compiled

SPARSE_FROM = 4  # Columns for each nonzero value: with fewer, dense products are faster.
NUMBERS_AT_ONCE = 1 << 22  # Numbers of a block of examples in `parts_of`: 32 MB.
LEAST_EXAMPLES = 4096  # Fewest examples in such a block, even if they are long.


@dataclass(frozen=True, eq=False)
class Points:
    """Examples, their squared norms, and their row numbers in the training data."""

    rows: Rows
    squares: np.ndarray
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def pick(self, chosen: np.ndarray) -> Points:
        """Return the chosen examples, in that order."""
        return Points(pick(self.rows, chosen), self.squares[chosen], self.places[chosen])

    def part(self, part: slice) -> Points:
        """Return a slice of the examples, without a copy."""
        return Points(part_of_rows(self.rows, part.start, part.stop), self.squares[part], self.places[part])


class Few(NamedTuple):
    """Some points, also stored as the columns of an array."""

    points: Points
    columns: np.ndarray


def points_of(
    rows: Rows,
    chosen: np.ndarray | None = None,
    *,
    dtype: type = np.float64,
    threads: int = 1,
    as_given: bool = False,
    dense: bool = False,
) -> Points:
    """Return the chosen rows, or all, as points.

    With `as_given` the rows are not changed. Otherwise they are converted to `dtype`, and to dense or sparse storage,
    whichever is faster. With `dense`, an array is not converted to sparse rows.
    """
    places = np.arange(count_rows(rows)) if chosen is None else chosen
    part = rows if chosen is None else pick(rows, chosen)
    squares = squared_norms(part, threads)
    if as_given:
        return Points(part, squares, places)
    values = count_stored(part) if isinstance(part, Csr) else np.count_nonzero(part.values)
    sparse = values * SPARSE_FROM < count_rows(part) * count_columns(part)
    if isinstance(part, Csr) and not sparse:
        part = Dense(read_only(columns_of(part, dtype).T.copy()))
    if isinstance(part, Dense) and sparse and not dense:
        part = sparse_rows(part.values)
    return Points(part._replace(values=read_only(part.values.astype(dtype, copy=False))), squares, places)


def parts_of(rows: Rows, threads: int = 1, *, as_given: bool = False) -> Iterator[tuple[slice, Points]]:
    """Yield all rows as points in float64, in blocks, to limit the memory."""
    n = count_rows(rows)
    step = max(LEAST_EXAMPLES, int(NUMBERS_AT_ONCE / max(row_length(rows), 1.0)))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        found = points_of(part_of_rows(rows, part.start, part.stop), threads=threads, as_given=as_given)
        yield part, Points(found.rows, found.squares, np.arange(part.start, part.stop))


def centred(points: Points, dtype: type = np.float64, threads: int = 1) -> Points:
    """Subtract the mean of dense points, which keeps distances and reduces rounding. Sparse points are not moved."""
    rows = points.rows
    if isinstance(rows, Csr):
        return Points(rows._replace(values=read_only(rows.values.astype(dtype))), points.squares, points.places)
    moved = Dense(read_only((rows.values - np.mean(rows.values, axis=0, dtype=np.float64)).astype(dtype)))
    return Points(moved, squared_norms(moved, threads), points.places)


def dense_points(values: np.ndarray) -> Points:
    """Return the rows of an array as points, without their norms, for functions of inner products alone."""
    return Points(Dense(values), np.zeros(len(values)), np.arange(len(values)))


def no_points(places: np.ndarray) -> Points:
    """Return points without features; only their row numbers matter (precomputed kernels)."""
    return Points(Dense(np.zeros((len(places), 0))), np.zeros(len(places)), places)


def few_of(points: Points, apart: bool = False) -> Few:
    """Return points as columns, valid until the next call in this thread; contiguous if `apart`, for sparse rows."""
    rows = points.rows
    if isinstance(rows, Dense):
        return Few(points, np.ascontiguousarray(rows.values.T) if apart else rows.values.T)
    columns = room("points as columns", (count_columns(rows), count_rows(rows)), rows.values.dtype)
    columns.fill(0.0)
    scatter(rows.values, rows.indices, rows.indptr, columns)
    return Few(points, columns)


def sparse_rows(values: np.ndarray) -> Csr:
    """Return the nonzero values of an array as sparse rows."""
    held = values != 0.0
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(held, axis=1))])
    return Csr(read_only(values[held]), read_only(np.nonzero(held)[1].astype(np.int32)), indptr, values.shape[1])


def columns_of(rows: Rows, dtype: Any) -> np.ndarray:
    """Return rows as the columns of an array."""
    if isinstance(rows, Dense):
        return np.ascontiguousarray(rows.values.T, dtype=dtype)
    columns = np.zeros((count_columns(rows), count_rows(rows)), dtype)
    scatter(rows.values, rows.indices, rows.indptr, columns)
    return columns


def matrix_of(rows: Rows) -> Any:
    """Return rows for scikit-learn and for users' functions, which may expect the operators of a csr_matrix."""
    return rows_as_matrix(rows, "csr_matrix")


def products(many: Points, few: Few, out: np.ndarray) -> None:
    """Write ⟨x, z⟩ for every x of many and z of few to `out`."""
    rows = many.rows
    if isinstance(rows, Dense):
        np.matmul(rows.values, few.columns, out=out)
    else:
        sparse_products(rows.values, rows.indices, rows.indptr, few.columns, out)


@compiled
def scatter(values, indices, indptr, columns):
    """Write each sparse row into its column."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            columns[indices[p], i] = values[p]


@compiled
def sparse_products(values, indices, indptr, columns, out):
    """Multiply each sparse row by all columns, two values of the row at a time."""
    for i in range(out.shape[0]):
        line = out[i]
        line[:] = 0
        p, stop = indptr[i], indptr[i + 1]
        while p + 2 <= stop:
            a, b = values[p], values[p + 1]
            x, z = columns[np.uintp(indices[p])], columns[np.uintp(indices[p + 1])]
            for k in range(line.size):
                line[k] += a * x[k] + b * z[k]
            p += 2
        if p < stop:
            a, x = values[p], columns[np.uintp(indices[p])]
            for k in range(line.size):
                line[k] += a * x[k]
