"""A problem whose rows pass by: what stays the same from pass to pass, and the certificate that rides on one.

When a pass begins, a point (w, b) and a feasible α are frozen. As rows go by, their losses at that point are added up,
and w(α) anew from the rows themselves. When the pass ends, P(w, b) − D(α) is a gap like any other: nothing in it comes
from what a solver has kept.

With a free bias the losses are added up for several b side by side, and the best of them counts.

Both objectives are rounded apart by a bound on their rounding errors (see rounding and certificate). It needs no norm
of a single row: by Cauchy and Schwarz, Σ α_i ‖x_i‖ ≤ ‖α‖ ‖X‖ and Σ ‖x_i‖ ≤ √n ‖X‖, with ‖X‖² the sum of all squares.

With a free bias, columns far from 0 are shifted as rows are read (see problem): x − c states the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.data.expand import Expansion
from maxmargin.data.far_columns import Shift, first_far
from maxmargin.data.labels import show
from maxmargin.data.passes import add_combination, scores
from maxmargin.data.rows import (
    Rows,
    count_columns,
    count_rows,
    count_stored,
    longest_row,
    part_of_rows,
    row_lengths,
)
from maxmargin.data.source import Source
from maxmargin.errors import DataError, FileError
from maxmargin.problems.bounded_sums import DualSums, dual_bound, price_of_balance
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.linear import FAR
from maxmargin.problems.losses import Loss
from maxmargin.system.rounding import LOSS, PAIRWISE, SMALLEST, gamma, margin_error

SIDE = 8  # how many b are tried on either side
WIDTH = 1.0  # how far they are apart at first, all of them,
NARROWER = 0.25  # and in the next pass, if the best was not at an end
BALANCED = 1e-10  # of Σ α: what Σ α_i y_i of a frozen α may be off
PART = 1 << 20  # numbers that are squared at once


@dataclass(frozen=True, eq=False)
class Streamed:
    """Rows that pass by, one C for all, a loss and a bias."""

    source: Source
    C: float
    loss: Loss
    bias: str
    bias_scale: float = 1.0
    identity: str = ""  # what tells the rows from others
    name: str = ""
    expansion: Expansion | None = None
    shift: Shift | None = None  # of columns far from 0

    @property
    def bias_square(self) -> float:
        """B² of a regularised bias, 0 otherwise."""
        return self.bias_scale**2 if self.bias == "regularised" else 0.0

    def norm(self, w: np.ndarray, b: float) -> float:
        """½‖w‖² + b²/(2B²), a part at a time: no second vector as long as w."""
        square = sum(float(np.sum(np.square(w[start : start + PART]))) for start in range(0, len(w), PART))
        return 0.5 * square + (0.5 * b * b / self.bias_square if self.bias_square else 0.0)

    def features(self, d: int) -> int:
        """How many features the solver sees where the file has d."""
        return self.expansion.columns(d) if self.expansion else d

    def parts(self, rows: Rows, most: float) -> Iterator[tuple[slice, Rows]]:
        """Rows as the solver sees them: made longer, shifted, no more than so many values at a time."""
        n = count_rows(rows)
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
        """The rows around the centre; what contradicts the reading that has found it is another file."""
        moved = rows if self.shift is None else self.shift.apply(rows)
        if moved is None:
            raise FileError(f"{self.source.name}: a column that was far from 0 is not so now: the file has changed")
        return moved

    def losses(self, margins: np.ndarray) -> float:
        """C Σ ℓ(m)."""
        return self.C * float(np.sum(self.loss.value(margins)))

    def dual_value(self, alpha: np.ndarray) -> float:
        """Σ d(α)."""
        return float(np.sum(self.loss.dual(alpha, np.full(len(alpha), self.C))))


def find_shift(problem: Streamed, most: float, stop: Callable[[], Any]) -> Shift | None:
    """How to shift columns far from 0, where a free bias allows it; None if there are none, or if it must stop.

    The file is read for as long as columns may be far from 0 and large: an ordinary one no further than its first rows.
    """
    if problem.bias != "free":
        return None
    found = None
    for block in problem.source.blocks():
        for _, rows in problem.parts(block.rows, most):
            found = first_far(rows) if found is None else found.narrowed(rows)
            if not found.length > FAR or stop():
                return None
    return found.shift if found else None


@dataclass
class TwoSides:
    """Labels as ±1, learnt as they come: the first that is seen is −1, the second +1; or one is +1, all others −1."""

    source: str
    positive: Any = None
    seen: list[Any] = field(default_factory=list)

    def signs(self, labels: np.ndarray, first: int) -> np.ndarray:
        """+1 and −1 for the rows of a block."""
        if self.positive is not None:
            return np.where(labels == self.positive, 1.0, -1.0)
        below = labels == self.seen[0] if self.seen else np.zeros(len(labels), dtype=np.bool_)
        if len(self.seen) < 2 or not np.all(below | (labels == self.seen[1])):
            for label in np.unique(labels).tolist():
                if label not in self.seen:
                    self.check(label, first + int(np.argmax(labels == label)))
                    self.seen.append(label)
            below = labels == self.seen[0]
        return np.where(below, -1.0, 1.0)

    def check(self, label: Any, row: int) -> None:
        """Refuse what cannot be another class."""
        if self.seen and isinstance(label, str) != isinstance(self.seen[0], str):
            raise DataError(
                f"{self.source}: row {row} (counted from 0) has the label {show(label)}: labels must be all numbers or "
                "all names"
            )
        if len(self.seen) == 2:
            raise MoreClassesError(label)

    def restore(self, seen: Any) -> None:
        """Go on from labels that were seen in an earlier run."""
        if (
            not isinstance(seen, list)
            or len(seen) > 2
            or not all(isinstance(label, (int, float, str)) for label in seen)
        ):
            raise ValueError(f"the labels seen are {seen!r}")
        self.seen = seen

    def check_both(self) -> None:
        """After a whole pass."""
        if self.positive is None and len(self.seen) < 2:
            raise DataError(f"{self.source} holds 1 class only, {show(self.seen[0])}: training needs at least two")

    @property
    def turned(self) -> bool:
        """Whether the class that was seen second comes first in order."""
        return self.positive is None and self.seen[1] < self.seen[0]


class MoreClassesError(Exception):
    """A third label."""


class StreamedCertificate:
    """What a pass adds up, for a frozen point."""

    def __init__(self, problem: Streamed, w: np.ndarray, b: float, width: float, sums: np.ndarray) -> None:
        self.problem, self.w = problem, w
        self.tried = b + width * np.linspace(-1.0, 1.0, 2 * SIDE + 1) if problem.bias == "free" else np.array([b])
        self.losses = np.zeros(len(self.tried))
        self.sums, self.dual_value, self.balance, self.total = sums, 0.0, 0.0, 0.0
        self.n, self.blocks, self.longest, self.squares, self.alpha_squares = 0, 0, 0, 0.0, 0.0
        self.sums[:] = 0.0

    def add(self, rows: Rows, y: np.ndarray, alpha: np.ndarray, first: int) -> None:
        """Some rows, with their frozen α."""
        if count_columns(rows) > len(self.w):
            raise FileError(
                f"{self.problem.source.name}: rows from number {first} on have features that they had not in the first "
                "pass: the file has changed"
            )
        f = scores(rows, self.w)
        for place, b in enumerate(self.tried):
            self.losses[place] += self.problem.losses(y * (f + b))
        signed = alpha * y
        self.dual_value += self.problem.dual_value(alpha)
        self.balance += float(np.sum(signed))
        self.total += float(np.sum(alpha))
        self.measure(rows, alpha)
        add_combination(rows, signed, self.sums)

    def measure(self, rows: Rows, alpha: np.ndarray) -> None:
        """What bounds rounding errors: how many rows there are, how long, and their squares."""
        self.n, self.blocks = self.n + len(alpha), self.blocks + 1
        self.longest = max(self.longest, longest_row(rows))
        self.squares += float(np.sum(np.square(rows.values, dtype=np.float64)))
        self.alpha_squares += float(np.sum(np.square(alpha)))

    @property
    def best(self) -> int:
        """Which b was best."""
        return int(np.argmin(self.losses))

    @property
    def b(self) -> float:
        """The best b that was tried."""
        return float(self.tried[self.best])

    @property
    def at_an_end(self) -> bool:
        """Whether a better one lies further out."""
        return len(self.tried) > 1 and self.best in (0, len(self.tried) - 1)

    def certificate(self) -> Certificate:
        """Of the frozen point, when all rows have gone by; an α that is not balanced bounds nothing for a free bias."""
        primal, primal_rounding = self.primal_side()
        if self.problem.bias == "free" and abs(self.balance) > BALANCED * max(self.total, 1e-300):
            return Certificate(primal, -np.inf, primal_rounding)
        dual, dual_rounding = self.dual_side()
        return Certificate(primal, dual, primal_rounding, dual_rounding)

    def primal_side(self) -> tuple[float, float]:
        """P(w, b) rounded up, and by how much."""
        problem, losses = self.problem, float(self.losses[self.best])
        norm = problem.norm(self.w, self.b)
        slope, constant = margin_error(self.longest, self.length(problem.norm(self.w, 0.0)), self.b)
        if problem.loss.name == "squared_hinge":
            errors = 2.0 * (slope * slope * self.squares + self.n * constant * constant)
            above = 2.0 * np.sqrt(problem.C * losses * problem.C * errors) + problem.C * errors
        else:
            above = problem.C * (slope * np.sqrt(self.n * self.squares) + self.n * constant)
        rounding = float(above) + gamma(2 * PAIRWISE + LOSS + self.blocks) * (norm + losses)
        return norm + losses + rounding, rounding

    def dual_side(self) -> tuple[float, float]:
        """D(α) rounded down, and by how much."""
        problem, half_square = self.problem, self.problem.norm(self.sums, 0.0)
        reach = float(np.sqrt(self.alpha_squares * self.squares)) * (1.0 + gamma(2 * PAIRWISE + self.blocks))
        sums = DualSums(self.dual_value, self.total, self.balance, reach)
        added = gamma(2 * PAIRWISE + LOSS + self.blocks)
        off = abs(self.balance) + added * self.total
        shrunk = price_of_balance(off, self.total) if problem.bias == "free" else 0.0
        error = (gamma(self.n + 8) + shrunk) * reach
        growth = self.length(half_square) * error + 0.5 * error * error
        return dual_bound(sums, off, half_square, growth, problem.bias_square, shrunk, added)

    def length(self, half_square: float) -> float:
        """‖w‖ of ½‖w‖², rounded up."""
        return float(np.sqrt(2.0 * half_square)) * (1.0 + gamma(2 * PAIRWISE)) + SMALLEST
