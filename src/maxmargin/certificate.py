"""The certificate: how far, at most, the objective is from the optimum.

For any (w, b) and any feasible α,   P(w, b) − P* ≤ P(w, b) − D(α) = gap,   by weak duality.

`certify` trusts no solver. It takes a point, puts α into its box (and Σ α_i y_i at 0 where the bias is free), and
computes both objectives in float64, in fresh passes over the data: w(α) from α, margins from w, the exact best b.
Half of a point may be missing: w of a dual point is w(α); α of a primal point is −C_i ℓ′(m_i).

Where C is infinite a point may have no finite certificate: a hard margin costs ∞ until every example is on its side,
after which w and α are put to their best lengths; unregularised logistic has no bound until α can be balanced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maxmargin.balance import balanced
from maxmargin.best_bias import best_bias
from maxmargin.losses import HARD_MARGIN
from maxmargin.passes import combination, scores, scores_and_combination
from maxmargin.problem import Problem

ROUNDING = 1e-9
ALL = slice(None)


@dataclass(frozen=True)
class Certificate:
    """Both objectives; their difference bounds the distance of `primal` from the optimum."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Primal − dual: never below zero but by rounding."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a part of the primal objective."""
        if np.isinf(self.gap) or self.primal == 0.0:
            return 0.0 if self.gap == 0.0 else np.inf
        return self.gap / abs(self.primal)

    @property
    def sound(self) -> bool:
        """Whether rounding has left the numbers fit to be believed: finite, and a gap that is not clearly negative."""
        return bool(np.isfinite(self.gap)) and self.gap >= -ROUNDING * abs(self.primal)

    def meets(self, tol: float) -> bool:
        """Whether it proves a relative gap of at most tol."""
        return self.sound and self.relative_gap <= tol

    def __str__(self) -> str:
        """One line for people."""
        return f"objective {self.primal:.8g}, at most {max(self.relative_gap, 0.0):.2e} of it above the optimum"


def summed(certificates: Iterable[Certificate]) -> Certificate:
    """Of several problems taken together: their objectives add up."""
    every = list(certificates)
    return Certificate(sum(one.primal for one in every), sum(one.dual for one in every))


@dataclass(frozen=True, eq=False)
class Point:
    """Where a solver stands; a purely dual solver leaves w out, a purely primal one alpha."""

    w: np.ndarray | None = None
    b: float = 0.0
    alpha: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Certified:
    """A whole point with its certificate."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    certificate: Certificate
    scores: np.ndarray | None = None


def certify(problem: Problem, point: Point) -> Certified:
    """Complete a point and certify it."""
    if point.w is None:
        if point.alpha is None:
            raise ValueError("a point needs w or alpha")
        alpha, w, b, dual = dual_side(problem, point.alpha)
        w, b, margins = with_best_bias(problem, w, b)
    elif problem.bounded and (point.alpha is not None or problem.bias != "free"):
        return certify_at_once(problem, point.w.copy(), point.b, point.alpha)
    else:
        w, b, margins = with_best_bias(problem, point.w.copy(), point.b, point.b)  # the solver goes on with its own
        if problem.ridge:
            alpha, _, _, dual = dual_side(problem, answers(problem, margins) if point.alpha is None else point.alpha)
        else:
            alpha, dual = balanced(problem, answers(problem, margins), margins, w, b)
    return Certified(w, b, alpha, Certificate(problem.primal(w, b, margins), dual))


def certify_at_once(problem: Problem, w: np.ndarray, b: float, alpha: np.ndarray | None) -> Certified:
    """Both sides in one pass over the rows; an α that is not given answers the margins, which needs b to be known."""
    own = np.empty(problem.n) if alpha is None else feasible(problem, alpha)

    def answer(part: slice, f: np.ndarray) -> np.ndarray:
        if alpha is None:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that overflow are for whoever asks to see
                own[part] = pulls(problem, problem.y[part] * (f + b), part)
        return np.asarray(own[part] * problem.y[part])

    f, w_dual = scores_and_combination(problem.rows, problem.d, w, answer, problem.threads)
    dual = problem.dual(own, w_dual, problem.bias_square * float(np.sum(own * problem.y)))
    if problem.bias == "free":
        b = best_bias(f, problem.y, problem.C, problem.loss, b, problem.threads)
    return Certified(w, b, own, Certificate(problem.primal(w, b, problem.y * (f + b)), dual))


def dual_side(problem: Problem, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Alpha made feasible, w(α), b and D(α); a hard margin lets α take its best length too."""
    alpha = feasible(problem, alpha)
    w, b = primal_of(problem, alpha)
    if problem.loss is HARD_MARGIN:
        total = float(np.sum(alpha))
        norm = problem.norm(w, b)
        if norm > 0.0:
            length = 0.5 * total / norm
            alpha, w, b = length * alpha, length * w, length * b
    return alpha, w, b, problem.dual(alpha, w, b)


def primal_of(problem: Problem, alpha: np.ndarray) -> tuple[np.ndarray, float]:
    """w(α) = Σ α_i y_i x_i, and b = B² Σ α_i y_i."""
    signed = alpha * problem.y
    return combination(problem.rows, problem.d, signed, problem.threads), problem.bias_square * float(np.sum(signed))


def answers(problem: Problem, margins: np.ndarray) -> np.ndarray:
    """α_i = −C_i ℓ′(m_i), as it belongs to a primal point.

    At the kink of hinge any α in the box will do: with a free bias, those that bring Σ α_i y_i to 0.
    """
    alpha = pulls(problem, margins)
    if problem.bias != "free" or problem.loss.smooth:
        return alpha
    surplus = float(np.sum(alpha * problem.y))
    at_kink = (np.abs(margins - 1.0) <= 1e-9) & (problem.y * surplus < 0)
    room = float(np.sum((problem.C - alpha)[at_kink]))
    if room > 0:
        alpha[at_kink] += min(abs(surplus) / room, 1.0) * (problem.C - alpha)[at_kink]
    return alpha


def pulls(problem: Problem, margins: np.ndarray, part: slice = ALL) -> np.ndarray:
    """−C_i ℓ′(m_i) of some examples, in their box."""
    C = problem.C[part]
    return np.asarray(np.clip(-C * problem.loss.slope(margins), 0.0, problem.loss.upper(C)))


def with_best_bias(
    problem: Problem, w: np.ndarray, b: float, guess: float | None = None
) -> tuple[np.ndarray, float, np.ndarray]:
    """(w, b) with b the best there is where it is free, and the margins at that point.

    A hard margin takes w and b at the length that makes the smallest margin 1, if all examples are on their sides.
    """
    f = scores(problem.rows, w, problem.threads)
    if problem.bias == "free":
        b = best_bias(f, problem.y, problem.C, problem.loss, guess, problem.threads)
    margins = problem.y * (f + b)
    if problem.loss is HARD_MARGIN and (least := float(np.min(margins[problem.counted]))) > 0.0:
        length = (1.0 + 4.0 * np.finfo(float).eps) / least
        return length * w, length * b, length * margins
    return w, b, margins


def feasible(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """Alpha moved into its box and, for a free bias, to Σ α_i y_i = 0 by scaling the heavier class down."""
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
