"""What is done to rows as they are read from a file: scaled, expanded, and columns far from 0 are shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.expand import Expansion
from maxmargin.data.far_columns import Shift, first_far
from maxmargin.data.rows import Rows, count_rows, count_stored, part_of_rows, row_lengths
from maxmargin.data.scaling import divided
from maxmargin.data.source import Source
from maxmargin.errors import FileError

SHIFTED_FROM = 1e6  # ‖x‖: columns far from 0 are searched above it; below, a score of order 1 has ten correct digits.


@dataclass(frozen=True, eq=False)
class Preparation:
    """What features are divided by, their expansion and the shift of columns, if any, in this order.

    `name` is that of the file, for messages.
    """

    name: str
    expansion: Expansion | None = None
    shift: Shift | None = None
    divisors: np.ndarray | None = None

    def features(self, d: int) -> int:
        """Return the number of features after expansion, for d features in the file."""
        return self.expansion.columns(d) if self.expansion else d

    def parts(self, rows: Rows, most: float) -> Iterator[tuple[slice, Rows]]:
        """Yield the rows scaled, expanded and shifted, in parts of at most `most` values."""
        n = count_rows(rows)
        rows = rows if self.divisors is None else divided(rows, self.divisors)
        if self.expansion is None and count_stored(rows) <= most:
            yield slice(0, n), self.shifted(rows)
            return
        ends = np.cumsum(self.expansion.sizes(rows) if self.expansion else row_lengths(rows))
        start = 0
        while start < n:
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
            part = part_of_rows(rows, start, stop)
            yield slice(start, stop), self.shifted(self.expansion.apply(part) if self.expansion else part)
            start = stop

    def shifted(self, rows: Rows) -> Rows:
        """Shift the rows; raise if a column is no longer far from 0, because then the file has changed."""
        moved = rows if self.shift is None else self.shift.apply(rows)
        if moved is None:
            raise FileError(f"{self.name}: a column that was far from 0 is not so now: the file has changed")
        return moved


def shift_of(source: Source, preparation: Preparation, most: float, stop: Callable[[], Any]) -> Shift | None:
    """Return the shift of columns far from 0; None if there are none, or on `stop`.

    The file is read only while some large column may still be far from 0. Most files are not read beyond their first
    rows.
    """
    found = None
    for block in source.blocks():
        for _, rows in preparation.parts(block.rows, most):
            found = first_far(rows) if found is None else found.narrowed(rows)
            if not found.length > SHIFTED_FROM or stop():
                return None
    return found.shift if found else None
