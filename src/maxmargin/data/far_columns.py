"""Columns far from 0 in rows that are read in blocks: found in one pass, shifted in all later passes.

A column that is far from 0 in all rows is stored in the first row and is nearly far from 0 in every block. So the first
block rules out most columns, usually all, and then the pass can stop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.data.columns import FAR_RATIO, Ranges, middle_of, ranges_of
from maxmargin.data.rows import Csr, Dense, Rows, count_columns
from maxmargin.system.compiled import compiled

# The ratio for a part of the rows. The largest value of all rows can be 16/15 times as large as those in the part.
NEARLY_FAR_RATIO = FAR_RATIO - 2.0
HARMLESS_SIZE = 1.0  # Columns with absolute values up to this cause no noticeable rounding errors.
# Bounds on value / centre, which is 1 ± 1/30 for a column far from 0. Within them the difference is exact (Sterbenz).
LEAST_RATIO, MOST_RATIO = 0.75, 1.5


class Shift(NamedTuple):
    """The values to subtract from these columns of every row."""

    columns: np.ndarray
    values: np.ndarray

    def centre(self, d: int) -> np.ndarray:
        """Return the shift as a vector of d columns."""
        centre = np.zeros(d)
        centre[self.columns] = self.values
        return centre

    def apply(self, rows: Rows) -> Rows | None:
        """Return the shifted rows; None if a column is not far from 0: a difference is inexact or a value missing."""
        values, shift = rows.values.copy(), self.values.astype(rows.values.dtype)
        if not np.array_equal(shift, self.values):
            return None
        if isinstance(rows, Csr):
            return rows._replace(values=values) if _subtract(values, *rows[1:3], self.columns, shift) else None
        if values.shape[1] <= self.columns[-1]:
            return None
        ratios = values[:, self.columns] / shift
        values[:, self.columns] -= shift
        return Dense(values) if np.all((ratios >= LEAST_RATIO) & (ratios <= MOST_RATIO)) else None


class FarColumns(NamedTuple):
    """The columns that may be far from 0 according to the rows so far, their ranges, and the type of their values."""

    columns: np.ndarray
    ranges: Ranges
    dtype: np.dtype

    def narrowed(self, rows: Rows) -> FarColumns:
        """Return the columns that may still be far from 0 after these rows."""
        there = self.kept(self.columns < count_columns(rows))
        seen = ranges_of(rows, there.columns)
        least, most = np.minimum(there.ranges.least, seen.least), np.maximum(there.ranges.most, seen.most)
        found = there._replace(ranges=Ranges(least, most))
        return found.kept(found.ranges.far_by(NEARLY_FAR_RATIO) & (found.ranges.size > HARMLESS_SIZE))

    def kept(self, which: np.ndarray) -> FarColumns:
        """Return the columns that the mask `which` selects."""
        ranges = Ranges(self.ranges.least[which], self.ranges.most[which])
        return self._replace(columns=self.columns[which], ranges=ranges)

    @property
    def length(self) -> float:
        """A bound on the norm of a row in these columns."""
        return float(np.linalg.norm(self.ranges.size))

    @property
    def shift(self) -> Shift | None:
        """The shift to the middle of the columns that are far from 0 in all rows so far; None if there are none."""
        far = self.kept(self.ranges.far)
        return Shift(far.columns, middle_of(far.ranges, self.dtype)) if len(far.columns) else None


def first_far(rows: Rows) -> FarColumns:
    """Return the columns that may be far from 0 according to the first rows. Such columns are stored in row 0."""
    columns = np.arange(rows.values.shape[1]) if isinstance(rows, Dense) else rows.indices[: rows.indptr[1]]
    unseen = np.full(len(columns), np.inf)
    return FarColumns(columns.astype(np.int64), Ranges(unseen, -unseen), rows.values.dtype).narrowed(rows)


@compiled
def _subtract(values, indices, indptr, columns, shift):
    for i in range(indptr.size - 1):
        p, stop = indptr[i], indptr[i + 1]
        for k in range(columns.size):
            p += np.searchsorted(indices[p:stop], columns[k])
            if p == stop or indices[p] != columns[k] or not LEAST_RATIO <= values[p] / shift[k] <= MOST_RATIO:
                return False
            values[p] -= shift[k]
    return True
