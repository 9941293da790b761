"""Data frames as matrices of numbers: pandas, polars, Arrow tables and record batches, and what narwhals reads.

Columns of numbers and booleans, nullable ones too, and categories that are numbers are converted. Other columns and
missing values are refused, and the message names the column. None of the data frame packages is imported here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from maxmargin.errors import DataError

FLOATS = {"Float64": np.float64, "Float32": np.float32}  # a frame of one of these types is converted at once
TEXT = "encode it as numbers, for example with OneHotEncoder, or leave the column out"
MISSING = "replace missing values, for example with SimpleImputer, or drop the row"


def is_frame(X: Any) -> bool:
    """Whether X is a data frame or a table. Attributes of X are not read, because a lazy frame would compute them."""
    return hasattr(type(X), "columns") and not isinstance(X, np.ndarray)


def readable_frame(X: Any, name: str = "X") -> Any:
    """Return X as a frame that narwhals reads: a record batch as a table. A lazy frame is refused."""
    import narwhals as nw

    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(X, arrow.RecordBatch):
        return arrow.Table.from_batches([X])
    if nw.dependencies.is_into_dataframe(X):
        return X
    kind = type(X).__name__
    raise DataError(f"{name} is a {kind}, which is not a data frame in memory: call collect() or to_numpy() first")


def named_frame(X: Any, name: str = "X") -> Any:
    """Return X as a frame of narwhals in memory; raise unless its columns have different names."""
    import narwhals as nw

    try:
        return nw.from_native(readable_frame(X, name), eager_only=True)
    except (nw.exceptions.NarwhalsError, ValueError) as error:
        raise DataError(
            f"{name} is no data frame of named columns ({' '.join(str(error).split())}): rename them"
        ) from error


def frame_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame as text, None for other data."""
    if not is_frame(X):
        return None
    import narwhals as nw

    return [str(name) for name in nw.from_native(readable_frame(X)).columns]


def frame_values(X: Any, name: str = "X") -> Any:
    """Return the values of a data frame: an array, or a sparse matrix if all its columns are sparse.

    The array is float32 if all columns are, else float64.
    """
    X = readable_frame(X, name)
    sparse: Any = getattr(X, "sparse", None)  # of pandas, if all columns are sparse
    if hasattr(sparse, "to_coo") and len(X.columns):
        return sparse.to_coo()
    frame = named_frame(X, name)
    kinds, names = {str(kind) for kind in frame.schema.values()}, frame.columns
    if len(kinds) == 1 and (kind := kinds.pop()) in FLOATS:
        values = np.asarray(frame.to_numpy(), dtype=FLOATS[kind])
    else:
        values = np.empty(frame.shape)
        for place, column in enumerate(names):
            values[:, place] = column_values(frame.get_column(column), f"{name}: column {column!r}")
    check_no_gaps(values, names, name)
    return values


def column_values(column: Any, place: str) -> np.ndarray:
    """Return a column as float64, with NaN for missing values; `place` names it in messages."""
    kind = column.dtype
    if kind.is_temporal():
        raise DataError(f"{place} holds dates or times ({kind}): convert it to numbers, or leave the column out")
    if kind.is_nested():
        raise DataError(f"{place} holds lists or structures ({kind}): make one column for each number")
    found = np.asarray(column.to_numpy())
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    numbers = np.full(len(found), np.nan)
    for row, value in enumerate(found.tolist()):
        if isinstance(value, (str, bytes)):
            raise DataError(f"{place} holds text ({value!r} in row {row}): {TEXT}")
        if not is_missing(value):
            try:
                numbers[row] = float(value)
            except (TypeError, ValueError):
                shown = type(value).__name__
                raise DataError(f"{place} holds a value of type {shown} in row {row}, not a number: {TEXT}") from None
    return numbers


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, or the NA of pandas, which has no truth value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def check_no_gaps(values: np.ndarray, names: list[str], name: str) -> None:
    """Raise if a value is missing, NaN or infinite, and name its row and column."""
    for column, of_column in enumerate(values.T):
        finite = np.isfinite(of_column)
        if not finite.all():
            row = int(np.argmin(finite))
            place = f"{name}: row {row} (counted from 0), column {names[column]!r}"
            if np.isnan(of_column[row]):
                raise DataError(f"{place} is missing or NaN: {MISSING}")
            raise DataError(f"{place} is inf: replace it by a finite number, or drop the row")
