"""The perceptron: plain, averaged, or with a margin.

Solves   find (w, b) with y_i(⟨w, x_i⟩ + b) > margin for every i; nothing is regularised
Step     where y_i(⟨w, x_i⟩ + b) ≤ margin, a mistake:  w ← w + y_i x_i,  b ← b + B² y_i  (B = 1 for a free bias)
Ends     SEPARATED after an epoch without a mistake; if the classes are not separable, it never ends
Output   the last (w, b), or the mean of all (w, b), which varies less from epoch to epoch
Keeps    α_i, the number of mistakes on example i, so that w = w(α)
Costs    a step: the nonzeros of its row
Gap      the certificate of the problem, with (w, b) scaled to minimise the primal objective
After    Rosenblatt 1958; Novikoff 1962; Freund, Schapire, Machine Learning 1999 (averages)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.passes import scores
from maxmargin.data.rows import axpy, dot
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point, feasible, primal_of
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import HARD_MARGIN
from maxmargin.solvers.base import dual_start, rows_at_once
from maxmargin.solvers.parts.line_search import bisect, slope_along_ray
from maxmargin.solvers.parts.stochastic_steps import Epochs
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status
from maxmargin.system.compiled import compiled
from maxmargin.system.values import is_number

OUTPUTS = ("last", "average")
LENGTH_HALVINGS = 60  # bisection steps for the best length of (w, b): enough for the precision of float64


@dataclass
class Lessons(Epochs):
    """The state: α, w = w(α), b = B² Σ αy.

    For the mean, `lag` and `lag_alpha` are Σ t y x and Σ t over the mistakes, where t is the step of a mistake.
    """

    alpha: np.ndarray
    w: np.ndarray
    b: float
    lag: np.ndarray
    lag_b: float
    lag_alpha: np.ndarray
    so_far: int = 0
    mistakes: int = -1
    all_mistakes: int = 0


@dataclass(frozen=True)
class Perceptron:
    """The perceptron: each misclassified example is added to w."""

    name = "perceptron"
    state_type = Lessons
    takes = Takes(("hinge",), hard_margin=True)

    margin: float = 0.0
    output: str = "last"

    def __post_init__(self) -> None:
        if not (is_number(self.margin) and 0 <= self.margin < np.inf):
            raise ParameterError(f"margin={self.margin!r} must be a number, 0 or above")
        if self.output not in OUTPUTS:
            raise ParameterError(f"output={self.output!r} is not known: choose one of {', '.join(OUTPUTS)}")

    def start(self, problem: Problem, warm: Point | None = None) -> Lessons:
        """Start at w = 0, or at w(α) of `warm`."""
        alpha, w, _ = dual_start(problem, warm)
        b = constant(problem) * float(np.sum(alpha * problem.y))
        return Lessons(alpha, w, b, np.zeros_like(w), 0.0, np.zeros_like(alpha))

    def advance(self, problem: Problem, state: Lessons, rng: np.random.Generator) -> Status | None:
        """Make one epoch, or a part of it."""
        if state.position == 0:
            state.order, state.so_far = rng.permutation(problem.counted), 0
        start = state.position
        stop = min(start + rows_at_once(problem), len(state.order))
        state.b, state.lag_b, mistakes = walk(
            problem.rows, problem.y, constant(problem), float(self.margin), state.alpha, state.w, state.b,
            state.lag, state.lag_b, state.lag_alpha, state.order, start, stop, state.t,
        )  # fmt: skip
        state.so_far += mistakes
        state.all_mistakes += mistakes
        state.t += stop - start
        state.close(start, stop)
        if state.position:
            return None
        state.mistakes = state.so_far
        return None if state.mistakes else Status.SEPARATED

    def point(self, problem: Problem, state: Lessons) -> Point:
        """Return the last or the mean (w, b) and its α, scaled to the best primal and dual objective."""
        w, b, alpha = state.w, state.b, state.alpha
        if self.output == "average" and state.mistakes and state.t:
            w, b, alpha = w - state.lag / state.t, b - state.lag_b / state.t, alpha - state.lag_alpha / state.t
        if problem.loss is HARD_MARGIN:  # the certificate scales (w, b) and α
            return Point(w, b, alpha)
        length = best_length(problem, w, b)
        return Point(length * w, length * b, within_the_box(problem, alpha))


def constant(problem: Problem) -> float:
    """Return B², the square of the constant feature whose weight is b."""
    return 1.0 if problem.bias == "free" else problem.bias_square


def best_length(problem: Problem, w: np.ndarray, b: float) -> float:
    """Return the t that minimises P(t w, t b), found by bisection."""
    margins = problem.y * (scores(problem.rows, w, problem.threads) + b)
    norm = 2.0 * problem.norm(w, b)
    if norm <= 0.0:
        return 1.0
    slope = slope_along_ray(problem.loss, problem.C, margins, norm)
    longest = float(problem.C @ np.maximum(margins, 0.0)) / norm
    return bisect(lambda t: slope(t) <= 0.0, 0.0, longest, LENGTH_HALVINGS)[1]


def within_the_box(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """Return a feasible multiple of `alpha`, scaled to maximise the dual objective."""
    most = float(np.max(alpha[problem.counted] / problem.C[problem.counted]))
    if not most > 0.0:
        return alpha
    alpha = feasible(problem, alpha / most)
    norm = 2.0 * problem.norm(*primal_of(problem, alpha))
    return np.asarray(alpha * min(1.0, float(np.sum(alpha)) / norm) if norm > 0.0 else alpha)


@compiled
def walk(rows, y, B2, margin, alpha, w, b, lag, lag_b, lag_alpha, order, start, stop, t):
    """Visit order[start:stop] and add each mistake; return b, lag_b and the number of mistakes."""
    mistakes = 0
    for k in range(start, stop):
        i = order[k]
        if y[i] * (dot(rows, i, w) + b) <= margin:
            mistakes += 1
            axpy(rows, i, y[i], w)
            axpy(rows, i, t * y[i], lag)
            b += B2 * y[i]
            lag_b += t * B2 * y[i]
            alpha[i] += 1.0
            lag_alpha[i] += t
        t += 1
    return b, lag_b, mistakes
