"""Interior point: Newton steps on the optimality conditions, kept inside the box.

Solves   min_v P(v),  v = (w, b);  hinge, any bias
Idea     at the optimum  r v = Σ α_i y_i z_i,   1 − m_i = ξ_i − s_i,   α_i s_i = 0,   (C_i − α_i) ξ_i = 0,
         with every α_i, C_i − α_i, s_i, ξ_i ≥ 0: ξ_i is the distance of a margin below 1, s_i above 1. Both products
         are set to μ instead of 0, and μ goes to 0 with the steps; all four quantities stay above 0
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δv = …,   1/h_i = s_i/α_i + ξ_i/(C_i − α_i);  the other changes follow from Δv.
         The factored matrix is used several times: for μ = 0 (predictor), to find how small μ may become; for that μ
         (corrector); and for further corrections that lengthen the step
Start    three epochs of dual coordinate descent, with α moved well inside its box
Costs    a step: the matrix, O(nnz d + d³), and five to ten passes; fifteen to thirty steps on most data. Rows whose
         total weight is negligible compared with the ridge are left out of the matrix
After    Mehrotra, SIAM Journal on Optimization 1992; Gondzio, Computational Optimization and Applications 1996 (the
         corrections); Ferris, Munson, SIAM Journal on Optimization 2002 (SVMs)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.dual.dual_coordinate import DualCoordinate
from maxmargin.solvers.parts.newton_system import System
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status

# benchmarks/results/linear.md was measured with these values.
START_EPOCHS = 3  # epochs of dual coordinate descent before the first step
START_INSIDE = 0.1  # smallest distance of the first α from its bounds, as a fraction of C
START_SLACK = 1.0  # smallest ξ and s at the start
STEP_TO_BOUND = 0.995  # longest step, as a fraction of the way to the nearest bound; usual for these methods
CORRECTIONS = 3  # most corrections of a direction
CORRECTED_LENGTH = 0.3  # a correction aims to lengthen the step by this much
WORTH_CORRECTING = 0.1  # a correction that lengthens the step by less than this fraction of the aim is rejected
PRODUCT_RANGE = 10.0  # a correction moves products that differ from μ by more than this factor closer to μ
NEGLIGIBLE = 0.01  # largest total weight of the rows left out of the matrix, as a fraction of the ridge
LEAST_RIDGE = 1e-12  # smallest ridge in the matrix for a free bias, which has no ridge of its own
PASSES = 6  # passes over the rows in a step, as counted in `visited`


@dataclass
class Interior:
    """A point inside the box, or a direction: v and its margins, α, C − α (room), s (surplus), ξ (shortfall).

    C − α is stored besides α, since it would round to 0 where α is close to C.
    """

    v: np.ndarray
    margins: np.ndarray
    alpha: np.ndarray
    room: np.ndarray
    surplus: np.ndarray
    shortfall: np.ndarray
    visited: int = 0
    estimate: float = np.inf

    def of(self, some: Any) -> Interior:
        """Return the entries of the examples `some`."""
        arrays = self.margins, self.alpha, self.room, self.surplus, self.shortfall
        return Interior(self.v, *(array[some] for array in arrays))

    def go(self, some: Any, step: Interior, t: float) -> None:
        """Move v and the entries of the examples `some` by t times the step."""
        self.v = self.v + t * step.v
        self.margins[some] += t * step.margins
        self.alpha[some] += t * step.alpha
        self.room[some] += t * step.room
        self.surplus[some] += t * step.surplus
        self.shortfall[some] += t * step.shortfall


@dataclass(frozen=True)
class InteriorPoint:
    """Primal-dual interior-point method: Newton steps inside the box."""

    name = "interior_point"
    state_type = Interior
    takes = Takes(("hinge",))

    def start(self, problem: Problem, warm: Point | None = None) -> Interior:
        """Start at w = 0, or at the α of `warm`. The first call of `advance` moves α inside the box."""
        v, nothing = Primal(problem).start(warm), np.zeros(0)
        alpha = np.zeros(problem.n) if warm is None or warm.alpha is None else warm.alpha.copy()
        return Interior(v, nothing, alpha, nothing, nothing, nothing)

    def advance(self, problem: Problem, state: Interior, rng: np.random.Generator) -> Status | None:
        """Take one step; before the first, move inside the box. Returns STALLED if rounding errors leave no step."""
        return self.advance_within(problem, state, rng, np.inf)

    def advance_within(
        self, problem: Problem, state: Interior, rng: np.random.Generator, visits: float
    ) -> Status | None:
        """Take one step if `visits` row visits allow it; otherwise only move inside the box, as far as they allow."""
        last = state.visited + visits
        if not len(state.margins):
            move_inside(problem, state, rng, visits)
        if state.visited + PASSES * problem.n > last:
            return Status.EPOCH_LIMIT
        some = examples(problem)
        try:
            step, t = Equations(problem, some, state.of(some)).step()
        except np.linalg.LinAlgError:
            return Status.STALLED
        if not np.all(np.isfinite(step.v)):
            return Status.STALLED
        state.go(some, step, t)
        state.visited += PASSES * problem.n
        state.estimate = estimate(problem, state)
        return None

    def point(self, problem: Problem, state: Interior) -> Point:
        """Return (w, b) and α."""
        point = Primal(problem).point(state.v)
        return Point(point.w, point.b, state.alpha.copy())


class Equations:
    """The optimality conditions at a point, their Newton matrix, and the step."""

    def __init__(self, problem: Problem, some: Any, at: Interior) -> None:
        self.primal, self.some, self.at = Primal(problem), some, at
        self.y = problem.y[some]
        self.off_balance = self.primal.ridge * at.v - self.force(at.alpha)
        self.unmet = 1.0 - at.margins - at.shortfall + at.surplus
        self.h = 1.0 / (at.surplus / at.alpha + at.shortfall / at.room)
        self.solve = self.system().solver()

    def step(self) -> tuple[Interior, float]:
        """Return a direction and its length: a predictor for μ = 0, then a corrector for the μ it predicts."""
        at = self.at
        low, high = at.alpha * at.surplus, at.room * at.shortfall
        mu = float(np.mean(low) + np.mean(high))
        first = self.direction(-low, -high)
        low_there, high_there = self.products(first, min(1.0, self.longest(first)))
        ratio = float(np.mean(low_there) + np.mean(high_there)) / mu
        target = 0.5 * mu * ratio**3
        low, high = target - low - first.alpha * first.surplus, target - high - first.room * first.shortfall
        second = self.corrected(self.direction(low, high), low, high, target)
        return second, min(1.0, STEP_TO_BOUND * self.longest(second))

    def corrected(self, step: Interior, low: np.ndarray, high: np.ndarray, target: float) -> Interior:
        """Return the step, corrected as long as that lets it go further before it meets a bound."""
        t = self.longest(step)
        for _ in range(CORRECTIONS):
            if t >= 1.0:
                break
            low_there, high_there = self.products(step, min(1.0, t + CORRECTED_LENGTH))
            low, high = low + missing(low_there, target), high + missing(high_there, target)
            other = self.direction(low, high)
            if (longer := self.longest(other)) < t + WORTH_CORRECTING * CORRECTED_LENGTH:
                break
            step, t = other, longer
        return step

    def products(self, step: Interior, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return α s and (C − α) ξ after t times the step."""
        at = self.at
        low = (at.alpha + t * step.alpha) * (at.surplus + t * step.surplus)
        return low, (at.room + t * step.room) * (at.shortfall + t * step.shortfall)

    def direction(self, low: np.ndarray, high: np.ndarray) -> Interior:
        """Return the direction that changes α s by `low` and (C − α) ξ by `high`, and meets the other conditions."""
        at = self.at
        wanted = self.unmet + low / at.alpha - high / at.room
        v = self.solve(self.force(self.h * wanted) - self.off_balance)
        margins = self.y * self.primal.scores(v)[self.some]
        alpha = self.h * (wanted - margins)
        surplus, shortfall = (low - at.surplus * alpha) / at.alpha, (high + at.shortfall * alpha) / at.room
        return Interior(v, margins, alpha, -alpha, surplus, shortfall)

    def longest(self, step: Interior) -> float:
        """Return the length at which a step meets a bound; at most 2."""
        at = self.at
        pairs = (
            (at.alpha, step.alpha), (at.room, step.room),
            (at.surplus, step.surplus), (at.shortfall, step.shortfall),
        )  # fmt: skip
        return 1.0 / max(0.5, *(float(np.max(-change / value)) for value, change in pairs))

    def force(self, q: np.ndarray) -> np.ndarray:
        """Return Σ q_i y_i z_i."""
        whole = np.zeros(self.primal.problem.n)
        whole[self.some] = q * self.y
        return self.primal.sum_of_rows(whole)

    def system(self) -> System:
        """Return the system, without the rows of smallest weight whose sum is negligible compared with the ridge.

        A free bias has no ridge; in its place stands the sum of h over the rows left out.
        """
        problem = self.primal.problem
        h = np.zeros(problem.n)
        h[self.some] = self.h
        weight = h * (problem.squared_norms + 1.0)
        order = np.argsort(weight)
        without = order[np.cumsum(weight[order]) <= NEGLIGIBLE * problem.ridge]
        ridge = np.where(self.primal.ridge > 0.0, self.primal.ridge, max(float(np.sum(h[without])), LEAST_RIDGE))
        h[without] = 0.0
        return System(problem.rows, problem.d, ridge, h, problem.threads)


def missing(products: np.ndarray, target: float) -> np.ndarray:
    """Return the changes that move products far from the target closer to it."""
    wanted = np.clip(products, target / PRODUCT_RANGE, PRODUCT_RANGE * target)
    return np.asarray(np.maximum(wanted - products, -PRODUCT_RANGE * target))


def estimate(problem: Problem, state: Interior) -> float:
    """Return the relative gap, valid once the other optimality conditions are met."""
    gap = float(np.sum(state.alpha * state.surplus) + np.sum(state.room * state.shortfall))
    primal = Primal(problem)
    return gap / primal.value(state.v, problem.y * state.margins)


def examples(problem: Problem) -> Any:
    """Return an index of the examples with a positive weight: the box of the others is {0}."""
    return slice(None) if len(problem.counted) == problem.n else problem.counted


def move_inside(problem: Problem, state: Interior, rng: np.random.Generator, most: float) -> None:
    """Run a few epochs of dual coordinate descent, with at most `most` visits, then move α away from its bounds."""
    descent, C, primal = DualCoordinate(), problem.C, Primal(problem)
    dual = descent.start(problem, Point(alpha=state.alpha))
    visited = 0  # in the last call of `advance`, and likely in the next
    while dual.visited < START_EPOCHS * len(problem.counted) and dual.visited + visited <= most:
        before = dual.visited
        descent.advance(problem, dual, rng)
        visited = dual.visited - before
    state.v = primal.joined(dual.w.copy(), dual.b)
    state.margins = problem.y * primal.scores(state.v)
    state.alpha = np.clip(dual.alpha, START_INSIDE * C, (1.0 - START_INSIDE) * C)
    state.room = C - state.alpha
    state.shortfall = np.maximum(1.0 - state.margins, 0.0) + START_SLACK
    state.surplus = state.shortfall - (1.0 - state.margins)
    state.visited += dual.visited
