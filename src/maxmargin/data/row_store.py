"""Rows collected from several parts in memory of fixed size, as contiguous rows."""

from __future__ import annotations

import numpy as np

from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_rows, row_lengths
from maxmargin.data.take import read_only
from maxmargin.system.buffers import reserved

ROW_BYTES = 64  # What a row takes besides its values: its number, its label, its weight and a few working numbers.


class RowStore:
    """Collects rows until `capacity` bytes are used. Memory is allocated where rows are written."""

    def __init__(self, capacity: float, huge: bool = False) -> None:
        self.capacity, self.huge = capacity, huge
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self.count = self.stored = self.width = 0
        self.used = 0.0
        self.kept: Rows | None = None

    def add(self, rows: Rows, chosen: np.ndarray) -> int:
        """Copy the chosen rows, as many as fit; return their number."""
        if self.kept is None:
            self.allocate(rows)
        costs = np.cumsum(self.row_costs(rows)[chosen])
        fitting = int(np.searchsorted(costs, self.capacity - self.used, side="right"))
        if fitting:
            self.copy(pick(rows, chosen[:fitting]))
            self.used += float(costs[fitting - 1])
        return fitting

    def allocate(self, rows: Rows) -> None:
        """Reserve memory for rows of this form."""
        stored = (rows.values,) if isinstance(rows, Dense) else (rows.values, rows.indices)
        kinds = [array.dtype.type for array in stored]
        entries = int(self.capacity / rows.values.dtype.itemsize) + 1
        self.buffers = [reserved(entries, kind, self.huge) for kind in kinds]
        self.ends = reserved(int(self.capacity / ROW_BYTES) + 2, np.int64)
        self.kept = rows

    def row_costs(self, rows: Rows) -> np.ndarray:
        """Return the bytes that each row takes."""
        return ROW_BYTES + bytes_per_value(rows) * row_lengths(rows)

    def copy(self, rows: Rows) -> None:
        """Append rows."""
        start, stop = self.stored, self.stored + rows.values.size
        self.buffers[0][start:stop] = rows.values.ravel()
        if isinstance(rows, Csr):
            if rows.indices.dtype.itemsize > self.buffers[1].dtype.itemsize:  # a file's later blocks may be wider
                self.widen()
            self.buffers[1][start:stop] = rows.indices
            self.ends[self.count + 1 : self.count + 1 + count_rows(rows)] = rows.indptr[1:] + start
        self.count, self.stored = self.count + count_rows(rows), stop
        self.width = max(self.width, rows.d if isinstance(rows, Csr) else rows.values.shape[1])

    def widen(self) -> None:
        """Store the indices as 64-bit integers."""
        wide = reserved(len(self.buffers[1]), np.int64, self.huge)
        wide[: self.stored] = self.buffers[1][: self.stored]
        self.buffers[1] = wide

    def rows(self, d: int) -> Rows:
        """Return the collected rows, with d columns, as views of the memory of this store."""
        if isinstance(self.kept, Dense):
            return Dense(read_only(self.buffers[0][: self.stored].reshape(self.count, self.width)))
        values, indices = (buffer[: self.stored] for buffer in self.buffers)
        return Csr(read_only(values), read_only(indices), read_only(self.ends[: self.count + 1]), d)


def bytes_per_value(rows: Rows) -> int:
    """Return the bytes that a stored value takes, with its column."""
    return rows.values.dtype.itemsize + (0 if isinstance(rows, Dense) else rows.indices.dtype.itemsize)
