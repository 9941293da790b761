"""The features of one column for some rows, and how the parts of all columns are put together as rows.

    Values      one number for each row; zeros are not stored
    OneHot      a 1 in the place that a code names; −1 for none
    Hashed      sparse rows

Each part begins at the feature `at`. Parts are in the order of their features, so indices increase within a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows
from maxmargin.system.compiled import compiled


class Values(NamedTuple):
    """One feature: a number for each row."""

    values: np.ndarray
    at: int

    def lengths(self) -> np.ndarray:
        """Return the number of stored values of each row."""
        return np.asarray(self.values != 0.0)

    def place(self, values: np.ndarray, indices: np.ndarray, cursor: np.ndarray) -> None:
        """Store the values of each row at its cursor, and move the cursor on."""
        place_values(self.values, self.at, values, indices, cursor)

    def fill(self, matrix: np.ndarray) -> None:
        """Write the values into a matrix of zeros."""
        matrix[:, self.at] = self.values

    def gathered(self, rows: np.ndarray) -> Values:
        """Return the values of these rows, any of them several times."""
        return self._replace(values=self.values[rows])


class OneHot(NamedTuple):
    """A group of features, one of which is 1: that with the number `codes`; none of them for −1."""

    codes: np.ndarray
    at: int

    def lengths(self) -> np.ndarray:
        """Return the number of stored values of each row."""
        return np.asarray(self.codes >= 0)

    def place(self, values: np.ndarray, indices: np.ndarray, cursor: np.ndarray) -> None:
        """Store the values of each row at its cursor, and move the cursor on."""
        place_codes(self.codes, self.at, values, indices, cursor)

    def fill(self, matrix: np.ndarray) -> None:
        """Write the values into a matrix of zeros."""
        some = np.flatnonzero(self.codes >= 0)
        matrix[some, self.at + self.codes[some]] = 1.0

    def gathered(self, rows: np.ndarray) -> OneHot:
        """Return the codes of these rows, any of them several times."""
        return self._replace(codes=self.codes[rows])


class Hashed(NamedTuple):
    """A group of features with sparse rows."""

    rows: Csr
    at: int

    def lengths(self) -> np.ndarray:
        """Return the number of stored values of each row."""
        return np.diff(self.rows.indptr)

    def place(self, values: np.ndarray, indices: np.ndarray, cursor: np.ndarray) -> None:
        """Store the values of each row at its cursor, and move the cursor on."""
        place_rows(self.rows.values, self.rows.indices, self.rows.indptr, self.at, values, indices, cursor)

    def fill(self, matrix: np.ndarray) -> None:
        """Write the values into a matrix of zeros."""
        some = np.repeat(np.arange(len(self.rows.indptr) - 1), np.diff(self.rows.indptr))
        matrix[some, self.at + self.rows.indices] = self.rows.values


Part = Values | OneHot | Hashed


def put_together(parts: Sequence[Part], n: int, d: int, dense: bool) -> Rows:
    """Return n rows of d features from the parts of all columns."""
    if dense:
        matrix = np.zeros((n, d))
        for part in parts:
            part.fill(matrix)
        return Dense(matrix)
    lengths = np.zeros(n, dtype=np.int64)
    for part in parts:
        lengths += part.lengths()
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values, indices, cursor = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32), indptr[:-1].copy()
    for part in parts:
        part.place(values, indices, cursor)
    return Csr(values, indices, indptr, d)


@compiled
def place_values(column: Any, at: int, values: Any, indices: Any, cursor: Any) -> None:
    """Store the numbers of a column that are not 0."""
    for i in range(len(column)):
        if column[i] != 0.0:
            values[cursor[i]], indices[cursor[i]] = column[i], at
            cursor[i] += 1


@compiled
def place_codes(codes: Any, at: int, values: Any, indices: Any, cursor: Any) -> None:
    """Store a 1 in the place that each code names."""
    for i in range(len(codes)):
        if codes[i] >= 0:
            values[cursor[i]], indices[cursor[i]] = 1.0, at + codes[i]
            cursor[i] += 1


@compiled
def place_rows(given: Any, features: Any, indptr: Any, at: int, values: Any, indices: Any, cursor: Any) -> None:
    """Store the values of sparse rows."""
    for i in range(len(cursor)):
        for p in range(indptr[i], indptr[i + 1]):
            values[cursor[i]], indices[cursor[i]] = given[p], at + features[p]
            cursor[i] += 1
