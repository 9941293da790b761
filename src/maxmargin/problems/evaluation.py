"""The objective at a point, with its gradient, its Hessian and its certificate, from one pass over the rows.

At v = (w, b), with margins m_i, a pass sums

    losses      Σ C_i ℓ(m_i)
    forces      Σ q_i y_i z_i of each class, z_i = (x_i, 1),   q_i = −C_i ℓ′(m_i), so that ∇P = r v − forces
    matrix      Σ h_i z_i z_iᵀ,                                h_i = C_i ℓ″(m_i)
    dual terms  Σ d_i(q_i), Σ q_i of each class, Σ q_i²

q is a feasible α, up to Σ q_i y_i = 0 for a free bias, and w(q) is the sum of the forces: one pass gives P, ∇P, ∇²P and
the certificate. For hinge, q_i = clip(α_i + (1 − m_i)/ε) is that of the augmented Lagrangian with multipliers α, a
vector of the executor; with ε = ∞ it is α itself.

For a free bias, α is scaled down in one class so that Σ α_i y_i = 0. The sums of each class are enough for that: d is
concave with d(0) = 0, so d(s α) ≥ s d(α) for 0 ≤ s ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.folds import folds_of_rows
from maxmargin.data.gram import weighted_gram
from maxmargin.data.reduction import Part, RowFacts, Totals
from maxmargin.data.rows import axpy, count_rows, dot
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.dual_terms import DualTerm, dual_value, fenchel_young_gap, response, softened
from maxmargin.problems.losses import Loss
from maxmargin.problems.pass_bounds import DualSide, PrimalSide, Sizes, dual_side, primal_side
from maxmargin.system.compiled import compiled

LOSSES, SLACK, SQUARES = 0, 1, 2  # places in `numbers`
TERMS, TOTAL = 3, 5  # places of the sums of the negative class in `numbers`; those of the positive class follow
NUMBERS = 7
NOTHING = np.zeros(0)
SUMMED_APART = 1 << 16  # up to so many features the rows of a part are summed apart, which rounds less
# Lengths at which a pass also sums the slope of a step. Where no row is curved, a Newton step may be far too long.
LENGTHS = np.array([*(0.5**k for k in (40, 30, 24, 20, 16, 13, 11, 9, 8, 7, 6, 5, 4, 3, 2, 1)), 2.0, 4.0])


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """A two-class problem without its rows: loss, C, the label of the positive class, and weights of all classes.

    Rows of the fold number `fold` of `folds`, if any, are held out: their weight is 0.
    """

    loss: Loss
    C: float
    positive: Any
    classes: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    fold: int | None = None
    folds: int = 1

    def signs(self, labels: np.ndarray) -> np.ndarray:
        """Return +1.0 for the positive class, −1.0 for the others."""
        return np.where(labels == self.positive, 1.0, -1.0)

    def strengths(self, part: Part) -> np.ndarray:
        """Return C_i of the rows of a part."""
        C = np.full(count_rows(part.rows), self.C) if part.weights is None else self.C * part.weights
        if self.class_weights is not None:
            assert self.classes is not None
            C *= self.class_weights[np.searchsorted(self.classes, part.labels)]
        if self.fold is not None:
            C[folds_of_rows(part, self.folds) == self.fold] = 0.0
        return C

    def sum_of_C(self, facts: RowFacts) -> float:
        """Return Σ C_i; with held-out rows an upper bound, which includes theirs."""
        weights = facts.class_weights if self.class_weights is None else facts.class_weights * self.class_weights
        return self.C * float(np.sum(weights))

    def largest_C(self, facts: RowFacts) -> float:
        """Return an upper bound of C_i."""
        return self.C * facts.most_weight * (1.0 if self.class_weights is None else float(np.max(self.class_weights)))

    def term(self, part: Part) -> DualTerm:
        """Return the dual terms of the rows of a part."""
        return self.loss.dual_term(self.strengths(part))


class AtRows(NamedTuple):
    """The labels ±1, dual terms, margins, multipliers α, q and h of some rows."""

    y: np.ndarray
    term: DualTerm
    margins: np.ndarray
    alpha: np.ndarray
    q: np.ndarray
    h: np.ndarray


@dataclass(frozen=True, eq=False)
class Evaluate:
    """The pass that evaluates the objective at v.

    v has d + 1 entries, the last of which is b. With `step`, which led to v, Σ q_i y_i ⟨z_i, step⟩ at v − (1 − t) step
    is summed too, for the lengths t in LENGTHS: it gives the slope of the objective along the step. With ε > 0, q is
    that of the augmented Lagrangian, whose α is the vector `multipliers`, or C/2. The vectors `forces` and
    `curvatures`, if named, receive q_i y_i and h_i. Vectors of dual variables hold α_i y_i.
    """

    problem: TwoClasses
    v: np.ndarray
    matrix: bool = False
    step: np.ndarray | None = None
    multipliers: str = ""
    forces: str = ""
    curvatures: str = ""
    epsilon: float = 0.0

    @property
    def vectors(self) -> tuple[str, ...]:
        """The multipliers, the forces and the curvatures, if any."""
        return tuple(name for name in (self.multipliers, self.forces, self.curvatures) if name)

    def totals(self) -> Totals:
        """Return zeros: forces of each class, numbers, forces along the step, and the matrix."""
        size = len(self.v)
        side = size if self.matrix else 0
        along = np.zeros(len(LENGTHS) if self.step is not None else 0)
        return np.zeros((2, size)), np.zeros(NUMBERS), along, np.zeros((side, side))

    def add(self, part: Part, totals: Totals) -> None:
        """Add the sums of one part of the rows."""
        self.add_rows(part, totals)

    def add_rows(self, part: Part, totals: Totals) -> AtRows:
        """Add the sums of one part of the rows, and return what was computed for each row."""
        forces, numbers, along, matrix = totals[:4]
        rows, y, term, d = part.rows, self.problem.signs(part.labels), self.problem.term(part), len(self.v) - 1
        n = len(y)
        margins, q, h = np.empty(n), np.empty(n), np.empty(n)
        alpha = np.abs(part.vectors[self.multipliers]) if self.multipliers else 0.5 * self.problem.strengths(part)
        own, own_numbers = (np.zeros_like(forces), np.zeros(NUMBERS)) if d <= SUMMED_APART else (forces, numbers)
        evaluate_rows(rows, y, term, self.v[:d], self.v[d], alpha, self.epsilon, margins, q, h, own, own_numbers)
        if own is not forces:
            forces += own
            numbers += own_numbers
        if self.step is not None:
            add_forces_along(rows, y, term, margins, alpha, self.epsilon, self.step[:d], self.step[d], LENGTHS, along)
        if self.matrix:
            weighted_gram(rows, d, h, matrix)
        if self.forces:
            np.multiply(q, y, out=part.vectors[self.forces])
        if self.curvatures:
            part.vectors[self.curvatures][:] = h
        return AtRows(y, term, margins, alpha, q, h)


class Evaluated(NamedTuple):
    """The totals of `Evaluate` over all rows at v, and what follows from them.

    `along` holds the sums of forces along the last step, for the lengths in LENGTHS. `q_vector` names the vector that
    holds q_i y_i, if q depends on more than v.
    """

    v: np.ndarray
    forces: np.ndarray
    numbers: np.ndarray
    along: np.ndarray
    matrix: np.ndarray
    q_vector: str = ""

    @property
    def force(self) -> np.ndarray:
        """Σ q_i y_i z_i over all rows."""
        return np.asarray(self.forces[1] - self.forces[0])

    @property
    def losses(self) -> float:
        """Σ C_i ℓ(m_i)."""
        return float(self.numbers[LOSSES])

    @property
    def slack(self) -> float:
        """The gap of the losses with their q: Σ C_i ℓ(m_i) − d_i(q_i) + q_i m_i."""
        return float(self.numbers[SLACK])


@dataclass(frozen=True, eq=False)
class Regulariser:
    """½ Σ r_k v_k² of v = (w, b): r is 1 for w; for b, 1/B² if regularised, else 0. Without a bias, b stays 0."""

    d: int
    bias: str
    bias_scale: float = 1.0
    r: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        r = np.ones(self.d + 1)
        r[-1] = 1.0 / self.bias_square if self.bias_square else 0.0
        object.__setattr__(self, "r", r)

    @property
    def bias_square(self) -> float:
        """B² of a regularised bias, 0 otherwise."""
        return self.bias_scale**2 if self.bias == "regularised" else 0.0

    @property
    def free(self) -> slice:
        """The entries of v that may change: all, or all but b."""
        return slice(0, self.d if self.bias == "none" else self.d + 1)

    def value(self, v: np.ndarray) -> float:
        """Return ½ Σ r_k v_k²."""
        return 0.5 * float(np.sum(self.r * np.square(v)))


def certificate_at(
    at: Evaluated, problem: TwoClasses, regulariser: Regulariser, facts: RowFacts
) -> tuple[Certificate, tuple[float, float]]:
    """Return the certificate of v and of q, and the factors by which q of each class is scaled down."""
    sizes = sizes_of(facts)
    primal, above = primal_side(
        PrimalSide(at.v[:-1], float(at.v[-1]), at.losses, problem.sum_of_C(facts), problem.largest_C(facts)),
        problem.loss, regulariser.bias_square, sizes,
    )  # fmt: skip
    factors = balancing(at.numbers) if regulariser.bias == "free" else (1.0, 1.0)
    low, high = factors
    w = high * at.forces[1, :-1] - low * at.forces[0, :-1]
    terms = low * at.numbers[TERMS] + high * at.numbers[TERMS + 1]
    totals = low * at.numbers[TOTAL], high * at.numbers[TOTAL + 1]
    dual, below = dual_side(
        DualSide(w, float(terms), float(sum(totals)), float(totals[1] - totals[0]), float(at.numbers[SQUARES])),
        regulariser.bias, regulariser.bias_square, sizes,
    )  # fmt: skip
    if not np.isfinite(primal):
        return Certificate(np.inf, -np.inf), factors
    return Certificate(primal, dual, above, below), factors


def sizes_of(facts: RowFacts) -> Sizes:
    """Return the sizes that bound the rounding errors of `Evaluate`."""
    additions = facts.blocks + (facts.longest_part if facts.d <= SUMMED_APART else facts.n)
    return Sizes(facts.n, facts.longest, facts.squares, additions, additions)


def balancing(numbers: np.ndarray) -> tuple[float, float]:
    """Return the factors ≤ 1 for the negative and the positive class that make Σ α_i y_i zero."""
    low, high = float(numbers[TOTAL]), float(numbers[TOTAL + 1])
    if low <= 0.0 or high <= 0.0:
        return 0.0, 0.0
    return (1.0, low / high) if high > low else (high / low, 1.0)


@compiled
def evaluate_rows(rows, y, term, w, b, alpha, epsilon, margins, q, h, forces, numbers):
    """Compute margins, q and h of the rows, and add their sums to `forces` and `numbers`."""
    losses, slack, squares = 0.0, 0.0, 0.0
    for i in range(y.size):
        m = y[i] * (dot(rows, i, w) + b)
        margins[i] = m
        losses += response(term, i, m)[0]
        if epsilon == np.inf:
            q[i], h[i] = alpha[i], 0.0
        else:
            q[i], h[i] = softened(term, i, m, alpha[i], epsilon)
        a = q[i]
        side = 1 if y[i] > 0.0 else 0
        if epsilon > 0.0:
            slack += fenchel_young_gap(term, i, a, m)
        if a != 0.0:
            squares += a * a
            numbers[TERMS + side] += dual_value(term, i, a)
            numbers[TOTAL + side] += a
            axpy(rows, i, a, forces[side])
            forces[side, -1] += a
    numbers[LOSSES] += losses
    numbers[SLACK] += slack
    numbers[SQUARES] += squares


@compiled
def add_forces_along(rows, y, term, margins, alpha, epsilon, step, b, lengths, along):
    """Add Σ q_i y_i ⟨z_i, step⟩ to `along` for each length t, with q_i at the margin after t − 1 further steps."""
    for i in range(y.size):
        change = y[i] * (dot(rows, i, step) + b)
        for k in range(lengths.size):
            along[k] += softened(term, i, margins[i] + (lengths[k] - 1.0) * change, alpha[i], epsilon)[0] * change
