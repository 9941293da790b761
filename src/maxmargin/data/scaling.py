"""Scaling of features: each is divided by its largest absolute value in the training data, and zeros stay zeros.

The result lies in [-1, 1], as that of svm-scale, and sparse rows stay sparse. Rows in memory are divided once, rows on
disk as they are read, after a first pass that finds the divisors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows
from maxmargin.data.source import Source
from maxmargin.errors import ParameterError
from maxmargin.system.budget import Budget, check_features
from maxmargin.system.compiled import compiled

MOST_FEATURES = 1 << 26  # features of which a model keeps divisors: 512 MB of them


def divisors_of(rows: Rows) -> np.ndarray:
    """Return the largest absolute value of each column; 1 where all values are 0."""
    return divisors_from(larger(np.zeros(0), rows))


def sizes_of_source(source: Source, budget: Budget, stop: Callable[[], object] = lambda: False) -> np.ndarray | None:
    """Return the largest absolute value of each column of a source, after one pass over it; None on `stop`.

    Raise if the weights of so many features would not fit in the memory limit.
    """
    sizes = np.zeros(0)
    for block in source.blocks():
        budget.for_rows(block.next.number, count_columns(block.rows))
        sizes = larger(sizes, block.rows)
        if stop():
            return None
    return sizes


def largest(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the larger of two sizes of each column; a column that is missing has the size 0."""
    few, many = sorted((one, other), key=len)
    return np.asarray(np.maximum(np.pad(few, (0, len(many) - len(few))), many))


def check_not_encoded(encoder: Encoder | None) -> None:
    """Refuse to scale an encoded table."""
    if encoder is not None:
        raise ParameterError("scale: columns of a table are scaled already: leave it out, or take encode='none'")


def larger(sizes: np.ndarray, rows: Rows) -> np.ndarray:
    """Return the largest absolute value of each column: of `sizes`, which may be short, and of the rows."""
    d = count_columns(rows)
    check_count(d)
    found = np.pad(sizes, (0, max(d - len(sizes), 0)))
    if isinstance(rows, Csr):
        _enlarge(rows.values, rows.indices, found)
    elif count_rows(rows):
        most = np.maximum(np.max(rows.values, axis=0), -np.min(rows.values, axis=0))
        found[:d] = np.maximum(found[:d], most)
    return found


def check_count(d: int) -> None:
    """Raise if there are more features than a model keeps divisors of, or than fit in memory."""
    check_features(d)
    if d > MOST_FEATURES:
        raise ParameterError(
            f"scale is for at most {MOST_FEATURES:,} features, and there are {d:,}: renumber them without the unused "
            "ones, or scale the rows before"
        )


def divisors_from(sizes: np.ndarray) -> np.ndarray:
    """Return the divisors of columns with these largest absolute values."""
    return np.where((sizes > 0.0) & np.isfinite(sizes), sizes, 1.0)


def divided(rows: Rows, divisors: np.ndarray) -> Rows:
    """Return the rows with each column divided. Columns beyond the divisors stay as they are."""
    missing = count_columns(rows) - len(divisors)
    own = np.pad(divisors, (0, missing), constant_values=1.0) if missing > 0 else divisors
    own = own.astype(rows.values.dtype, copy=False)
    if isinstance(rows, Csr):
        values = own[rows.indices]
        np.divide(rows.values, values, out=values)
        values.flags.writeable = False
        return rows._replace(values=values)
    values = rows.values / own[: count_columns(rows)]
    values.flags.writeable = False
    return Dense(values)


@compiled
def _enlarge(values, indices, sizes):
    for p in range(values.size):
        sizes[indices[p]] = max(sizes[indices[p]], abs(values[p]))
