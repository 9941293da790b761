"""Passes of the interior-point method: the quantities of each row stay where the rows are.

Vectors  α_i y_i, C_i − α_i (room), s_i (surplus) and ξ_i (shortfall), all above 0 but for the sign of y_i; each twice,
         so that a step reads one copy and writes the other
Passes   Predict, for the direction with μ = 0;  Correct, for the length of the corrected direction;  MoveInside, which
         moves, and sums the matrix, the right-hand side and the certificate at the new point

How far a step can go is a minimum over the rows, while executors add totals up. So each part of the rows counts its own
minimum in a histogram of lengths; the least length in it is the least of all, rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.gram import weighted_gram
from maxmargin.data.passes import combination_with_bias, scores_with_bias
from maxmargin.data.reduction import Part, Totals
from maxmargin.problems.evaluation import Evaluate, TwoClasses
from maxmargin.solvers.dual.interior_point import START_INSIDE, START_SLACK

PER_OCTAVE = 64  # lengths of the histogram in each octave: the length of a step is at most 1.1 % too short
OCTAVES = 40  # octaves of the histogram below its largest length; a shorter step is no progress
LONGEST = 2.0  # largest length of the histogram
PIECES = "alpha", "room", "surplus", "shortfall"


class Names(NamedTuple):
    """The names of the vectors of α_i y_i, C_i − α_i, s_i and ξ_i."""

    alpha: str
    room: str
    surplus: str
    shortfall: str


NO_NAMES = Names("", "", "", "")


class Inside(NamedTuple):
    """A point or a direction on some rows: α, C − α (room), s (surplus), ξ (shortfall)."""

    alpha: np.ndarray
    room: np.ndarray
    surplus: np.ndarray
    shortfall: np.ndarray

    def after(self, step: Inside, t: Any) -> Inside:
        """Return the point after t times a step."""
        return Inside(*(value + t * change for value, change in zip(self, step, strict=True)))

    def products(self) -> np.ndarray:
        """Return α s and (C − α) ξ."""
        return np.stack([self.alpha * self.surplus, self.room * self.shortfall])

    def longest(self, step: Inside) -> float:
        """Return the length at which a step meets a bound; at most LONGEST."""
        ratios = [np.max(-change / value, initial=1.0 / LONGEST) for value, change in zip(self, step, strict=True)]
        return 1.0 / float(max(ratios))

    def bends(self) -> np.ndarray:
        """Return h_i, with 1/h_i = s_i/α_i + ξ_i/(C_i − α_i)."""
        return np.asarray(1.0 / (self.surplus / self.alpha + self.shortfall / self.room))


def placed(C: np.ndarray, margins: np.ndarray) -> Inside:
    """Return a point well inside the box, with ξ − s = 1 − m, and both products alike where the box allows it."""
    shortfall = np.maximum(1.0 - margins, 0.0) + START_SLACK
    surplus = shortfall - (1.0 - margins)
    share = np.clip(shortfall / (surplus + shortfall), START_INSIDE, 1.0 - START_INSIDE)
    return Inside(share * C, (1.0 - share) * C, surplus, shortfall)


class Step(NamedTuple):
    """The changes of v of the predictor and of the corrector, and the μ at which the corrector aims."""

    first: np.ndarray
    second: np.ndarray
    target: float


@dataclass(frozen=True, eq=False)
class RowsInside:
    """The point on the rows of one part whose box is more than {0}, at v; `some` are the numbers of these rows.

    `new` says which of them had no point, at the start or on a new worker, and have been placed.
    """

    part: Part
    some: np.ndarray
    new: np.ndarray
    y: np.ndarray
    margins: np.ndarray
    at: Inside

    def scores(self, v: np.ndarray) -> np.ndarray:
        """Return y_i ⟨z_i, v⟩."""
        return np.asarray(self.y * scores_with_bias(self.part.rows, len(v) - 1, v)[self.some])

    def whole(self, q: np.ndarray) -> np.ndarray:
        """Return values of these rows as a vector of all rows of the part; 0 elsewhere."""
        found = np.zeros(len(self.part.labels))
        found[self.some] = q
        return found

    def force(self, q: np.ndarray, size: int) -> np.ndarray:
        """Return Σ q_i y_i z_i."""
        return combination_with_bias(self.part.rows, size - 1, self.whole(q * self.y), size)

    def direction(self, v: np.ndarray, low: np.ndarray, high: np.ndarray) -> Inside:
        """Return the direction with the change v that changes α s by `low` and (C − α) ξ by `high`."""
        at = self.at
        unmet = 1.0 - self.margins - at.shortfall + at.surplus
        alpha = at.bends() * (unmet + low / at.alpha - high / at.room - self.scores(v))
        return Inside(alpha, -alpha, (low - at.surplus * alpha) / at.alpha, (high + at.shortfall * alpha) / at.room)

    def predictor(self, v: np.ndarray) -> Inside:
        """Return the direction for μ = 0."""
        low, high = self.at.products()
        return self.direction(v, -low, -high)

    def corrector(self, step: Step) -> Inside:
        """Return the direction for the target μ, corrected by the products of the changes of the predictor."""
        low, high = self.at.products() + self.predictor(step.first).products()
        return self.direction(step.second, step.target - low, step.target - high)


def rows_inside(problem: TwoClasses, part: Part, names: Names, v: np.ndarray) -> RowsInside:
    """Return the point on the rows of a part. Rows without one, at the start or on a new worker, are placed inside."""
    C, y = problem.strengths(part), problem.signs(part.labels)
    margins = y * scores_with_bias(part.rows, len(v) - 1, v)
    some = np.flatnonzero(C > 0.0)
    stored = [np.abs(part.vectors[name])[some] for name in names]
    new = np.any([value == 0.0 for value in stored], axis=0) | (stored[0] > C[some])
    fresh = placed(C[some], margins[some])
    at = Inside(*(np.where(new, begun, value) for begun, value in zip(fresh, stored, strict=True)))
    return RowsInside(part, some, new, y[some], margins[some], at)


@dataclass(frozen=True, eq=False)
class OverInside:
    """A pass at v over the rows of the point that the vectors `names` hold."""

    problem: TwoClasses
    v: np.ndarray
    names: Names

    @property
    def vectors(self) -> tuple[str, ...]:
        """The vectors of the point."""
        return self.names

    def rows(self, part: Part) -> RowsInside:
        """Return the point on the rows of a part."""
        return rows_inside(self.problem, part, self.names, self.v)


@dataclass(frozen=True, eq=False)
class Predict(OverInside):
    """Sums for the corrector, from the change `first` of v of the predictor.

    Totals: the histogram of lengths; Σ of the products, and of their changes with t and with t²; the forces of the
    second-order term, and those of μ = 1.
    """

    first: np.ndarray

    def totals(self) -> Totals:
        """Return zeros."""
        return histogram(), np.zeros(3), np.zeros(len(self.v)), np.zeros(len(self.v))

    def add(self, part: Part, totals: Totals) -> None:
        """Add the sums of one part of the rows."""
        inside, size = self.rows(part), len(self.v)
        at, step = inside.at, inside.predictor(self.first)
        count(at.longest(step), totals[0])
        here, bent, there = (float(np.sum(one.products())) for one in (at, step, at.after(step, 1.0)))
        totals[1][:] += here, there - here - bent, bent
        low, high = step.products()
        totals[2][:] += inside.force(at.bends() * (high / at.room - low / at.alpha), size)
        totals[3][:] += inside.force(at.bends() * (1.0 / at.alpha - 1.0 / at.room), size)


@dataclass(frozen=True, eq=False)
class Correct(OverInside):
    """The histogram of the lengths that the corrected direction allows."""

    step: Step

    def totals(self) -> Totals:
        """Return zeros."""
        return (histogram(),)

    def add(self, part: Part, totals: Totals) -> None:
        """Count the length that the rows of one part allow."""
        inside = self.rows(part)
        count(inside.at.longest(inside.corrector(self.step)), totals[0])


@dataclass(frozen=True, eq=False)
class MoveInside(Evaluate):
    """Moves from the point of the vectors `names` by t times a step, to the vectors `others`, and evaluates there.

    v is the new point; `before` the old one. Without a step, the point stays. The totals are those of `Evaluate` with
    q = α, then Σ h_i (1 − m_i) y_i z_i and the matrix Σ h_i z_i z_iᵀ.
    """

    names: Names = NO_NAMES
    others: Names = NO_NAMES
    moved: Step | None = None
    before: np.ndarray | None = None
    length: float = 0.0

    @property
    def vectors(self) -> tuple[str, ...]:
        """Both copies of the vectors."""
        return (*self.names, *self.others)

    def totals(self) -> Totals:
        """Return zeros."""
        size = len(self.v)
        return (*super().totals(), np.zeros(size), np.zeros((size, size)))

    def add(self, part: Part, totals: Totals) -> None:
        """Move on the rows of one part, and add the sums at the new point."""
        self.move(part)
        self.add_rows(part, totals)
        inside, size = rows_inside(self.problem, part, self.others, self.v), len(self.v)
        h = inside.at.bends()
        totals[4][:] += inside.force(h * (1.0 - inside.margins), size)
        weighted_gram(part.rows, size - 1, inside.whole(h), totals[5])

    def move(self, part: Part) -> None:
        """Write the new point of the rows of one part; α + (C − α) = C is restored from the smaller of both.

        Rows that have just been placed on a new worker stay there: the length of the step was found without them.
        """
        inside = rows_inside(self.problem, part, self.names, self.v if self.before is None else self.before)
        at = inside.at
        if self.moved is not None:
            at = at.after(inside.corrector(self.moved), np.where(inside.new, 0.0, self.length))
        C, low = self.problem.strengths(part)[inside.some], at.alpha < at.room
        alpha, room = np.where(low, at.alpha, C - at.room), np.where(low, C - at.alpha, at.room)
        alpha, room = np.clip(alpha, 0.0, C), np.clip(room, 0.0, C)
        for name, value in zip(self.others, (alpha * inside.y, room, at.surplus, at.shortfall), strict=True):
            part.vectors[name][:] = inside.whole(value)


def histogram() -> np.ndarray:
    """Return an empty histogram of lengths."""
    return np.zeros(OCTAVES * PER_OCTAVE + 1)


def count(length: float, counts: np.ndarray) -> None:
    """Count a length, rounded down, in the histogram."""
    if np.isfinite(length) and length > 0.0:
        place = np.ceil((np.log2(LONGEST) - np.log2(length)) * PER_OCTAVE - 1e-9)
    else:
        place = np.inf
    counts[int(np.clip(place, 0, len(counts) - 1))] += 1.0


def least_length(counts: np.ndarray) -> float:
    """Return the least length of the histogram; 0 if it is shorter than all of its lengths."""
    last = int(np.max(np.flatnonzero(counts), initial=0))
    return 0.0 if last == len(counts) - 1 else float(LONGEST * 2.0 ** (-last / PER_OCTAVE))
