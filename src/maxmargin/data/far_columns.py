"""Columns far from 0 in rows that are read a block at a time: found in one reading, shifted in every later one.

A column that is far from 0 in all rows is stored in the first of them, and nearly far from 0 in any part of them. So
the first block leaves few columns to look at, most often none, and the reading can end there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.data.columns import FAR, Ranges, middle_of, ranges_of
from maxmargin.data.rows import Csr, Dense, Rows, count_columns
from maxmargin.system.compiled import compiled

NEARLY_FAR = FAR - 2.0  # of a part of the rows: the largest of all values may be 16/15 as large as those in it
SMALL = 1.0  # no rounding error that matters comes from a column of this size
LEAST_RATIO, MOST_RATIO = 0.75, 1.5  # of value and centre, 1 ± 1/30 if it is far from 0: exact, by Sterbenz's lemma


class Shift(NamedTuple):
    """What is subtracted from these columns of every row."""

    columns: np.ndarray
    values: np.ndarray

    def centre(self, d: int) -> np.ndarray:
        """The same as a row of d columns."""
        centre = np.zeros(d)
        centre[self.columns] = self.values
        return centre

    def apply(self, rows: Rows) -> Rows | None:
        """The rows shifted; None if a subtraction is not exact, or a column not stored: then it is not far from 0."""
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
    """The columns that may be far from 0 after the rows that were seen, their ranges, and the type of their values."""

    columns: np.ndarray
    ranges: Ranges
    dtype: np.dtype

    def narrowed(self, rows: Rows) -> FarColumns:
        """Those that still may be after these rows too."""
        there = self.kept(self.columns < count_columns(rows))
        seen = ranges_of(rows, there.columns)
        least, most = np.minimum(there.ranges.least, seen.least), np.maximum(there.ranges.most, seen.most)
        found = there._replace(ranges=Ranges(least, most))
        return found.kept(found.ranges.far_by(NEARLY_FAR) & (found.ranges.size > SMALL))

    def kept(self, which: np.ndarray) -> FarColumns:
        """Some of them."""
        ranges = Ranges(self.ranges.least[which], self.ranges.most[which])
        return self._replace(columns=self.columns[which], ranges=ranges)

    @property
    def length(self) -> float:
        """A bound on the length of a row in these columns."""
        return float(np.linalg.norm(self.ranges.size))

    @property
    def shift(self) -> Shift | None:
        """To the middle of the columns that are far from 0 in all rows that were seen."""
        far = self.kept(self.ranges.far)
        return Shift(far.columns, middle_of(far.ranges, self.dtype)) if len(far.columns) else None


def first_far(rows: Rows) -> FarColumns:
    """The columns that may be far from 0 if these are the first rows: one that row 0 does not store is not."""
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
