"""Interior point: Newton steps on the conditions of the optimum, kept away from the walls of the box.

Solves   min_v P(v),  v = (w, b);  hinge, any bias
Idea     at the optimum  r v = Σ α_i y_i z_i,   1 − m_i = ξ_i − s_i,   α_i s_i = 0,   (C_i − α_i) ξ_i = 0,
         with every α_i, C_i − α_i, s_i, ξ_i ≥ 0: ξ_i is how far a margin falls short, s_i how far it exceeds 1. Both
         products are first asked to be μ instead of 0, and μ goes to 0 with the steps; all four stay above 0
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δv = …,   1/h_i = s_i/α_i + ξ_i/(C_i − α_i);  the others follow from Δv
         several times with one matrix: to see how small μ may become, for that μ, and corrected to go further
Start    three epochs of dual coordinate descent, with α moved well inside its box
Costs    a step: the matrix, O(nnz d + d³), and five to ten passes; fifteen to thirty steps on most data. Rows that
         together are nothing beside the ridge are left out of the matrix
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

EPOCHS = 3  # of dual coordinate descent, to begin with
INSIDE = 0.1  # of the box: how far from its walls α begins
APART = 1.0  # how far from 0 ξ and s begin
NEARLY = 0.995  # of the way to the nearest wall
CORRECTIONS = 3  # of a direction, at most, each for
LONGER = 0.3  # as much more of the way,
FAR = 10.0  # by bringing products that differ from μ by more than this factor nearer to it
NEGLIGIBLE = 0.01  # of the ridge: what the rows that are left out may add up to
TINY = 1e-12
PASSES = 6


@dataclass
class Interior:
    """A point inside, or a direction: v and its margins; α and its room below C; how far margins exceed 1, or miss it.

    The room is kept beside α: near C their difference would round to 0.
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
        """What belongs to some of the examples."""
        arrays = self.margins, self.alpha, self.room, self.surplus, self.shortfall
        return Interior(self.v, *(array[some] for array in arrays))

    def go(self, some: Any, step: Interior, t: float) -> None:
        """Move some of the examples, and v, by t times the step."""
        self.v = self.v + t * step.v
        self.margins[some] += t * step.margins
        self.alpha[some] += t * step.alpha
        self.room[some] += t * step.room
        self.surplus[some] += t * step.surplus
        self.shortfall[some] += t * step.shortfall


@dataclass(frozen=True)
class InteriorPoint:
    """Newton steps inside the box."""

    name = "interior_point"
    state_type = Interior
    takes = Takes(("hinge",))

    def start(self, problem: Problem, warm: Point | None = None) -> Interior:
        """At w = 0, or at `alpha`; the first step moves inside."""
        v, nothing = Primal(problem).start(warm), np.zeros(0)
        alpha = np.zeros(problem.n) if warm is None or warm.alpha is None else warm.alpha.copy()
        return Interior(v, nothing, alpha, nothing, nothing, nothing)

    def advance(self, problem: Problem, state: Interior, rng: np.random.Generator) -> Status | None:
        """One step; before the first, inside. Where rounding leaves none, that is the end."""
        return self.advance_within(problem, state, rng, np.inf)

    def advance_within(
        self, problem: Problem, state: Interior, rng: np.random.Generator, visits: float
    ) -> Status | None:
        """The same; with fewer visits than that takes, the way inside, or as much of it as they allow."""
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
        """V and α."""
        point = Primal(problem).point(state.v)
        return Point(point.w, point.b, state.alpha.copy())


class Equations:
    """The conditions at a point, their Newton matrix, and the step."""

    def __init__(self, problem: Problem, some: Any, at: Interior) -> None:
        self.primal, self.some, self.at = Primal(problem), some, at
        self.y = problem.y[some]
        self.off_balance = self.primal.ridge * at.v - self.force(at.alpha)
        self.unmet = 1.0 - at.margins - at.shortfall + at.surplus
        self.h = 1.0 / (at.surplus / at.alpha + at.shortfall / at.room)
        self.solve = self.system().solver()

    def step(self) -> tuple[Interior, float]:
        """A direction, and how far to go: towards μ = 0 to see how far that goes, then towards the μ it deserves."""
        at = self.at
        low, high = at.alpha * at.surplus, at.room * at.shortfall
        mu = float(np.mean(low) + np.mean(high))
        first = self.direction(-low, -high)
        low_there, high_there = self.products(first, min(1.0, self.longest(first)))
        ratio = float(np.mean(low_there) + np.mean(high_there)) / mu
        target = 0.5 * mu * ratio**3
        low, high = target - low - first.alpha * first.surplus, target - high - first.room * first.shortfall
        second = self.corrected(self.direction(low, high), low, high, target)
        return second, min(1.0, NEARLY * self.longest(second))

    def corrected(self, step: Interior, low: np.ndarray, high: np.ndarray, target: float) -> Interior:
        """The step, changed so that it leads further before it meets a wall, as long as that succeeds."""
        t = self.longest(step)
        for _ in range(CORRECTIONS):
            if t >= 1.0:
                break
            low_there, high_there = self.products(step, min(1.0, t + LONGER))
            low, high = low + missing(low_there, target), high + missing(high_there, target)
            other = self.direction(low, high)
            if (longer := self.longest(other)) < t + 0.1 * LONGER:
                break
            step, t = other, longer
        return step

    def products(self, step: Interior, t: float) -> tuple[np.ndarray, np.ndarray]:
        """α s and (C − α) ξ after t times the step."""
        at = self.at
        low = (at.alpha + t * step.alpha) * (at.surplus + t * step.surplus)
        return low, (at.room + t * step.room) * (at.shortfall + t * step.shortfall)

    def direction(self, low: np.ndarray, high: np.ndarray) -> Interior:
        """The direction that changes α s by `low` and (C − α) ξ by `high`, and meets the other conditions."""
        at = self.at
        wanted = self.unmet + low / at.alpha - high / at.room
        v = self.solve(self.force(self.h * wanted) - self.off_balance)
        margins = self.y * self.primal.scores(v)[self.some]
        alpha = self.h * (wanted - margins)
        surplus, shortfall = (low - at.surplus * alpha) / at.alpha, (high + at.shortfall * alpha) / at.room
        return Interior(v, margins, alpha, -alpha, surplus, shortfall)

    def longest(self, step: Interior) -> float:
        """How much of a step leads to a wall; at most twice the step."""
        at = self.at
        pairs = (
            (at.alpha, step.alpha), (at.room, step.room),
            (at.surplus, step.surplus), (at.shortfall, step.shortfall),
        )  # fmt: skip
        return 1.0 / max(0.5, *(float(np.max(-change / value)) for value, change in pairs))

    def force(self, q: np.ndarray) -> np.ndarray:
        """Σ q_i y_i z_i."""
        whole = np.zeros(self.primal.problem.n)
        whole[self.some] = q * self.y
        return self.primal.sum_of_rows(whole)

    def system(self) -> System:
        """The matrix, without as many rows of small h as together are nothing beside the ridge.

        A free bias has no ridge: there what is left out is put in.
        """
        problem = self.primal.problem
        h = np.zeros(problem.n)
        h[self.some] = self.h
        weight = h * (problem.squared_norms + 1.0)
        order = np.argsort(weight)
        without = order[np.cumsum(weight[order]) <= NEGLIGIBLE * problem.ridge]
        ridge = np.where(self.primal.ridge > 0.0, self.primal.ridge, max(float(np.sum(h[without])), TINY))
        h[without] = 0.0
        return System(problem.rows, problem.d, ridge, h, problem.threads)


def missing(products: np.ndarray, target: float) -> np.ndarray:
    """What brings products that are far from the target nearer to it."""
    wanted = np.clip(products, target / FAR, FAR * target)
    return np.asarray(np.maximum(wanted - products, -FAR * target))


def estimate(problem: Problem, state: Interior) -> float:
    """The relative gap, once the other conditions are met."""
    gap = float(np.sum(state.alpha * state.surplus) + np.sum(state.room * state.shortfall))
    primal = Primal(problem)
    return gap / primal.value(state.v, problem.y * state.margins)


def examples(problem: Problem) -> Any:
    """Those with a weight: the others have no box to be inside of."""
    return slice(None) if len(problem.counted) == problem.n else problem.counted


def move_inside(problem: Problem, state: Interior, rng: np.random.Generator, most: float) -> None:
    """A few epochs of dual coordinate descent, no more than `most` visits, then away from every wall."""
    descent, C, primal = DualCoordinate(), problem.C, Primal(problem)
    dual = descent.start(problem, Point(alpha=state.alpha))
    visited = 0  # in the last step, and likely in the next
    while dual.visited < EPOCHS * len(problem.counted) and dual.visited + visited <= most:
        before = dual.visited
        descent.advance(problem, dual, rng)
        visited = dual.visited - before
    state.v = primal.joined(dual.w.copy(), dual.b)
    state.margins = problem.y * primal.scores(state.v)
    state.alpha = np.clip(dual.alpha, INSIDE * C, (1.0 - INSIDE) * C)
    state.room = C - state.alpha
    state.shortfall = np.maximum(1.0 - state.margins, 0.0) + APART
    state.surplus = state.shortfall - (1.0 - state.margins)
    state.visited += dual.visited
