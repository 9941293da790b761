"""A problem streamed from disk, pass after pass, and the certificate that is computed during a pass.

At the start of a pass, a point (w, b) and a feasible α are frozen. During the pass, the losses at that point and w(α)
are summed from the rows. At its end, P(w, b) − D(α) is a valid gap that uses no intermediate result of a solver.

With a free bias, the losses are summed for several values of b at once, and the best one is used.

Both objectives include a bound on their rounding errors (see rounding and certificate). It needs no norm of a single
row: by Cauchy–Schwarz, Σ α_i ‖x_i‖ ≤ ‖α‖ ‖X‖ and Σ ‖x_i‖ ≤ √n ‖X‖, where ‖X‖² is the sum of all squares.

With a free bias, columns far from 0 are shifted as rows are read (see linear.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.data.expand import Expansion
from maxmargin.data.far_columns import Shift
from maxmargin.data.labels import show
from maxmargin.data.passes import add_combination, scores
from maxmargin.data.preparation import Preparation, shift_of
from maxmargin.data.rows import (
    Rows,
    count_columns,
    longest_row,
)
from maxmargin.data.source import Source
from maxmargin.errors import DataError, FileError
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Loss
from maxmargin.problems.pass_bounds import DualSide, PrimalSide, Sizes, dual_side, half_norm, primal_side

BIASES_PER_SIDE = 8  # Values of b that are tried on each side of the current one.
WIDTH = 1.0  # Distance of the outermost b from the current one in the first pass.
NARROWER = 0.25  # Factor of that distance for the next pass, if the best b was not outermost.
BALANCE_TOLERANCE = 1e-10  # Relative to Σ α: with a larger |Σ α_i y_i|, the frozen α counts as infeasible.


@dataclass(frozen=True, eq=False)
class Streamed:
    """A two-class problem whose rows are read from a source, with one C, a loss and a bias."""

    source: Source
    C: float
    loss: Loss
    bias: str
    bias_scale: float = 1.0
    identity: str = ""  # digest of the files
    name: str = ""
    expansion: Expansion | None = None
    shift: Shift | None = None  # the shift of columns far from 0
    divisors: np.ndarray | None = None  # what features are divided by

    @property
    def bias_square(self) -> float:
        """B² of a regularised bias, 0 otherwise."""
        return self.bias_scale**2 if self.bias == "regularised" else 0.0

    def norm(self, w: np.ndarray, b: float) -> float:
        """Return ½‖w‖² + b²/(2B²)."""
        return half_norm(w, b, self.bias_square)

    @property
    def preparation(self) -> Preparation:
        """What is done to rows as they are read."""
        return Preparation(self.source.name, self.expansion, self.shift, self.divisors)

    def features(self, d: int) -> int:
        """Return the number of features after expansion, for d features in the file."""
        return self.preparation.features(d)

    def parts(self, rows: Rows, most: float) -> Iterator[tuple[slice, Rows]]:
        """Yield the rows scaled, expanded and shifted, in parts of at most `most` values."""
        return self.preparation.parts(rows, most)

    def losses(self, margins: np.ndarray) -> float:
        """Return C Σ ℓ(m)."""
        return self.C * float(np.sum(self.loss.value(margins)))

    def dual_value(self, alpha: np.ndarray) -> float:
        """Return Σ d(α)."""
        return float(np.sum(self.loss.dual(alpha, np.full(len(alpha), self.C))))


def find_shift(problem: Streamed, most: float, stop: Callable[[], Any]) -> Shift | None:
    """Return the shift of columns far from 0; None if there are none, if the bias is not free, or on `stop`."""
    return None if problem.bias != "free" else shift_of(problem.source, problem.preparation, most, stop)


@dataclass
class TwoSides:
    """Maps labels to ±1 as they are read: the first label seen is −1, the second +1; or `positive` is +1, others −1."""

    source: str
    positive: Any = None
    seen: list[Any] = field(default_factory=list)

    def signs(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return ±1 for the labels of a block."""
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
        """Raise if a label cannot be a new class."""
        if self.seen and isinstance(label, str) != isinstance(self.seen[0], str):
            raise DataError(
                f"{self.source}: row {row} (counted from 0) has the label {show(label)}: labels must be all numbers or "
                "all names"
            )
        if len(self.seen) == 2:
            raise MoreClassesError(label)

    def restore(self, seen: Any) -> None:
        """Restore the labels seen in an earlier run."""
        if (
            not isinstance(seen, list)
            or len(seen) > 2
            or not all(isinstance(label, (int, float, str)) for label in seen)
        ):
            raise ValueError(f"the labels seen are {seen!r}")
        self.seen = seen

    def check_both(self) -> None:
        """Raise if a complete pass has seen only one class."""
        if self.positive is None and len(self.seen) < 2:
            raise DataError(f"{self.source} holds 1 class only, {show(self.seen[0])}: training needs at least two")

    @property
    def turned(self) -> bool:
        """Whether the second class seen sorts before the first."""
        return self.positive is None and self.seen[1] < self.seen[0]


class MoreClassesError(Exception):
    """A third label was found."""


class StreamedCertificate:
    """The sums of a pass that certify a frozen point."""

    def __init__(self, problem: Streamed, w: np.ndarray, b: float, width: float, sums: np.ndarray) -> None:
        self.problem, self.w = problem, w
        self.tried = (
            b + width * np.linspace(-1.0, 1.0, 2 * BIASES_PER_SIDE + 1) if problem.bias == "free" else np.array([b])
        )
        self.losses = np.zeros(len(self.tried))
        self.sums, self.dual_value, self.balance, self.total = sums, 0.0, 0.0, 0.0
        self.n, self.blocks, self.longest, self.squares, self.alpha_squares = 0, 0, 0, 0.0, 0.0
        self.sums[:] = 0.0

    def add(self, rows: Rows, y: np.ndarray, alpha: np.ndarray, first: int) -> None:
        """Add some rows with their frozen α."""
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
        """Update the bounds for rounding errors: number of rows, longest row, sums of squares."""
        self.n, self.blocks = self.n + len(alpha), self.blocks + 1
        self.longest = max(self.longest, longest_row(rows))
        self.squares += float(np.sum(np.square(rows.values, dtype=np.float64)))
        self.alpha_squares += float(np.sum(np.square(alpha)))

    @property
    def best(self) -> int:
        """The position of the best b."""
        return int(np.argmin(self.losses))

    @property
    def b(self) -> float:
        """The best b of those tried."""
        return float(self.tried[self.best])

    @property
    def at_an_end(self) -> bool:
        """Whether the best b is outermost, so that a better one may be outside the range."""
        return len(self.tried) > 1 and self.best in (0, len(self.tried) - 1)

    def certificate(self) -> Certificate:
        """Return the certificate after all rows. With a free bias, an unbalanced α gives no bound."""
        primal, primal_rounding = self.primal_side()
        if self.problem.bias == "free" and abs(self.balance) > BALANCE_TOLERANCE * max(self.total, 1e-300):
            return Certificate(primal, -np.inf, primal_rounding)
        dual, dual_rounding = self.dual_side()
        return Certificate(primal, dual, primal_rounding, dual_rounding)

    def primal_side(self) -> tuple[float, float]:
        """Return P(w, b), rounded up, and the amount of this rounding."""
        C, losses = self.problem.C, float(self.losses[self.best])
        at = PrimalSide(self.w, self.b, losses, C * self.n, C)
        return primal_side(at, self.problem.loss, self.problem.bias_square, self.sizes)

    def dual_side(self) -> tuple[float, float]:
        """Return D(α), rounded down, and the amount of this rounding."""
        at = DualSide(self.sums, self.dual_value, self.total, self.balance, self.alpha_squares)
        return dual_side(at, self.problem.bias, self.problem.bias_square, self.sizes)

    @property
    def sizes(self) -> Sizes:
        """Sizes of the data. numpy.sum adds up the numbers of a block; rows are added to w(α) one after the other."""
        return Sizes(self.n, self.longest, self.squares, self.blocks, self.n)
