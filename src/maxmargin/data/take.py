"""Take the caller's matrix as rows: where it lies, in the type it has, after one look at every value.

float32 and float64 values, int32 and int64 indices, read-only and memory-mapped arrays are used as they are. What
compiled code cannot walk is converted, and only that: other number types to float64, column-major matrices to
row-major, other sparse formats to CSR, sparse rows that repeat or shuffle their columns to sorted ones.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows
from maxmargin.errors import DataError

BLOCK = 1 << 20


def take(X: Any, name: str = "X") -> Rows:
    """Rows of `X`, checked: finite values, columns in range and increasing. `Rows` count as checked."""
    rows = take_unseen(X, name)
    if not isinstance(X, (Dense, Csr)):
        check_finite(rows, name)
    return rows


def take_unseen(X: Any, name: str = "X") -> Rows:
    """The same, but for the values: whoever visits all of them anyway will see what is not finite."""
    if isinstance(X, Dense):
        return Dense(read_only(X.values))
    if isinstance(X, Csr):
        return Csr(read_only(X.values), read_only(X.indices), read_only(X.indptr), X.d)
    return take_sparse(X, name) if is_sparse(X) else take_dense(X, name)


def is_sparse(X: Any) -> bool:
    """Whether X is SciPy's sparse; nothing is before scipy.sparse has been imported, which takes its time."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def take_dense(X: Any, name: str) -> Dense:
    """Rows of an array, a memory map, a list of lists or a data frame."""
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
    """Rows of a SciPy sparse matrix or array."""
    from scipy import sparse

    X = X.tocsr()
    if X.ndim != 2:
        raise DataError(f"{name} has {X.ndim} dimension(s), needs 2: one row for each example")
    shell = sparse.csr_array(X.shape, dtype=X.dtype)  # SciPy's checks may prune what they look at: not the caller's
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
    """The values as they are if float32 or float64, else converted to float64."""
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
    """Refuse a NaN or an infinity, with its place."""
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
    """The place of the first NaN or infinity, or −1; a block at a time, so that no large mask is made."""
    for start in range(0, len(values), BLOCK):
        finite = np.isfinite(values[start : start + BLOCK])
        if not finite.all():
            return start + int(np.argmin(finite))
    return -1


def not_finite(name: str, row: int, column: int, value: float) -> DataError:
    """The error for a value that is no number, with the words "NaN" and "inf" that scikit-learn's contract asks for."""
    what = "NaN" if np.isnan(value) else "inf"
    return DataError(
        f"{name}: row {row}, column {column} (counted from 0) is {what}: replace or drop such values first"
    )


def read_only(values: np.ndarray) -> np.ndarray:
    """A read-only view: one compiled signature for writable, read-only and memory-mapped arrays alike."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
