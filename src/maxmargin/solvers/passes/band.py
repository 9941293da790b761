"""The band of an augmented Lagrangian over passes: the rows whose q may still change, held in memory.

The q of all other rows is at a bound of its box and far from leaving it, so that their part of the gradient is
constant. A pass collects the band; Newton steps are then taken in memory, and only the next pass reads all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.reduction import Part, RowFacts
from maxmargin.data.row_store import ROW_BYTES, RowStore, bytes_per_value
from maxmargin.data.rows import Rows
from maxmargin.problems.evaluation import AtRows
from maxmargin.solvers.parts.row_bands import BAND_WIDTH, distance_outside

FILLED = 0.95  # part of the store that all rows may fill


@dataclass(eq=False)
class Band:
    """Rows in memory with their numbers, labels ±1, C_i, multipliers α, q and margins; `whole` says that all fitted."""

    store: RowStore
    facts: RowFacts
    whole: bool = False
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def clear(self) -> None:
        """Remove all rows."""
        self.store.clear()
        self.parts.clear()
        self.whole = True

    def collect(self, part: Part, at: AtRows, epsilon: float) -> None:
        """Add the rows of a part whose q may still change. When one does not fit, the band is emptied and given up."""
        if not self.whole:
            return
        U = at.term.U  # C of hinge
        outside = distance_outside(U, at.margins, at.alpha, epsilon)
        inside = np.flatnonzero((outside <= BAND_WIDTH * epsilon * U) | self.holds_all(part.rows))
        if self.store.add(part.rows, inside) < len(inside):
            self.clear()
            self.whole = False
            return
        self.parts.append((inside + part.first, *(of[inside] for of in (at.y, U, at.alpha, at.q, at.margins))))

    def holds_all(self, rows: Rows) -> bool:
        """Whether all rows fit, according to the mean length of a row: then all of them are collected."""
        mean = ROW_BYTES + bytes_per_value(rows) * self.facts.nnz / max(self.facts.n, 1)
        return FILLED * self.store.capacity >= mean * self.facts.n

    def arrays(self) -> list[np.ndarray]:
        """Return the numbers, labels, C, α, q and margins of all rows of the band."""
        return [np.concatenate(kept) for kept in zip(*self.parts, strict=True)]

    def rows(self, d: int) -> Rows:
        """Return the rows of the band."""
        return self.store.rows(d)
