"""Shared by stochastic solvers: the form of a step, schedules of the step size, and the dual point.

Explicit or implicit, with one example or a batch of k, every step has the form

    w ← (1 − γ) w + γ N Σ a_i y_i x_i,     0 ≤ a_i ≤ C_i,   sum over the examples of the step, N steps in an epoch

so with  α ← (1 − γ) α + γ N Σ a_i e_i  always w = w(α). With γ_t = 1/t and shuffled epochs α_i is the mean of a_i over
its visits, and so lies in its box: a feasible dual point, and a valid duality gap. With other schedules α may leave the
box; the certificate then makes α feasible, and its gap is larger.

A step costs the nonzeros of its rows: w = scale · v and α = scale · a, so shrinking all of w is one multiplication.

Schedules, in the C-form of the lectures (in the λ-form η = γ/λ):
    1/t                γ_t = 1/t
    over_t             γ_t = γ₀/(1 + t)
    over_t_C           γ_t = γ₀/(1 + γ₀ t/C)
    over_sqrt_t        γ_t = γ₀/√t
    constant           γ_t = γ₀
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import Loss
from maxmargin.solvers.base import dual_start, rows_at_once
from maxmargin.system.values import is_number

SMALL_SCALE = 1e-6  # smallest scale after a call, and while w is summed: below it the sums would lose digits
TINY_SCALE = 1e-100  # smallest scale within a call: below it a division by the scale may overflow
SCHEDULES = ("1/t", "over_t", "over_t_C", "over_sqrt_t", "constant")


@dataclass(kw_only=True)
class Epochs:
    """The number of steps t, and the current epoch: the order of its examples, and the position in it."""

    t: int = 0
    visited: int = 0
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    position: int = 0

    def close(self, start: int, stop: int) -> None:
        """Count the visits of order[start:stop]."""
        self.visited += stop - start
        self.position = stop if stop < len(self.order) else 0


@dataclass
class Walk(Epochs):
    """A point, factored: w = scale · v, α = scale · a, Σ αy = scale · s."""

    v: np.ndarray
    a: np.ndarray
    scale: float = 1.0
    s: float = 0.0
    b: float = 0.0

    def open(self, problem: Problem, rng: np.random.Generator, batch: int, uniform: bool) -> tuple[int, int]:
        """Return the part of `order` to visit now, in whole batches. A new epoch draws a new order."""
        if self.position == 0:
            counted = problem.counted
            self.order = np.zeros_like(counted) if uniform else rng.permutation(counted)
        rows = max(1, rows_at_once(problem) // batch) * batch
        start, stop = self.position, min(self.position + rows, len(self.order))
        if uniform:  # draw only as many examples as this call visits
            self.order[start:stop] = rng.choice(problem.counted, stop - start)
        return start, stop

    def fold(self) -> None:
        """Multiply the arrays by the scale and reset it to 1, if it is too small to divide by."""
        if self.scale < SMALL_SCALE:
            self.v *= self.scale
            self.a *= self.scale
            self.s *= self.scale
            self.scale = 1.0


@dataclass
class AveragedWalk(Walk):
    """A walk that also sums its points. Summing costs only the nonzeros of a row in each step.

    The sum of w over `count` steps is  total + weight · v − lag:  `weight` sums the scales, and `lag` sums each change
    of v times the weight before that change. `total_a` and `lag_a` do the same for α.
    """

    weight: float = 0.0
    count: int = 0
    total: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lag: np.ndarray = field(default_factory=lambda: np.zeros(0))
    total_a: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lag_a: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def forget(self) -> None:
        """Reset the sums to 0."""
        self.weight, self.count = 0.0, 0
        self.total, self.lag = np.zeros_like(self.v), np.zeros_like(self.v)
        self.total_a, self.lag_a = np.zeros_like(self.a), np.zeros_like(self.a)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of w and of α."""
        return self.total + self.weight * self.v - self.lag, self.total_a + self.weight * self.a - self.lag_a

    def fold(self) -> None:
        """Update the totals before the arrays are multiplied by the scale."""
        if self.count and self.scale < SMALL_SCALE:
            self.total, self.total_a = self.sums()
            self.lag[:], self.lag_a[:], self.weight = 0.0, 0.0, 0.0
        super().fold()


def begin(problem: Problem, warm: Point | None) -> Walk:
    """Return a walk that starts at w = 0, or at w(α) of `warm`."""
    alpha, w, _ = dual_start(problem, warm)
    return Walk(w, alpha, s=float(alpha @ problem.y))


def stand(problem: Problem, state: Walk) -> Point:
    """Return α if it is in its box; else w, b and α, which the certificate then uses separately."""
    alpha = state.scale * state.a
    if np.all(alpha <= problem.loss.upper(problem.C) * (1 + 1e-9)):
        return Point(alpha=alpha)
    return Point(state.scale * state.v, problem.bias_square * state.scale * state.s, alpha)


def steps(schedule: str, first: float, C: float, t: np.ndarray) -> np.ndarray:
    """Return γ_t, at most 1, for the step numbers t = 1, 2, ..."""
    rates = {
        "1/t": 1.0 / t,
        "over_t": first / (1.0 + t),
        "over_t_C": first / (1.0 + first * t / C),
        "over_sqrt_t": first / np.sqrt(t),
        "constant": np.full(len(t), first),
    }
    return np.asarray(np.minimum(rates[schedule], 1.0))


def curvature_bound(loss: Loss) -> float:
    """Return the largest ℓ″ if the loss declares it; else ℓ″(0), the curvature at the start."""
    known = loss.largest_curvature
    return known if np.isfinite(known) else float(loss.curvature(np.zeros(1))[0])


def check_schedule(schedule: str, first: float) -> None:
    """Raise ParameterError if the schedule is not known, or the step is not positive."""
    if schedule not in SCHEDULES:
        raise ParameterError(f"schedule={schedule!r} is not known: choose one of {', '.join(SCHEDULES)}")
    if not (is_number(first) and 0 < first < np.inf):
        raise ParameterError(f"step={first!r} must be a positive number")
