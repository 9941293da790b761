"""Rows that are kept while all rows pass by once: those with the largest keys, such as a random sample."""

from __future__ import annotations

import numpy as np

from maxmargin.data.collect import stacked
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Rows


class KeptRows:
    """The `most` rows with the largest keys so far, with their numbers."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: Rows | None = None
        self.keys = np.zeros(0)
        self.numbers = np.zeros(0, dtype=np.int64)

    def offer(self, keys: np.ndarray, rows: Rows, first: int) -> None:
        """Look at a block of rows, the first of which has the number `first`."""
        found = np.flatnonzero(keys > self.keys[-1]) if len(self.keys) == self.most else np.arange(len(keys))
        found = found[np.argsort(-keys[found], kind="stable")[: self.most]]
        if not len(found):
            return
        new = pick(rows, found)
        together = new if self.rows is None else stacked([self.rows, new], width(self.rows))
        all_keys, numbers = np.append(self.keys, keys[found]), np.append(self.numbers, found + first)
        order = np.argsort(-all_keys, kind="stable")[: self.most]
        self.rows, self.keys, self.numbers = pick(together, order), all_keys[order], numbers[order]


def width(rows: Rows) -> int:
    """Return the number of columns of sparse rows, 0 for others."""
    return rows.d if isinstance(rows, Csr) else 0
