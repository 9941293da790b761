"""Columns far from 0, such as timestamps: finding them, shifting them to 0, and naming them in messages.

A column is far from 0 if its values differ by less than a sixteenth of their size. Any two values are then within a
factor of two of each other, so their difference is exact in float64 (Sterbenz's lemma), and shifting such a column by
one of its values loses nothing. A sparse column far from 0 is stored in every row, because a missing value is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows
from maxmargin.system.compiled import compiled

FAR_RATIO = 16.0  # A column is far from 0 if its values are at least this many times as large as their spread.
BLAMED_FROM = 1e3  # Columns with smaller absolute values do not cause noticeable rounding errors.


class Ranges(NamedTuple):
    """The smallest and the largest value of each column."""

    least: np.ndarray
    most: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """The largest absolute value."""
        return np.asarray(np.maximum(np.abs(self.least), np.abs(self.most)))

    @property
    def all_near(self) -> bool:
        """Whether even the smallest spread shows that no column is far from 0: a quick test."""
        with np.errstate(over="ignore"):
            spread = float((self.most - self.least).min(initial=np.inf))
        return FAR_RATIO * spread > max(float(self.most.max(initial=0.0)), -float(self.least.min(initial=0.0)))

    @property
    def far(self) -> np.ndarray:
        """A mask of the columns that are far from 0."""
        return self.far_by(FAR_RATIO)

    def far_by(self, times: float) -> np.ndarray:
        """Return a mask of the columns whose values are at least `times` as large as their spread."""
        with np.errstate(over="ignore"):
            return np.asarray((self.size > 0.0) & (times * (self.most - self.least) <= self.size))


def ranges_of(rows: Rows, columns: np.ndarray | None = None) -> Ranges:
    """Return the range of each column, or of the given ones. Values that are not stored are 0."""
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
    """Return the vector to subtract from each row: the middle of columns far from 0, else 0; None if none is far."""
    if count_rows(rows) == 0:
        return None
    ranges = ranges_of(rows)
    if ranges.all_near or not np.any(far := ranges.far):
        return None
    return np.where(far, middle_of(ranges, rows.values.dtype), 0.0)


def middle_of(ranges: Ranges, dtype: np.dtype) -> np.ndarray:
    """Return the middle of each range as float64, rounded to the type of the values so that the shift is exact."""
    middle = 0.5 * ranges.least.astype(np.float64) + 0.5 * ranges.most.astype(np.float64)
    return np.asarray(middle.astype(dtype).astype(np.float64))


def shifted(rows: Rows, centre: np.ndarray) -> Rows:
    """Return x − centre for every row x. The result is exact for the rows that gave the centre."""
    own = centre.astype(rows.values.dtype)
    own = own if np.array_equal(own, centre) else centre  # if float32 cannot represent the centre, rows become float64
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
    """Return the rows with d columns; missing columns are 0."""
    if isinstance(rows, Csr):
        return rows._replace(d=max(rows.d, d))
    missing = d - rows.values.shape[1]
    return Dense(np.pad(rows.values, ((0, 0), (0, missing)))) if missing > 0 else rows


def _filled(rows: Csr, columns: np.ndarray) -> Csr:
    """Return the rows with all values of these columns stored explicitly."""
    n, stored = count_rows(rows), np.diff(rows.indptr)
    places = [np.repeat(np.arange(n), stored), np.repeat(np.arange(n), len(columns))]
    row, column = np.concatenate(places), np.concatenate([rows.indices, np.tile(columns, n)])
    values = np.concatenate([rows.values[: rows.indptr[-1]], np.zeros(n * len(columns), dtype=rows.values.dtype)])
    order = np.lexsort((np.arange(len(row)), column, row))
    first = np.append(True, (np.diff(row[order]) != 0) | (np.diff(column[order]) != 0))
    kept = order[first]  # among duplicates, keep the stored value
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=n))]).astype(rows.indptr.dtype)
    return Csr(values[kept], column[kept].astype(rows.indices.dtype), indptr, rows.d)


def column_to_blame(rows: Rows, names: Sequence[str] | None = None, columns: np.ndarray | None = None) -> str:
    """Return a sentence that names the column that causes rounding errors and the remedy; "" if no column is large.

    Columns far from 0 are named first, because subtracting a mean is the easiest remedy. `columns`
    restricts the search.
    """
    if count_rows(rows) == 0 or (count_columns(rows) if columns is None else len(columns)) == 0:
        return ""
    ranges = ranges_of(rows, columns)
    far = ranges.far & (ranges.size > BLAMED_FROM)
    place = int(np.argmax(np.where(far, ranges.size, 0.0) if np.any(far) else ranges.size))
    if not ranges.size[place] > BLAMED_FROM:
        return ""
    column = place if columns is None else int(columns[place])
    named = f"column {column} {names[column]!r}" if names is not None else f"column {column} (counted from 0)"
    if not far[place]:
        return f"{named} has values up to {ranges.size[place]:.2g}: divide it by its standard deviation"
    middle = 0.5 * (float(ranges.least[place]) + float(ranges.most[place]))
    return f"{named} lies around {middle:.2g}: subtract its mean"


def _stored_in(rows: Csr, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the stored values of these columns, and the position of each one's column in `columns`."""
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
