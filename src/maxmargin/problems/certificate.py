"""The certificate: an upper bound on the distance of the objective from the optimum.

For any (w, b) and any feasible α,   P(w, b) − P* ≤ P(w, b) − D(α) = gap,   by weak duality.

`certify` uses no intermediate result of a solver. It takes a point and makes α feasible: inside its box, and with
Σ α_i y_i = 0 if the bias is free. It then computes both objectives in float64 in fresh passes over the data: w(α) from
α, the margins from w, and the optimal b. Half of a point may be missing. The w of a dual point is w(α). The α of a
primal point is −C_i ℓ′(m_i).

`primal` is rounded up and `dual` is rounded down by a bound on the rounding errors of their own sums (see rounding). In
exact arithmetic P(w, b) ≤ primal and dual ≤ P*, so a gap is never negative.

    primal    the losses are evaluated at margins lowered by the errors of this evaluation and of the one in `predict`
    dual      the error of w(α) is added to ‖w(α)‖. If Σ α_i y_i is not exactly 0, scaling the α of the heavier class by
              1 − t makes it 0. The cost is bounded by t: d_i is concave with d_i(0) = 0, and w(α) moves by at most
              t Σ α_i ‖x_i‖

The norms ‖w‖ ‖x_i‖ bound the errors without an extra pass. If that bound is large (features of very different sizes),
two extra passes tighten it: one over the absolute values of the rows, Σ_j |w_j x_ij|, and one that computes w(α) in
doubled precision.

If C is infinite, a point may have no finite certificate. The hard-margin objective is ∞ until every example is on the
correct side; then w and α are scaled optimally. Unregularised logistic regression has no bound until α can be balanced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, inf, isinf
from typing import NamedTuple

import numpy as np

from maxmargin.data.passes import (
    absolute_scores,
    accurate_combination,
    combination,
    scores,
    scores_and_combination,
)
from maxmargin.problems.balance import balanced
from maxmargin.problems.best_bias import best_bias
from maxmargin.problems.bounded_sums import (
    FEW,
    additions_of_blocks,
    dual_bound,
    dual_sums,
    dual_sums_of_few,
    loss_sums,
    loss_sums_of_few,
    price_of_balance,
)
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import HARD_MARGIN
from maxmargin.system.rounding import LOSS, SMALLEST, UNIT, additions_of_sum, gamma, length, margin_error

ALL = slice(None)
# The rounding bound is tightened by two extra passes if it exceeds both of these fractions.
LARGE_ROUNDING = 1e-7  # Of the objective. It is also the most by which `stretched` scales w up.
LARGE_SHARE = 0.05  # Of the gap: otherwise the passes would change the gap by less than this.


@dataclass(frozen=True)
class Certificate:
    """Primal and dual objective. Their difference, the gap, bounds the distance of `primal` from the optimum.

    `primal` is rounded up and `dual` down; `primal_rounding` and `dual_rounding` are the parts of the gap that come
    from this. `scale` replaces the objective in the relative gap if the objective is near 0 (one-class and ν
    formulations, constant targets).
    """

    primal: float
    dual: float
    primal_rounding: float = 0.0
    dual_rounding: float = 0.0
    scale: float = 0.0

    @property
    def gap(self) -> float:
        """Primal − dual, never negative."""
        return self.primal - self.dual

    @property
    def rounding(self) -> float:
        """The part of the gap that is a bound on rounding errors."""
        return self.primal_rounding + self.dual_rounding

    @property
    def measure(self) -> float:
        """The denominator of the relative gap: the objective, or the scale if that is larger."""
        return max(abs(self.primal), self.scale)

    @property
    def relative_gap(self) -> float:
        """The gap divided by the objective, or by the scale if that is larger."""
        gap, measure = self.gap, self.measure
        if isinf(gap) or measure == 0.0:
            return 0.0 if gap == 0.0 else inf
        return gap / measure

    def meets(self, tol: float) -> bool:
        """Whether the relative gap is at most `tol`."""
        return 0.0 <= self.gap < inf and self.relative_gap <= tol

    @property
    def only_rounding(self) -> bool:
        """Whether at least half of the gap is the rounding bound, so that no step can reduce it much."""
        return self.gap <= 2.0 * self.rounding

    def __str__(self) -> str:
        """Return a one-line summary."""
        return f"objective {self.primal:.8g}, at most {self.relative_gap:.2e} of it above the optimum"


def summed(certificates: Iterable[Certificate]) -> Certificate:
    """Return the certificate of several problems together, whose objectives are added."""
    every = list(certificates)
    if len(every) == 1:
        return every[0]
    names = ("primal", "dual", "primal_rounding", "dual_rounding", "scale")
    primal, dual, up, down, scale = (sum(getattr(one, name) for one in every) for name in names)
    added = gamma(len(every)) * sum(abs(one.primal) + abs(one.dual) for one in every)
    added = added if np.isfinite(added) else 0.0
    return Certificate(primal + added, dual - added, up + added, down + added, scale)


def joined(primal: Certificate, dual: Certificate) -> Certificate:
    """Combine the primal of one certificate with the dual of another one of the same problem."""
    scale = max(primal.scale, dual.scale)
    return Certificate(primal.primal, dual.dual, primal.primal_rounding, dual.dual_rounding, scale)


class Side(NamedTuple):
    """One objective, rounded up (primal) or down (dual), and the amount of this rounding."""

    value: float
    rounding: float


class Sizes(NamedTuple):
    """Bounds for rounding errors: `reach` × rows[i] ≥ Σ_j |w_j x_ij|, and columns[j] ≥ Σ_i |α_i x_ij|.

    If `columns` is given, w(α) was computed by `accurate_combination`.
    """

    reach: float
    rows: np.ndarray
    columns: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Point:
    """The current point of a solver. A dual solver may omit w, a primal solver alpha.

    `best_b` says that b is the best bias for this w already, so that a certificate need not search it.
    """

    w: np.ndarray | None = None
    b: float = 0.0
    alpha: np.ndarray | None = None
    best_b: bool = False


@dataclass(frozen=True, eq=False)
class Certified:
    """A complete point with its certificate.

    With a kernel `w` holds the coefficient of each row, w = Σ c_i φ(x_i), `alpha` the variables of the formulation, and
    `width` a further result: −ρ of ν-SVC, ε of ν-SVR.
    """

    w: np.ndarray
    b: float
    alpha: np.ndarray
    certificate: Certificate
    scores: np.ndarray | None = None
    width: float = 0.0
    solver_rounding: float = 0.0  # relative rounding bound of plain float64 sums, such as those of solvers


def certify(problem: Problem, point: Point) -> Certified:
    """Complete a point and certify it."""
    if point.w is None:
        if point.alpha is None:
            raise ValueError("a point needs w or alpha")
        alpha, w, b = dual_point(problem, point.alpha)
        w_dual = w
        w, b, f = with_best_bias(problem, w, b)
    elif problem.bounded and (point.alpha is not None or problem.bias != "free"):
        return certify_at_once(problem, point)
    else:
        w, b, f = with_best_bias(problem, point.w.copy(), point.b, point.b)  # the solver keeps its own w
        margins = problem.y * (f + b)
        if not problem.ridge:
            alpha, dual = balanced(problem, answers(problem, margins), margins, w, b)
            return Certified(w, b, alpha, certificate_of(primal_side(problem, w, b, f), Side(*dual)))
        alpha, w_dual, _ = dual_point(problem, answers(problem, margins) if point.alpha is None else point.alpha)
    return certified_at(problem, w, b, f, alpha, w_dual)


def certify_at_once(problem: Problem, point: Point) -> Certified:
    """Certify in one pass over the rows. A missing α is computed from the margins, which requires a known b."""
    assert point.w is not None
    w, b, alpha = point.w.copy(), point.b, point.alpha
    own = np.empty(problem.n) if alpha is None else feasible(problem, alpha)

    def answer(part: slice, f: np.ndarray) -> np.ndarray:
        if alpha is None:
            with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows up in the objectives
                own[part] = dual_from_margins(problem, problem.y[part] * (f + b), part)
        return np.asarray(own[part] * problem.y[part])

    f, w_dual = scores_and_combination(problem.rows, problem.d, w, answer, problem.threads)
    if problem.bias == "free" and not point.best_b:
        b = best_bias(f, problem.y, problem.C, problem.loss, b, problem.threads)
    return certified_at(problem, w, b, f, own, w_dual)


def certified_at(
    problem: Problem, w: np.ndarray, b: float, f: np.ndarray, alpha: np.ndarray, w_dual: np.ndarray
) -> Certified:
    """Certify (w, b) with its scores f, and α with its w(α). Large rounding bounds are tightened."""
    primal, dual = primal_side(problem, w, b, f), dual_side(problem, alpha, w_dual)
    rounding = primal.rounding + dual.rounding
    relative = rounding / abs(primal.value)
    if relative > LARGE_ROUNDING and rounding > LARGE_SHARE * (primal.value - dual.value):
        rows = absolute_scores(problem.rows, w, problem.threads)
        exact, columns = accurate_combination(problem.rows, problem.d, alpha * problem.y, problem.threads)
        closer = Sizes(1.0, rows, columns)
        primal = least(primal, primal_side(problem, w, b, f, closer))
        dual = greatest(dual, dual_side(problem, alpha, exact, closer))
        w, b, primal = stretched(problem, w, b, f, closer, primal)
    return Certified(w, b, alpha, certificate_of(primal, dual), solver_rounding=relative)


def stretched(
    problem: Problem, w: np.ndarray, b: float, f: np.ndarray, sizes: Sizes, primal: Side
) -> tuple[np.ndarray, float, Side]:
    """Scale (w, b) up slightly, so that margins of 1 stay above 1 despite rounding, if this lowers the bound.

    With a large C, each margin error at the kink of the hinge costs up to C. A longer w costs only its norm.
    """
    slope, constant = margin_error(problem.longest, sizes.reach, b)
    longer = 1.0 + 3.0 * float(np.max(slope * sizes.rows + constant))
    if not (problem.bounded and np.isfinite(longer)) or longer > 1.0 + LARGE_ROUNDING:
        return w, b, primal
    side = primal_side(problem, longer * w, longer * b, longer * f, Sizes(longer * sizes.reach, sizes.rows))
    return (longer * w, longer * b, side) if side.value < primal.value else (w, b, primal)


def certificate_of(primal: Side, dual: Side) -> Certificate:
    """Return the certificate of two bounds."""
    return Certificate(primal.value, dual.value, primal.rounding, dual.rounding)


def least(one: Side, other: Side) -> Side:
    """Return the lower of two upper bounds."""
    return other if other.value < one.value else one


def greatest(one: Side, other: Side) -> Side:
    """Return the higher of two lower bounds."""
    return other if other.value > one.value else one


def primal_side(problem: Problem, w: np.ndarray, b: float, f: np.ndarray, sizes: Sizes | None = None) -> Side:
    """Return P(w, b), rounded up, from its scores f."""
    square = float(np.sum(np.square(w)))
    norm = problem.norm_of(square, b)
    sizes = sizes or Sizes(length(square, len(w)), problem.norms)
    error = margin_error(problem.longest, sizes.reach, b)
    if problem.loss is HARD_MARGIN:
        margins = (problem.y * (f + b) - (error[0] * sizes.rows + error[1]))[problem.counted]
        losses = above = 0.0 if np.all(margins >= 1.0) else np.inf
    elif problem.n <= FEW:
        e = error[0] * sizes.rows + error[1]
        losses, above = loss_sums_of_few(problem.loss, problem.C, problem.y * (f + b), e)
    else:
        losses, above = loss_sums(f, problem.y, problem.dual_term, b, sizes.rows, error, problem.threads)
    underflow = SMALLEST * (1.0 + problem.n * problem.mean_C)  # of the squares and the losses
    upper = (norm * (1.0 + gamma(additions_of_sum(len(w)) + 8)) + above) * (1.0 + 4.0 * UNIT) + underflow
    return Side(upper, max(upper - (norm + losses), 0.0) if np.isfinite(upper) else 0.0)


def dual_side(problem: Problem, alpha: np.ndarray, w: np.ndarray, sizes: Sizes | None = None) -> Side:
    """Return D(α), rounded down, from the computed w = w(α)."""
    if problem.n <= FEW:
        sums = dual_sums_of_few(problem.loss, problem.C, alpha, problem.y, problem.norms)
    else:
        sums = dual_sums(alpha, problem.y, problem.dual_term, problem.norms, problem.threads)
    added = gamma(max(additions_of_blocks(problem.n), additions_of_sum(len(w))) + LOSS)
    off = abs(sums.balance) + added * sums.total
    if sizes is not None and problem.bias != "none":
        sums = sums._replace(balance=fsum((alpha * problem.y).tolist()))
        off = abs(sums.balance) * (1.0 + 4.0 * UNIT)
    shrunk = price_of_balance(off, sums.total) if problem.bias == "free" else 0.0
    square = float(np.sum(np.square(w)))
    if sizes is None or sizes.columns is None:
        error = (problem.steps + shrunk) * sums.reach * (1.0 + 1e-9)
        growth = length(square, len(w)) * error + 0.5 * error * error
    else:
        errors = 4.0 * UNIT * np.abs(w) + (4.0 * problem.steps**2 + shrunk) * sizes.columns
        growth = float(np.sum(np.abs(w) * errors)) + 0.5 * float(np.sum(np.square(errors)))
    return Side(*dual_bound(sums, off, 0.5 * square, growth, problem.bias_square, shrunk, added))


def dual_point(problem: Problem, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Make α feasible and compute w(α) and b. For a hard margin, also scale α optimally."""
    alpha = feasible(problem, alpha)
    w, b = primal_of(problem, alpha)
    if problem.loss is HARD_MARGIN:
        total = float(np.sum(alpha))
        norm = problem.norm(w, b)
        if norm > 0.0:
            longer = 0.5 * total / norm
            alpha, w, b = longer * alpha, longer * w, longer * b
    return alpha, w, b


def primal_of(problem: Problem, alpha: np.ndarray) -> tuple[np.ndarray, float]:
    """Return w(α) = Σ α_i y_i x_i and b = B² Σ α_i y_i."""
    signed = alpha * problem.y
    return combination(problem.rows, problem.d, signed, problem.threads), problem.bias_square * float(np.sum(signed))


def answers(problem: Problem, margins: np.ndarray) -> np.ndarray:
    """Return the α of a primal point, α_i = −C_i ℓ′(m_i).

    At the kink of the hinge, any α in the box is a subgradient. With a free bias, these α are used to make Σ α_i y_i
    zero.
    """
    alpha = dual_from_margins(problem, margins)
    if problem.bias != "free" or problem.loss.smooth:
        return alpha
    surplus = float(np.sum(alpha * problem.y))
    at_kink = (np.abs(margins - 1.0) <= 1e-9) & (problem.y * surplus < 0)
    room = float(np.sum((problem.C - alpha)[at_kink]))
    if room > 0:
        alpha[at_kink] += min(abs(surplus) / room, 1.0) * (problem.C - alpha)[at_kink]
    return alpha


def dual_from_margins(problem: Problem, margins: np.ndarray, part: slice = ALL) -> np.ndarray:
    """Return −C_i ℓ′(m_i) of some examples, clipped to the box."""
    C = problem.C[part]
    return np.asarray(np.clip(-C * problem.loss.slope(margins), 0.0, problem.loss.upper(C)))


def with_best_bias(
    problem: Problem, w: np.ndarray, b: float, guess: float | None = None
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return (w, b) and the scores ⟨w, x_i⟩, with the optimal b if the bias is free.

    For a hard margin, (w, b) is scaled so that the smallest margin is 1, if all margins are positive.
    """
    f = scores(problem.rows, w, problem.threads)
    if problem.bias == "free":
        b = best_bias(f, problem.y, problem.C, problem.loss, guess, problem.threads)
    if problem.loss is HARD_MARGIN:
        reach = length(float(np.sum(np.square(w))), len(w))
        slope, constant = margin_error(problem.longest, reach, b)
        margins = problem.y * (f + b) - 1.5 * (slope * problem.norms + constant)  # the scaled w has errors too
        if (shortest := float(np.min(margins[problem.counted]))) > 0.0:
            longer = (1.0 + 16.0 * UNIT) / shortest
            return longer * w, longer * b, longer * f
    return w, b, f


def feasible(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """Clip α to its box and, for a free bias, scale the heavier class down so that Σ α_i y_i = 0."""
    alpha = np.clip(alpha, 0.0, problem.loss.upper(problem.C))
    if problem.bias != "free":
        return alpha
    positive = problem.y > 0
    heavy, light = float(alpha @ positive), float(alpha @ ~positive)
    if heavy < light:
        positive, heavy, light = ~positive, light, heavy
    if heavy > light:
        alpha *= np.where(positive, light / heavy, 1.0)
    return alpha
