"""Columns that alone tell the label: either a gift, or a leak that is not there when predictions are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.encoding.arrow_columns import as_numbers, is_encodable, one_array
from maxmargin.data.encoding.arrow_text import as_text
from maxmargin.data.encoding.columns import Category, Column, Number
from maxmargin.data.tables.arrays import array_of

LEAST_ROWS = 50
LEAST_OTHERS = 5  # rows without the most frequent label: one or two are told apart by chance, in some column of many
ALL_BUT = 0.005  # errors of a column that tells the label, relative to those of the most frequent label
STRAIGHT = 0.9995  # correlation with a target
MANY_LABELS = 20


class Labels(NamedTuple):
    """The labels of a sample: the number of each one, how many there are, and if they are many numbers, these."""

    codes: np.ndarray
    many: int
    targets: np.ndarray | None


def columns_with_label(columns: Sequence[Column], sample: Any, label: str | None) -> list[str]:
    """Return the columns of a sample that alone tell the label, or nothing if some labels are missing."""
    if label is None or label not in sample.schema.names or sample.num_rows < LEAST_ROWS:
        return []
    column = one_array(sample, label)
    if column.null_count or not is_encodable(column.type):
        return []  # the code that reads the labels will report the error
    codes, many = codes_of(column)
    labels = Labels(codes, many, targets_of(column) if many > MANY_LABELS else None)
    return [one.name for one in columns if tells_label(one, sample, labels)]


def tells_label(column: Column, sample: Any, labels: Labels) -> bool:
    """Whether a column alone predicts the labels, nearly without errors, on the rows of a sample."""
    if not isinstance(column, (Number, Category)):
        return False
    values = one_array(sample, column.name)
    if labels.many > MANY_LABELS:
        if labels.targets is None or not isinstance(column, Number):
            return False
        return follows(as_numbers(values, column.name), labels.targets)
    least = len(labels.codes) - np.max(np.bincount(labels.codes))
    wrong = errors_of(column, values, labels.codes, labels.many)
    return bool(least >= LEAST_OTHERS and wrong <= ALL_BUT * least)


def errors_of(column: Column, values: Any, codes: np.ndarray, count: int) -> int:
    """Return the errors of the best label for each value, or on each side of the best threshold."""
    if isinstance(column, Number):
        numbers = as_numbers(values, column.name)
        return errors_of_threshold(np.where(np.isnan(numbers), column.mean, numbers), codes, count)
    places, many = codes_of(as_text(values).fill_null(""))
    if 5 * many > len(codes):
        return len(codes)
    table = np.zeros((many, count), dtype=np.int64)
    np.add.at(table, (places, codes), 1)
    return int(len(codes) - table.max(axis=1).sum())


def errors_of_threshold(values: np.ndarray, codes: np.ndarray, count: int) -> int:
    """Return the errors of the best threshold, with the most frequent label on each side."""
    order = np.argsort(values)
    below = np.cumsum(np.eye(count, dtype=np.int64)[codes[order]], axis=0)
    ends = np.flatnonzero(np.append(np.diff(values[order]) > 0.0, True))
    right = below[ends].max(axis=1) + (below[-1] - below[ends]).max(axis=1)
    return int(len(codes) - right.max())


def targets_of(column: Any) -> np.ndarray | None:
    """Return labels as numbers; None if they are none."""
    try:
        return as_numbers(column, "labels")
    except Exception:
        return None


def follows(values: np.ndarray, targets: np.ndarray) -> bool:
    """Whether targets are nearly a straight line over the values."""
    some = np.isfinite(values) & np.isfinite(targets)
    if np.count_nonzero(some) < LEAST_ROWS or np.ptp(values[some]) == 0.0 or np.ptp(targets[some]) == 0.0:
        return False
    return abs(float(np.corrcoef(values[some], targets[some])[0, 1])) > STRAIGHT


def codes_of(column: Any) -> tuple[np.ndarray, int]:
    """Return the number of each value, and how many values there are."""
    import pyarrow as pa

    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return np.asarray(array_of(coded.indices.cast(pa.int64()))), len(coded.dictionary)
