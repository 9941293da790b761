"""Columns far from 0, such as timestamps: found, shifted to 0, and named where they are in the way.

A column is far from 0 if its values differ by less than a sixteenth of their size. Any two of them are then within a
factor of two of each other, so float64 subtracts one from the other without any error (Sterbenz's lemma): shifting
such a column by one of its values loses nothing. A sparse column that is far from 0 is stored in every row, because a
value that is not stored is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows
from maxmargin.system.compiled import compiled

FAR = 16.0  # size of the values over their spread
LARGE = 1e3  # size of values that rounding errors can come from


class Ranges(NamedTuple):
    """The smallest and the largest value of each column."""

    least: np.ndarray
    most: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """The largest absolute value."""
        return np.asarray(np.maximum(np.abs(self.least), np.abs(self.most)))

    @property
    def far(self) -> np.ndarray:
        """Which columns are far from 0."""
        return self.far_by(FAR)

    def far_by(self, times: float) -> np.ndarray:
        """Which columns have values that are at least so many times as large as their spread."""
        with np.errstate(over="ignore"):
            return np.asarray((self.size > 0.0) & (times * (self.most - self.least) <= self.size))


def ranges_of(rows: Rows, columns: np.ndarray | None = None) -> Ranges:
    """The range of each column, or of these columns in order; values that are not stored are 0."""
    if isinstance(rows, Dense):
        values = rows.values if columns is None else rows.values[:, columns]
        return Ranges(np.min(values, axis=0), np.max(values, axis=0))
    values, places = (rows.values, rows.indices) if columns is None else _stored_in(rows, columns)
    d = rows.d if columns is None else len(columns)
    least, most, counts = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d, dtype=np.int64)
    _widen(values, places, least, most, counts)
    hollow = counts < count_rows(rows)
    return Ranges(np.where(hollow, np.minimum(least, 0.0), least), np.where(hollow, np.maximum(most, 0.0), most))


def centre_of(rows: Rows) -> np.ndarray | None:
    """What to subtract from each row: a value in the middle of the columns far from 0, else 0; None if none is far."""
    if count_rows(rows) == 0:
        return None
    ranges = ranges_of(rows)
    far = ranges.far
    if not np.any(far):
        return None
    return np.where(far, middle_of(ranges, rows.values.dtype), 0.0)


def middle_of(ranges: Ranges, dtype: np.dtype) -> np.ndarray:
    """The middle of each range as float64, rounded to the type of the values: else their shift would be inexact."""
    middle = 0.5 * ranges.least.astype(np.float64) + 0.5 * ranges.most.astype(np.float64)
    return np.asarray(middle.astype(dtype).astype(np.float64))


def shifted(rows: Rows, centre: np.ndarray) -> Rows:
    """X − centre for every row; exact for the rows that the centre was made of."""
    own = centre.astype(rows.values.dtype)
    own = own if np.array_equal(own, centre) else centre  # a centre that float32 cannot hold makes float64 of the rows
    if isinstance(rows, Dense):
        values = rows.values - own
        values.flags.writeable = False
        return Dense(values)
    far = np.flatnonzero(centre)
    stored = np.bincount(np.searchsorted(far, rows.indices[np.isin(rows.indices, far)]), minlength=len(far))
    if np.any(stored < count_rows(rows)):
        rows = _filled(rows, far)
    values = rows.values - own[rows.indices]
    values.flags.writeable = False
    return rows._replace(values=values)


def widened(rows: Rows, d: int) -> Rows:
    """The same rows with d columns; those that are not there are 0."""
    if isinstance(rows, Csr):
        return rows._replace(d=max(rows.d, d))
    missing = d - rows.values.shape[1]
    return Dense(np.pad(rows.values, ((0, 0), (0, missing)))) if missing > 0 else rows


def _filled(rows: Csr, columns: np.ndarray) -> Csr:
    """The same rows with every value of these columns stored."""
    n, stored = count_rows(rows), np.diff(rows.indptr)
    places = [np.repeat(np.arange(n), stored), np.repeat(np.arange(n), len(columns))]
    row, column = np.concatenate(places), np.concatenate([rows.indices, np.tile(columns, n)])
    values = np.concatenate([rows.values[: rows.indptr[-1]], np.zeros(n * len(columns), dtype=rows.values.dtype)])
    order = np.lexsort((np.arange(len(row)), column, row))
    first = np.append(True, (np.diff(row[order]) != 0) | (np.diff(column[order]) != 0))
    kept = order[first]  # of two in one place the one that was stored
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=n))]).astype(rows.indptr.dtype)
    return Csr(values[kept], column[kept].astype(rows.indices.dtype), indptr, rows.d)


def column_to_blame(rows: Rows, names: Sequence[str] | None = None, columns: np.ndarray | None = None) -> str:
    """The column that rounding errors come from, and the remedy, in one sentence; "" if no column is large.

    A column far from 0 comes first: subtracting its mean is the easiest remedy. `columns` are those to look at, all by
    default.
    """
    if count_rows(rows) == 0 or (count_columns(rows) if columns is None else len(columns)) == 0:
        return ""
    ranges = ranges_of(rows, columns)
    far = ranges.far & (ranges.size > LARGE)
    place = int(np.argmax(np.where(far, ranges.size, 0.0) if np.any(far) else ranges.size))
    if not ranges.size[place] > LARGE:
        return ""
    column = place if columns is None else int(columns[place])
    named = f"column {column} {names[column]!r}" if names is not None else f"column {column} (counted from 0)"
    if not far[place]:
        return f"{named} has values up to {ranges.size[place]:.2g}: divide it by its standard deviation"
    middle = 0.5 * (float(ranges.least[place]) + float(ranges.most[place]))
    return f"{named} lies around {middle:.2g}: subtract its mean"


def _stored_in(rows: Csr, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that are stored in these columns, and in which of them each is."""
    places = np.searchsorted(columns, rows.indices)
    found = np.flatnonzero(np.append(columns, -1)[places] == rows.indices)
    return rows.values[found], places[found]


@compiled
def _widen(values, indices, least, most, counts):
    for p in range(values.size):
        j = indices[p]
        least[j] = min(least[j], values[p])
        most[j] = max(most[j], values[p])
        counts[j] += 1
