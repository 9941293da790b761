"""Columns of Arrow tables as numbers or text, whatever type they have. Missing values stay missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.tables.arrays import array_of
from maxmargin.errors import DataError

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "#NA", "<NA>", "None", "?")  # in text


class NotNumbersError(Exception):
    """A column that was taken for numbers holds something else, such as `value`."""

    def __init__(self, column: str, value: str) -> None:
        super().__init__(column, value)
        self.column, self.value = column, value


def is_number(kind: Any) -> bool:
    """Whether a column type is numbers. Booleans are not."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_date(kind: Any) -> bool:
    """Whether a column type is dates, with or without a time of day."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_text(kind: Any) -> bool:
    """Whether a column type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_encodable(kind: Any) -> bool:
    """Whether a column type is numbers, text, booleans, dates or nothing but missing values."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return is_number(plain) or is_text(plain) or is_date(plain) or pa.types.is_boolean(plain) or pa.types.is_null(plain)


def common_type(one: Any, other: Any) -> Any:
    """Return a type that holds the values of two columns; None if one is numbers and the other text, say."""
    import pyarrow as pa

    one, other = (kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other))
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    for is_kind, wide in ((is_number, pa.float64()), (is_text, pa.large_string()), (is_date, pa.timestamp("us"))):
        if is_kind(one) and is_kind(other):
            return wide
    return None


def kind_in_words(kind: Any) -> str:
    """Return what a column of a type holds, for a message."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    words = ((is_number, "numbers"), (is_text, "text"), (is_date, "dates"), (pa.types.is_boolean, "true and false"))
    return next((word for is_kind, word in words if is_kind(plain)), str(plain))


def one_array(table: Any, name: str) -> Any:
    """Return a column of a table as one array."""
    column = table.column(name).combine_chunks()
    return column.chunk(0) if hasattr(column, "chunk") else column


def decoded(column: Any) -> Any:
    """Return the column without a dictionary."""
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def as_numbers(column: Any, place: str) -> np.ndarray:
    """Return a column as float64, with NaN for missing values; `place` names it in messages."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_float64(column.type):
        column = converted(decoded(column), place)
    return np.asarray(array_of(compute.fill_null(column, np.nan) if column.null_count else column))


def converted(column: Any, place: str) -> Any:
    """Return a column as float64, still as an Arrow array."""
    import pyarrow as pa
    from pyarrow import compute

    if is_text(column.type):
        column = compute.utf8_trim_whitespace(column)
        column = compute.if_else(compute.is_in(column, pa.array(MISSING, column.type)), None, column)
    try:
        return column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{place} holds {first_not_number(column)}, and it was a column of numbers: correct it"
        ) from error


def check_not_infinite(values: np.ndarray, place: str, first: int) -> None:
    """Raise if a number is infinite; `first` is the number of the first row."""
    infinite = np.isinf(values)
    if infinite.any():
        row = first + int(np.argmax(infinite))
        raise DataError(f"{place}, row {row:,} (counted from 0) is infinite: correct it")


def first_not_number(column: Any) -> str:
    """Return the first value of a column that is no number, for a message."""
    for value in column.to_pylist():
        if value is not None:
            try:
                float(value)
            except (TypeError, ValueError):
                return shortened(repr(value))
    return f"values of type {column.type}"


def shortened(text: str) -> str:
    """Return at most 40 characters of a text."""
    return text if len(text) <= 40 else text[:37] + "..."
