"""Conversion of the caller's matrix to rows, without a copy if possible, after a check of every value.

float32 and float64 values, int32 and int64 indices, read-only and memory-mapped arrays are used without a copy. Only
data that compiled code cannot read are converted: other number types to float64, column-major matrices to row-major,
other sparse formats to CSR, sparse rows with repeated or unsorted columns to sorted ones.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from maxmargin.data.frames import frame_values, is_frame
from maxmargin.data.rows import Csr, Dense, Rows
from maxmargin.errors import DataError

CHECKED_AT_ONCE = 1 << 20  # Values: their mask takes 1 MB.


def take(X: Any, name: str = "X") -> Rows:
    """Return the rows of `X`, validated: finite values, increasing columns in range. `Rows` are not checked again."""
    rows = take_unseen(X, name)
    if not isinstance(X, (Dense, Csr)):
        check_finite(rows, name)
    return rows


def take_unseen(X: Any, name: str = "X") -> Rows:
    """Like `take`, but without the check for finite values, for callers that visit all values anyway."""
    if isinstance(X, Dense):
        return Dense(read_only(X.values))
    if isinstance(X, Csr):
        return Csr(read_only(X.values), read_only(X.indices), read_only(X.indptr), X.d)
    if is_frame(X):
        X = frame_values(X, name)
    return take_sparse(X, name) if is_sparse(X) else take_dense(X, name)


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix. scipy.sparse is not imported for this, because that is slow."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def take_dense(X: Any, name: str) -> Dense:
    """Return the rows of an array, a memory map or a list of lists."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataError(f"{name} is a masked array: fill or drop what is masked first")
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise DataError(f"{name} is not a matrix: its rows must all be of the same length ({error})") from error
    if values.ndim != 2:
        raise DataError(f"{name} has {values.ndim} dimension(s), needs 2: one row for each example")
    return Dense(read_only(np.ascontiguousarray(as_float(values, name))))


def take_sparse(X: Any, name: str) -> Csr:
    """Return the rows of a SciPy sparse matrix or array."""
    from scipy import sparse

    X = X.tocsr()
    if X.ndim != 2:
        raise DataError(f"{name} has {X.ndim} dimension(s), needs 2: one row for each example")
    shell = sparse.csr_array(X.shape, dtype=X.dtype)  # SciPy's check may prune arrays, so it gets a copy of the shell
    shell.data, shell.indices, shell.indptr = X.data, X.indices, X.indptr
    try:
        shell.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{name} is not a valid CSR matrix: {error}") from error
    if not shell.has_canonical_format:
        shell = shell.copy()
        shell.sum_duplicates()
    values = as_float(shell.data[: shell.indptr[-1]], name)
    return Csr(read_only(values), read_only(shell.indices), read_only(shell.indptr), X.shape[1])


def as_float(values: np.ndarray, name: str) -> np.ndarray:
    """Return float32 and float64 values unchanged, others converted to float64."""
    if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
        return values
    if values.dtype.kind == "c":
        raise DataError(f"{name} holds complex data, type {values.dtype}. Complex data not supported: take real parts")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} holds values of type {values.dtype} that are not numbers ({error}): encode them"
        ) from error


def check_finite(rows: Rows, name: str = "X") -> None:
    """Raise if a value is NaN or infinite, and say where."""
    values = rows.values.reshape(-1)
    fault = first_not_finite(values)
    if fault < 0:
        return
    if isinstance(rows, Dense):
        row, column = divmod(fault, rows.values.shape[1])
    else:
        row, column = int(np.searchsorted(rows.indptr, fault, side="right")) - 1, int(rows.indices[fault])
    raise not_finite(name, row, column, values[fault])


def first_not_finite(values: np.ndarray) -> int:
    """Return the position of the first NaN or infinity, or −1. Works in blocks to avoid a large mask."""
    for start in range(0, len(values), CHECKED_AT_ONCE):
        finite = np.isfinite(values[start : start + CHECKED_AT_ONCE])
        if not finite.all():
            return start + int(np.argmin(finite))
    return -1


def not_finite(name: str, row: int, column: int, value: float) -> DataError:
    """Return the error for a value that is not finite. scikit-learn's checks require "NaN" and "inf" in the text."""
    what = "NaN" if np.isnan(value) else "inf"
    return DataError(
        f"{name}: row {row}, column {column} (counted from 0) is {what}: replace or drop such values first"
    )


def read_only(values: np.ndarray) -> np.ndarray:
    """Return a read-only view, so that writable, read-only and memory-mapped arrays share compiled code."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
