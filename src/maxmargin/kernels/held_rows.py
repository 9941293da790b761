"""A cache of rows of the kernel matrix. New rows replace the least recently used ones.

Fresh memory can cost more than computing a row again. So the cache uses a small part of its budget at first, and
doubles it whenever many evicted rows are needed again. If not all rows fit, columns that are not needed for a while can
be left out, so that more rows fit.
"""

from __future__ import annotations

import numpy as np

from maxmargin.kernels.functions import Kernel
from maxmargin.kernels.points import Points
from maxmargin.kernels.tiles import rows_of_kernel
from maxmargin.system.buffers import lender
from maxmargin.system.compiled import compiled

FEWEST = 64  # Fewest rows in the cache, even if they exceed the budget: a step of a solver needs several at once.
AT_FIRST = 2048  # Rows that the cache holds before it grows.
RETURNS = 0.25  # The cache doubles when this fraction of its rows was evicted and needed again.


class KernelRows:
    """The cache. `values[take(wanted)]` are the rows K(x_i, ·) of the wanted examples, over the columns in use."""

    def __init__(self, kernel: Kernel, points: Points, dtype: type, budget: float, threads: int) -> None:
        self.kernel, self.points, self.dtype, self.threads = kernel, points, dtype, threads
        n = len(points)
        most = max(int(budget) // np.dtype(dtype).itemsize, FEWEST * n)
        self.buffer = lender.lend(self, min(most, n * n), dtype)
        self.use_all()

    def use_all(self) -> None:
        """Start again with all columns and no rows."""
        self.lay_out(np.arange(len(self.points)))
        self.filled, self.clock, self.returns, self.open = 0, 0, 0, min(self.room, AT_FIRST)
        self.place, self.known = np.full(len(self.points), -1), np.zeros(len(self.points), dtype=bool)
        self.owner, self.used = np.full(self.room, -1), np.zeros(self.room, dtype=np.int64)

    def lay_out(self, columns: np.ndarray) -> None:
        """Lay out rows of these columns, one after the other, in the buffer."""
        n = len(self.points)
        self.columns, self.all = columns, len(columns) == n
        self.right = self.points if self.all else self.points.pick(columns)
        self.room = min(n, len(self.buffer) // max(len(columns), 1))
        self.values = self.buffer[: self.room * len(columns)].reshape(self.room, len(columns))

    def narrow(self, columns: np.ndarray) -> None:
        """Keep only these columns, if this makes room for more rows."""
        if self.room == len(self.points):
            return
        keep = self.column(columns)
        move_together(self.buffer, self.filled, len(self.columns), keep)
        self.lay_out(columns)
        more = self.room - len(self.owner)
        self.owner = np.append(self.owner, np.full(more, -1))
        self.used = np.append(self.used, np.zeros(more, dtype=np.int64))

    def column(self, examples: np.ndarray) -> np.ndarray:
        """Return the columns of these examples."""
        return examples if self.all else np.searchsorted(self.columns, examples)

    def take(self, wanted: np.ndarray) -> np.ndarray:
        """Return the positions of the rows of distinct examples, at most `room`; valid until the next call."""
        self.clock += 1
        self.open = max(self.open, min(self.room, len(wanted)))
        held = self.place[wanted] >= 0
        self.used[self.place[wanted[held]]] = self.clock
        missing = wanted[~held]
        if len(missing):
            self.compute(missing)
        return np.asarray(self.place[wanted])

    def one(self, example: int) -> np.ndarray:
        """Return the row of one example in float64. Its bits do not depend on the state of the cache."""
        return np.asarray(self.values[self.take(np.array([example]))[0]], dtype=np.float64)

    def compute(self, missing: np.ndarray) -> None:
        """Compute rows into free room, or in place of the least recently used ones."""
        self.grow(missing)
        free = min(self.open - self.filled, len(missing))
        old = np.argsort(self.used[: self.filled], kind="stable")[: len(missing) - free]
        self.place[self.owner[old[self.owner[old] >= 0]]] = -1
        places = np.concatenate([np.arange(self.filled, self.filled + free), old])
        self.owner[places], self.used[places] = -1, 0
        few = self.points.pick(missing)
        rows_of_kernel(self.kernel, few, self.right, self.values, self.threads, places)
        self.filled += free
        self.place[missing], self.owner[places], self.used[places] = places, missing, self.clock

    def grow(self, missing: np.ndarray) -> None:
        """Use more of the budget if evicted rows are needed again."""
        self.returns += int(np.count_nonzero(self.known[missing]))
        self.known[missing] = True
        while self.returns > RETURNS * self.open and self.open < self.room:
            self.open, self.returns = min(2 * self.open, self.room), 0


class WholeMatrix:
    """The same, with all rows of a kernel matrix that is known: nothing is computed or replaced."""

    all = True

    def __init__(self, K: np.ndarray) -> None:
        self.values, self.room, self.columns = K, len(K), np.arange(len(K))

    def use_all(self) -> None:
        """Do nothing: all columns are always in use."""

    def narrow(self, columns: np.ndarray) -> None:
        """Do nothing: there is room for all rows."""

    def column(self, examples: np.ndarray) -> np.ndarray:
        """Return the columns of these examples."""
        return examples

    def take(self, wanted: np.ndarray) -> np.ndarray:
        """Return the positions of the rows of these examples."""
        return wanted

    def one(self, example: int) -> np.ndarray:
        """Return the row of one example."""
        return np.asarray(self.values[example])


@compiled
def move_together(buffer, rows, width, keep):
    """Keep some columns of consecutive rows, in place. Numbers only move towards the start."""
    to = 0
    for k in range(rows):
        for c in range(keep.size):
            buffer[to] = buffer[k * width + keep[c]]
            to += 1
