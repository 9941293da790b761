"""The rows and labels of Arrow columns, in one of three forms.

numbers               each column is a feature, in the order of the table
indices and values    two columns of lists: the feature indices, from 0, and the values of a sparse row
values                one column of lists, all of the same length: a dense row
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows
from maxmargin.data.source import Facts
from maxmargin.data.tables.arrays import array_of, as_numbers, check_labels, increasing, is_list
from maxmargin.data.tables.batches import check_label_lengths, check_label_type, check_number_type, shown
from maxmargin.data.take import first_not_finite, not_finite
from maxmargin.errors import DataError

NARROW = 2**31 - 1


def is_sparse_form(columns: Mapping[str, Any]) -> bool:
    """Whether these are two columns of lists, of indices and values."""
    import pyarrow as pa

    lists = {name for name, column in columns.items() if is_list(column.type)}
    return set(columns) == lists == {"indices", "values"} and not any(
        pa.types.is_fixed_size_list(columns[name].type) for name in lists
    )


def is_dense_form(columns: Mapping[str, Any]) -> bool:
    """Whether this is one column of lists of values."""
    return set(columns) == {"values"} and is_list(columns["values"].type)


@dataclass(frozen=True)
class Forms:
    """Reads rows and labels from columns of a file; `facts` are those of a block file."""

    path: Path
    facts: Facts | None
    untyped: bool

    def features(self, columns: Mapping[str, Any], first: int) -> Rows:
        """Return the rows, from columns in any of the three forms."""
        if is_sparse_form(columns):
            return self.sparse(columns["indices"], columns["values"], first)
        if is_dense_form(columns):
            return self.dense_lists(columns["values"], first)
        return self.dense_columns(columns, first)

    def check_whole(self, column: Any, name: str, first: int) -> None:
        """Raise if a column has missing values."""
        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0), column {name!r} is empty: fill it in")

    def sparse(self, indices: Any, values: Any, first: int) -> Csr:
        """Return sparse rows from two columns of lists."""
        import pyarrow as pa

        if not pa.types.is_integer(indices.type.value_type):
            said = shown(indices.type.value_type)
            raise DataError(f"{self.path}: the lists in column 'indices' hold {said}: indices are whole numbers")
        check_number_type(values.type.value_type, self.path, "values")
        for column, name in ((indices, "indices"), (values, "values")):
            self.check_whole(column, name, first)
        ends = indices.offsets.to_numpy().astype(np.int64)
        if not np.array_equal(ends - ends[0], values.offsets.to_numpy().astype(np.int64) - values.offsets[0].as_py()):
            raise DataError(f"{self.path}: a row has more indices than values, or fewer")
        found = indices.flatten().to_numpy(zero_copy_only=False)
        if found.dtype.kind not in "iu":  # a missing number makes the array float64
            raise DataError(f"{self.path}: a list in column 'indices' has a missing number: fill it in")
        numbers = self.numbers(values.flatten(), "values", first)
        if found.size and (found.min() < 0 or found.max() >= 2**62):
            raise DataError(f"{self.path}: an index is below 0 or far too large: indices are counted from 0")
        indptr = ends - ends[0]
        if not increasing(found, indptr):
            raise DataError(f"{self.path}: indices must increase within a row: sort them, add up what is twice there")
        fault = first_not_finite(numbers)
        if fault >= 0:
            row = int(np.searchsorted(indptr, fault, side="right")) - 1
            raise not_finite(str(self.path), first + row, int(found[fault]), numbers[fault])
        width = int(found.max()) + 1 if found.size else 0
        known = self.facts.d if self.facts else 0
        if self.facts and width > known:
            raise DataError(
                f"{self.path}: rows from number {first} on have {width} features, the block file says {known}: "
                "convert the data again"
            )
        kind = np.int32 if width <= NARROW else np.int64
        return Csr(numbers, np.ascontiguousarray(found, dtype=kind), indptr, max(width, known))

    def dense_lists(self, values: Any, first: int) -> Dense:
        """Return dense rows from a column of lists of the same length."""
        import pyarrow as pa

        check_number_type(values.type.value_type, self.path, "values")
        self.check_whole(values, "values", first)
        if pa.types.is_fixed_size_list(values.type):
            width = values.type.list_size
        else:
            lengths = np.diff(values.offsets.to_numpy())
            width = int(lengths[0])
            if np.any(lengths != width):
                raise DataError(f"{self.path}: lists in the column 'values' differ in length: add a column 'indices'")
        if width == 0 or (self.facts and width != self.facts.d):
            said = f", the block file says {self.facts.d}" if self.facts else ""
            raise DataError(f"{self.path}: lists in the column 'values' have {width} values{said}: give each row some")
        flat = self.numbers(values.flatten(), "values", first)
        matrix = flat.reshape(len(values), width)
        fault = first_not_finite(flat)
        if fault >= 0:
            row, column = divmod(fault, matrix.shape[1])
            raise not_finite(str(self.path), first + row, column, flat[fault])
        return Dense(np.ascontiguousarray(matrix))

    def dense_columns(self, columns: Mapping[str, Any], first: int) -> Dense:
        """Return dense rows from columns that are features."""
        arrays = [self.numbers(column, name, first) for name, column in columns.items()]
        kind = np.float32 if all(array.dtype == np.float32 for array in arrays) else np.float64
        matrix = np.empty((len(arrays[0]), len(arrays)), dtype=kind)
        for place, (name, array) in enumerate(zip(columns, arrays, strict=True)):
            fault = first_not_finite(array)
            if fault >= 0:
                raise DataError(f"{self.path}: row {first + fault} (counted from 0), column {name!r} is {array[fault]}")
            matrix[:, place] = array
        return Dense(matrix)

    def numbers(self, column: Any, name: str, first: int) -> np.ndarray:
        """Return a column as float32 or float64; raise if values are missing."""
        check_number_type(column.type, self.path, name)
        self.check_whole(column, name, first)
        array = array_of(column)
        return np.asarray(array if array.dtype in (np.float32, np.float64) else array.astype(np.float64))

    def labels(self, column: Any, name: str, first: int) -> np.ndarray:
        """Return the labels as numbers or text."""
        import pyarrow as pa

        check_label_type(column.type, self.path, name)
        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0) has no label in column {name!r}")
        check_label_lengths(column, self.path, name, first)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = column.dictionary_encode()
        array = array_of(column)
        array = np.asarray(array.astype(str) if array.dtype.kind == "O" else array)
        if self.untyped:
            array = as_numbers(array)
        check_labels(array, str(self.path), first)
        return array
