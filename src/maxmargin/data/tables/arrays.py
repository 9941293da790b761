"""Columns of Arrow tables as NumPy arrays, and checks of these arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.file_labels import as_whole
from maxmargin.errors import DataError


def array_of(column: Any) -> np.ndarray:
    """Return a column without missing values as an array. Numbers and text with few distinct values need no pandas.

    pyarrow's `to_numpy` imports pandas if it is installed, which takes half a second and 60 MB.
    """
    import pyarrow as pa

    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers, dtype = column.buffers()[1], np.dtype(column.type.to_pandas_dtype())
        if numbers is None or len(column) == 0:
            return np.zeros(0, dtype)
        return np.frombuffer(numbers, dtype, count=len(column), offset=column.offset * dtype.itemsize)
    if pa.types.is_dictionary(column.type):
        if 2 * len(column.dictionary) <= len(column):
            return np.asarray(np.array(column.dictionary.to_pylist())[array_of(column.indices)])
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def increasing(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether the indices of each row increase."""
    rises = indices[1:] > indices[:-1]
    ends = indptr[1:-1]
    rises[ends[(ends > 0) & (ends < len(indices))] - 1] = True
    return bool(np.all(rises))


def is_list(kind: Any) -> bool:
    """Whether a column type is a list."""
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def as_numbers(labels: np.ndarray) -> np.ndarray:
    """Convert labels to numbers if all of them are numbers: the columns of a CSV file have no types."""
    try:
        return as_whole(labels.astype(np.float64))
    except ValueError:
        return labels


def check_labels(labels: np.ndarray, name: str, first: int = 0) -> None:
    """Raise if a label is NaN or infinite."""
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        place = int(np.argmin(np.isfinite(labels)))
        raise DataError(
            f"{name}: row {first + place} (counted from 0) has the label {labels[place]}: labels are finite"
        )
