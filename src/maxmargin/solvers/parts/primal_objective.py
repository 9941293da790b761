"""The primal objective as a function of one vector v, for solvers that use gradients over all rows.

    v = w, or (w, b) if there is a bias
    P(v)   = ½ Σ r_k v_k² + Σ C_i ℓ(m_i),     r = 1 for w;  for b: 1/B² regularised, 0 free
    ∇P(v)  = r v + Σ C_i ℓ′(m_i) y_i (x_i, 1)
    ∇²P(v) = diag(r) + Σ C_i ℓ″(m_i) (x_i, 1)(x_i, 1)ᵀ       (its products: parts/newton_system)

One evaluation is one pass over the rows for the margins and one for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin.data.passes import CHUNK, combination_with_bias, scores_with_bias, sum_of_chunks
from maxmargin.data.rows import axpy, dot
from maxmargin.problems.best_bias import best_constant
from maxmargin.problems.certificate import Point, feasible, primal_of
from maxmargin.problems.dual_terms import response
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import best_bias_at
from maxmargin.solvers.parts.line_search import LONGEST, backtrack, bisect, newton_length, slope_along_ray
from maxmargin.system.compiled import compiled

RAY_HALVINGS = 7  # bisection steps for the length of a starting point: an accuracy of 1/128 is enough
RAY_ROWS = 1 << 15  # approximate number of rows used to find that length
EVALUATION_CHUNK = 1 << 17  # values in a chunk: fewer than in other passes, since an evaluation costs more per value


@dataclass(frozen=True, eq=False)
class Primal:
    """The primal objective of a problem as a function of v = w or (w, b)."""

    problem: Problem

    @property
    def with_bias(self) -> bool:
        """Whether v ends with b."""
        return self.problem.bias != "none"

    @cached_property
    def ridge(self) -> np.ndarray:
        """The weights r of the squares v_k² in the regulariser."""
        r = np.full(self.problem.d + self.with_bias, self.problem.ridge)
        if self.with_bias:
            r[-1] = 1.0 / self.problem.bias_square if self.problem.bias_square else 0.0
        return r

    def start(self, warm: Point | None) -> np.ndarray:
        """Return the start: w = 0, or w or w(α) of `warm`, scaled to minimise P. A free bias is set to its optimum."""
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
        """Return the approximate t that minimises P(t v). Trying a value of t costs no pass over the rows."""
        problem, f = self.problem, self.scores(v)
        some = slice(None, None, max(1, problem.n // RAY_ROWS))
        m, square = problem.y[some] * f[some], float(np.sum(self.ridge * v * v))
        slope = slope_along_ray(problem.loss, problem.C[some] * (problem.n / len(m)), m, square)
        low, high = 0.0, 1.0
        if slope(1.0) < 0.0:
            while slope(high) < 0.0 and high < LONGEST:
                low, high = high, 2.0 * high
        low, high = bisect(lambda t: slope(t) < 0.0, low, high, RAY_HALVINGS)
        t = 0.5 * (low + high)
        return t if self.value(t * v, t * f) < self.value(v, f) else 1.0

    def joined(self, w: np.ndarray, b: float) -> np.ndarray:
        """Return (w, b) as one vector v."""
        return np.append(w, b) if self.with_bias else w

    def point(self, v: np.ndarray) -> Point:
        """Return (w, b) of v as a point without α: it follows from the margins."""
        return Point(v[: self.problem.d].copy(), float(v[-1]) if self.with_bias else 0.0)

    def scores(self, v: np.ndarray) -> np.ndarray:
        """Return ⟨w, x_i⟩ + b for every row. For a direction v this is the change of the scores."""
        return scores_with_bias(self.problem.rows, self.problem.d, v, self.problem.threads)

    def value(self, v: np.ndarray, f: np.ndarray) -> float:
        """Return P(v), given the scores f of v."""
        b = float(v[-1]) if self.with_bias else 0.0
        return self.problem.primal(v[: self.problem.d], b, self.problem.y * f)

    def gradient(self, v: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return ∇P(v), given the scores f of v."""
        problem = self.problem
        pull = problem.C * problem.y * problem.loss.slope(problem.y * f)
        return np.asarray(self.ridge * v + self.sum_of_rows(pull))

    def evaluate(self, v: np.ndarray, f: np.ndarray, curvatures: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P(v) and ∇P(v), in one pass over the rows; write scores and curvatures to `f` and `curvatures`."""
        problem, d, b = self.problem, self.problem.d, float(v[-1]) if self.with_bias else 0.0

        def add(start: int, stop: int, total: np.ndarray) -> None:
            evaluate_rows(problem.rows, problem.y, problem.dual_term, v, b, start, stop, f, curvatures, total)

        total = sum_of_chunks(problem.rows, d + 2, problem.threads, add, EVALUATION_CHUNK)
        gradient = self.ridge * v - total[: len(v)]
        return problem.norm(v[:d], b) + float(total[-1]), np.asarray(gradient)

    def sum_of_rows(self, coefficients: np.ndarray) -> np.ndarray:
        """Return Σ coefficient_i (x_i, 1)."""
        problem = self.problem
        return combination_with_bias(problem.rows, problem.d, coefficients, len(self.ridge), problem.threads)

    def slope_along(self, v: np.ndarray, step: np.ndarray) -> Callable[[float], float]:
        """Return the slope of P at v + t step as a function of t: two passes over the rows, and none for each t."""
        problem, change = self.problem, self.scores(step)
        m, change = problem.y * self.scores(v), problem.y * change
        line, bend = float(np.sum(self.ridge * v * step)), float(np.sum(self.ridge * step * step))
        return lambda t: line + t * bend + float((problem.C * problem.loss.slope(m + t * change)) @ change)

    def length_along(self, v: np.ndarray, f: np.ndarray, step: np.ndarray, change: np.ndarray) -> float:
        """Return the approximate t that minimises P(v + t step). Its scores are f + t change: no pass for each t."""
        problem, line, bend = self.problem, float(self.ridge @ (v * step)), float(self.ridge @ (step * step))

        def derivatives(t: float) -> tuple[float, float]:
            def add(start: int, stop: int, total: np.ndarray) -> None:
                add_derivatives(problem.y, problem.dual_term, f, change, t, start, stop, total)

            slope, curvature = sum_of_chunks(problem.rows, 2, problem.threads, add, CHUNK)
            return line + t * bend + slope, bend + curvature

        return newton_length(derivatives)

    def backtrack(
        self, v: np.ndarray, f: np.ndarray, step: np.ndarray, slope: float,
        first: float = 1.0, enough: float = 1e-4, before: float | None = None,
    ) -> Moved:  # fmt: skip
        """Take the largest of the lengths first, first/2, ... along `step` that satisfies the Armijo rule.

        The scores f of v change linearly with the length, so trying a length costs no pass. `before` is P(v), if known.
        """
        change, before = self.scores(step), self.value(v, f) if before is None else before
        length = backtrack(lambda t: self.value(v + t * step, f + t * change), before, slope, first, enough)
        return Moved(v + length * step, f + length * change, length) if length else Moved(v, f, 0.0)


class Moved(NamedTuple):
    """The result of a step: v, its scores, and the length of the step; 0 if no length lowers P."""

    v: np.ndarray
    f: np.ndarray
    length: float


def gap_of_gradient(ridge: np.ndarray, gradient: np.ndarray) -> float:
    """Return ½ Σ g²/r, plus |g| where r = 0: the gap of a smooth loss at a point with gradient g and α = −C ℓ′(m)."""
    some = ridge > 0.0
    return 0.5 * float(np.sum(np.square(gradient[some]) / ridge[some])) + float(np.sum(np.abs(gradient[~some])))


@compiled
def evaluate_rows(rows, y, term, v, b, start, stop, f, curvatures, total):
    """Compute scores and curvatures; add Σ −C ℓ′(m) y (x, 1) to `total`, and the sum of losses to its last entry."""
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
def add_derivatives(y, term, f, change, t, start, stop, total):
    """Write the slope and the curvature in t of the losses at f + t change to `total`."""
    slope, curvature = 0.0, 0.0
    for i in range(start, stop):
        _, force, h = response(term, i, y[i] * (f[i] + t * change[i]))
        slope -= force * y[i] * change[i]
        curvature += h * change[i] * change[i]
    total[0], total[1] = slope, curvature
