"""Gradient descent, or subgradient descent if the loss is not smooth.

Solves   min_w ½‖w‖² + Σ C_i ℓ(m_i)
Step     w ← w − γ ∇P(w) = (1 − γ) w + γ w(a),   a_i = −C_i ℓ′(m_i): all examples at once
Rate     constant γ₀, γ₀/√t, γ₀/t (1/t is the 1/(λt) of the λ-form), or backtracking: the largest of 1, ½, ¼, ...
         that lowers P enough; for hinge at least 1/t, since a step along a subgradient need not lower P
Stops    also, if `change` > 0, when a step changes P by less than the fraction `change` of P (SETTLED)
Bias     a free bias is set to its optimum before each step; a regularised one steps like the weight of a feature
Keeps    α ← (1 − γ) α + γ a, so that w = w(α): a convex combination of points of the box, hence feasible
Costs    one step: two passes over the rows, O(n + d) memory
After    Cauchy 1847; Shor 1985 (subgradients)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point, answers, feasible, primal_of, with_best_bias
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import dual_start
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.status import Status
from maxmargin.system.values import is_number

RATES = ("backtracking", "constant", "over_sqrt_t", "over_t")


@dataclass
class Descent:
    """The state: α, w = w(α), b, the number of steps t, and P at the last step."""

    alpha: np.ndarray
    w: np.ndarray
    b: float = 0.0
    t: int = 0
    objective: float = np.inf
    visited: int = 0


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent: each step uses the (sub)gradient over all examples."""

    name = "gradient_descent"
    state_type = Descent
    takes = Takes(EVERY_LOSS)

    rate: str = "backtracking"
    step: float = 1.0
    change: float = 0.0

    def __post_init__(self) -> None:
        if self.rate not in RATES:
            raise ParameterError(f"rate={self.rate!r} is not known: choose one of {', '.join(RATES)}")
        if not (is_number(self.step) and 0 < self.step <= 1):
            raise ParameterError(f"step={self.step!r} must be above 0 and at most 1: beyond, ½‖w‖² alone overshoots")
        if not (is_number(self.change) and 0 <= self.change < 1):
            raise ParameterError(f"change={self.change!r} must be at least 0 and below 1: a relative change of P")

    def start(self, problem: Problem, warm: Point | None = None) -> Descent:
        """Start at w = 0, or at w(α) of `warm`."""
        return Descent(*dual_start(problem, warm))

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> Status | None:
        """Take one step, or return SETTLED if the last one changed P by less than the fraction `change`."""
        _, b, f = with_best_bias(problem, state.w, state.b)
        margins = problem.y * (f + b)
        before, state.objective = state.objective, problem.primal(state.w, b, margins)
        if self.change and abs(before - state.objective) <= self.change * abs(state.objective):
            state.visited += problem.n
            return Status.SETTLED
        state.t += 1
        target = feasible(problem, answers(problem, margins))
        w, b_target = primal_of(problem, target)
        if problem.bias != "regularised":
            b_target = b
        if self.rate == "backtracking":
            gamma = longest_step(problem, (state.w, b), margins, (w, b_target))
            if not problem.loss.smooth:
                gamma = max(gamma, 1.0 / (1.0 + state.t))
        else:
            gamma = {"constant": 1.0, "over_sqrt_t": state.t**-0.5, "over_t": 1.0 / state.t}[self.rate] * self.step
        state.alpha += gamma * (target - state.alpha)
        state.w += gamma * (w - state.w)
        state.b = b + gamma * (b_target - b)
        state.visited += 3 * problem.n
        return None

    def point(self, problem: Problem, state: Descent) -> Point:
        """Return α, the mean of a, for hinge; for a smooth loss (w, b), whose margins give a better α."""
        return Point(state.w, state.b) if problem.loss.smooth else Point(alpha=state.alpha)


def longest_step(
    problem: Problem, here: tuple[np.ndarray, float], margins: np.ndarray, there: tuple[np.ndarray, float]
) -> float:
    """Return the largest of 1, ½, ¼, ... that lowers P enough on the way from `here` to `there`; 0 if none does."""
    primal = Primal(problem)
    v = primal.joined(*here)
    step = primal.joined(*there) - v
    fall = float(primal.ridge @ (step * step))
    return primal.backtrack(v, problem.y * margins, step, -fall, enough=0.5).length
