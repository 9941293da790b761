"""The primal objective as a function of one vector, for solvers that work on it as a whole.

    v = w, or (w, b) where there is a bias
    P(v)   = ½ Σ r_k v_k² + Σ C_i ℓ(m_i),     r = 1 for w;  for b: 1/B² regularised, 0 free
    ∇P(v)  = r v + Σ C_i ℓ′(m_i) y_i (x_i, 1)
    ∇²P(v) = diag(r) + Σ C_i ℓ″(m_i) (x_i, 1)(x_i, 1)ᵀ

One evaluation is one pass over the rows for the margins and one for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin.data.passes import CHUNK, combination_with_bias, curved, scores_with_bias, sum_of_chunks
from maxmargin.data.rows import axpy, dot
from maxmargin.problems.best_bias import best_constant
from maxmargin.problems.certificate import Point, feasible, primal_of
from maxmargin.problems.dual_terms import response
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import best_bias_at
from maxmargin.system.compiled import compiled

LONGEST = 1024.0  # how much longer w(α) may become,
HALVINGS = 7  # and how well its length is found,
SEEN = 1 << 15  # by so many rows, nearly
SEARCHES = 20
LENGTHS = 6  # tried at most,
ROUGHLY = 0.05  # until one is within this part of the last
FLAT = 0.25  # of the slope where a step began: there it may end
EVALUATED = 1 << 17  # numbers visited in one chunk of an evaluation, which does more with each of them


@dataclass(frozen=True, eq=False)
class Primal:
    """The primal of a problem over v = w or (w, b)."""

    problem: Problem

    @property
    def with_bias(self) -> bool:
        """Whether v ends with b."""
        return self.problem.bias != "none"

    @cached_property
    def ridge(self) -> np.ndarray:
        """The weights r of the squares."""
        r = np.full(self.problem.d + self.with_bias, self.problem.ridge)
        if self.with_bias:
            r[-1] = 1.0 / self.problem.bias_square if self.problem.bias_square else 0.0
        return r

    def start(self, warm: Point | None) -> np.ndarray:
        """At w = 0, or in the direction of `warm`, its w or its w(α), as far as P falls; a free bias at its best."""
        problem = self.problem
        w, b = np.zeros(problem.d), 0.0
        if warm is not None and warm.w is not None:
            w, b = warm.w, warm.b
        elif warm is not None and warm.alpha is not None:
            w, b = primal_of(problem, feasible(problem, warm.alpha))
        if problem.bias == "free":
            b = best_bias_at(problem, w) if np.any(w) else best_constant(problem.y, problem.C, problem.loss)
        v = self.joined(w, b)
        return self.best_length(v) * v if problem.bounded and np.any(w) else v.copy()

    def best_length(self, v: np.ndarray) -> float:
        """The t, roughly, that minimises P(t v); trying one costs no pass over the rows."""
        problem, f = self.problem, self.scores(v)
        some = slice(None, None, max(1, problem.n // SEEN))
        m, square = problem.y[some] * f[some], float(np.sum(self.ridge * v * v))
        C = problem.C[some] * (problem.n / len(m))

        def falls(t: float) -> bool:
            return t * square + float(np.sum(C * problem.loss.slope(t * m) * m)) < 0.0

        low, high = 0.0, 1.0
        if falls(1.0):
            while falls(high) and high < LONGEST:
                low, high = high, 2.0 * high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if falls(middle) else (low, middle)
        t = 0.5 * (low + high)
        return t if self.value(t * v, t * f) < self.value(v, f) else 1.0

    def joined(self, w: np.ndarray, b: float) -> np.ndarray:
        """V of w and b."""
        return np.append(w, b) if self.with_bias else w

    def point(self, v: np.ndarray) -> Point:
        """(w, b) of v, and α as it follows from them."""
        return Point(v[: self.problem.d].copy(), float(v[-1]) if self.with_bias else 0.0)

    def scores(self, v: np.ndarray) -> np.ndarray:
        """⟨w, x_i⟩ + b for every row: also how a direction changes the scores."""
        return scores_with_bias(self.problem.rows, self.problem.d, v, self.problem.threads)

    def value(self, v: np.ndarray, f: np.ndarray) -> float:
        """P(v), given its scores."""
        b = float(v[-1]) if self.with_bias else 0.0
        return self.problem.primal(v[: self.problem.d], b, self.problem.y * f)

    def gradient(self, v: np.ndarray, f: np.ndarray) -> np.ndarray:
        """∇P(v), given its scores."""
        problem = self.problem
        pull = problem.C * problem.y * problem.loss.slope(problem.y * f)
        return np.asarray(self.ridge * v + self.sum_of_rows(pull))

    def evaluate(self, v: np.ndarray, f: np.ndarray, curvatures: np.ndarray) -> tuple[float, np.ndarray]:
        """P(v) and ∇P(v), in one pass over the rows, with scores and curvatures left in `f` and `curvatures`."""
        problem, d, b = self.problem, self.problem.d, float(v[-1]) if self.with_bias else 0.0

        def add(start: int, stop: int, total: np.ndarray) -> None:
            respond(problem.rows, problem.y, problem.dual_term, v, b, start, stop, f, curvatures, total)

        total = sum_of_chunks(problem.rows, d + 2, problem.threads, add, EVALUATED)
        gradient = self.ridge * v - total[: len(v)]
        return problem.norm(v[:d], b) + float(total[-1]), np.asarray(gradient)

    def slope_along(self, v: np.ndarray, step: np.ndarray) -> Callable[[float], float]:
        """The slope of P at v + t step, as a function of t: two passes over the rows, and none for a t."""
        problem, change = self.problem, self.scores(step)
        m, change = problem.y * self.scores(v), problem.y * change
        line, bend = float(np.sum(self.ridge * v * step)), float(np.sum(self.ridge * step * step))
        return lambda t: line + t * bend + float((problem.C * problem.loss.slope(m + t * change)) @ change)

    def hessian_times(self, curvatures: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∇²P v, without the matrix, and the scores of v for the rows that are curved."""
        problem = self.problem
        product, f = curved(problem.rows, problem.d, curvatures, v, problem.threads)
        return np.asarray(self.ridge * v + product), f

    def length_along(self, v: np.ndarray, f: np.ndarray, step: np.ndarray, change: np.ndarray) -> float:
        """The t, roughly, that minimises P(v + t step), by Newton's method: f + t change are its scores, so no pass."""
        problem, line, bend = self.problem, float(self.ridge @ (v * step)), float(self.ridge @ (step * step))
        t = 1.0
        for _ in range(LENGTHS):

            def add(start: int, stop: int, total: np.ndarray, t: float = t) -> None:
                respond_along(problem.y, problem.dual_term, f, change, t, start, stop, total)

            slope, curvature = sum_of_chunks(problem.rows, 2, problem.threads, add, CHUNK)
            before, t = t, t - (line + t * bend + slope) / (bend + curvature)
            if not 0.0 < t < LONGEST:
                return 1.0
            if abs(t - before) <= ROUGHLY * t:
                break
        return t if abs(t - 1.0) > ROUGHLY else 1.0

    def sum_of_rows(self, coefficients: np.ndarray) -> np.ndarray:
        """Σ coefficient_i (x_i, 1)."""
        problem = self.problem
        return combination_with_bias(problem.rows, problem.d, coefficients, len(self.ridge), problem.threads)


@compiled
def respond(rows, y, term, v, b, start, stop, f, curvatures, total):
    """Scores and curvatures of the rows; adds Σ −C ℓ′(m) y (x, 1) to `total`, and the losses to its last place."""
    losses, forces = 0.0, 0.0
    for i in range(start, stop):
        f[i] = dot(rows, i, v) + b
        loss, force, curvatures[i] = response(term, i, y[i] * f[i])
        losses += loss
        if force != 0.0:
            forces += force * y[i]
            axpy(rows, i, force * y[i], total)
    total[-2], total[-1] = forces, losses


@compiled
def respond_along(y, term, f, change, t, start, stop, total):
    """Adds the slope and the curvature in t of the losses at f + t change."""
    slope, curvature = 0.0, 0.0
    for i in range(start, stop):
        _, force, h = response(term, i, y[i] * (f[i] + t * change[i]))
        slope -= force * y[i] * change[i]
        curvature += h * change[i] * change[i]
    total[0], total[1] = slope, curvature


def search(slope_at: Callable[[float], float], start: float, whole: float) -> float:
    """The length of a step at which the slope along it is nearly 0, given that where it starts and after the whole.

    Found by ever larger divisions: where no row takes part, the step is the gradient in the units of the features, and
    may be many orders too long.
    """
    slope, enough, low, high, smaller = whole, FLAT * abs(start), 0.0, 1.0, 0.5
    while slope < -enough and high < 1e6:
        low, high = high, 2.0 * high
        slope = slope_at(high)
    length = high
    for _ in range(SEARCHES):
        if abs(slope) <= enough:
            break
        if low == 0.0:
            length, smaller = smaller * high, smaller * smaller
        else:
            length = 0.5 * (low + high) if high <= 4.0 * low else float(np.sqrt(low * high))
        slope = slope_at(length)
        low, high = (length, high) if slope < 0.0 else (low, length)
    return length


class Moved(NamedTuple):
    """Where a step led: v, its scores, and the length taken."""

    v: np.ndarray
    f: np.ndarray
    length: float


def backtrack(
    primal: Primal,
    v: np.ndarray,
    f: np.ndarray,
    step: np.ndarray,
    slope: float,
    first: float = 1.0,
    enough: float = 1e-4,
    before: float | None = None,
) -> Moved:
    """Go along `step` by the longest of first, first/2, ... that lowers P by a part of what the slope promises.

    The scores change in proportion to the length, so trying one costs no pass over the rows.

    Where rounding leaves nothing to gain, the length is 0. P(v) may be known, as `before`.
    """
    change, before = primal.scores(step), primal.value(v, f) if before is None else before
    length = first
    while length > 1e-12:
        after = primal.value(v + length * step, f + length * change)
        if after <= before + enough * length * slope:
            return Moved(v + length * step, f + length * change, length)
        length *= 0.5
    return Moved(v, f, 0.0)


def off_balance(ridge: np.ndarray, gradient: np.ndarray) -> float:
    """What the dual point of a primal one loses: ½ g²/r, the whole gap of a smooth loss; |g| where there is no r."""
    some = ridge > 0.0
    return 0.5 * float(np.sum(np.square(gradient[some]) / ridge[some])) + float(np.sum(np.abs(gradient[~some])))
