"""What stochastic solvers share: one form of the step, schedules of its size, and the dual point that it keeps.

Explicit or implicit, one example or a batch of k, every step has the form

    w ← (1 − γ) w + γ N Σ a_i y_i x_i,     0 ≤ a_i ≤ C_i:  what the step gives to example i, of N steps an epoch

so with  α ← (1 − γ) α + γ N Σ a_i e_i  always w = w(α). With γ_t = 1/t and shuffled epochs α_i is the
mean of what example i was given in its visits, and so lies in its box: a feasible dual point, and a true duality gap.
Other schedules may leave the box; the certificate then puts α back, and is looser.

Sparse rows cost their nonzeros: w = scale · v and α = scale · a, so that shrinking all of w is one multiplication.

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

SMALL_SCALE = 1e-6  # least scale at the end of a call, and where sums of w are kept: below, their digits would cancel
TINY_SCALE = 1e-100  # least scale within a call: below, a division by it may overflow
SCHEDULES = ("1/t", "over_t", "over_t_C", "over_sqrt_t", "constant")


@dataclass(kw_only=True)
class Epochs:
    """The number of steps, and the epoch under way: the order of its examples, and how many were visited."""

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
        """The part of the epoch to visit now, in whole batches; at its beginning, an order for it."""
        if self.position == 0:
            counted = problem.counted
            self.order = np.zeros_like(counted) if uniform else rng.permutation(counted)
        rows = max(1, rows_at_once(problem) // batch) * batch
        start, stop = self.position, min(self.position + rows, len(self.order))
        if uniform:  # no more draws than there are steps
            self.order[start:stop] = rng.choice(problem.counted, stop - start)
        return start, stop

    def fold(self) -> None:
        """Put the scale into the arrays before it is too small to divide by."""
        if self.scale < SMALL_SCALE:
            self.v *= self.scale
            self.a *= self.scale
            self.s *= self.scale
            self.scale = 1.0


@dataclass
class AveragedWalk(Walk):
    """A walk that also sums its points, at the cost of the nonzeros of a row.

    The sum of w over `count` steps is  total + weight · v − lag:  `weight` sums the scales, and `lag` takes back what v
    gained, times the weight before it did. The same for alpha.
    """

    weight: float = 0.0
    count: int = 0
    total: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lag: np.ndarray = field(default_factory=lambda: np.zeros(0))
    total_a: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lag_a: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def forget(self) -> None:
        """Begin the sums anew."""
        self.weight, self.count = 0.0, 0
        self.total, self.lag = np.zeros_like(self.v), np.zeros_like(self.v)
        self.total_a, self.lag_a = np.zeros_like(self.a), np.zeros_like(self.a)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of w and of alpha."""
        return self.total + self.weight * self.v - self.lag, self.total_a + self.weight * self.a - self.lag_a

    def fold(self) -> None:
        """Put the sums together before the scale goes into the arrays."""
        if self.count and self.scale < SMALL_SCALE:
            self.total, self.total_a = self.sums()
            self.lag[:], self.lag_a[:], self.weight = 0.0, 0.0, 0.0
        super().fold()


def begin(problem: Problem, warm: Point | None) -> Walk:
    """At w = 0, or at w(alpha)."""
    alpha, w, _ = dual_start(problem, warm)
    return Walk(w, alpha, s=float(alpha @ problem.y))


def stand(problem: Problem, state: Walk) -> Point:
    """The dual point if it is in its box; else w and α, which the certificate then uses apart."""
    alpha = state.scale * state.a
    if np.all(alpha <= problem.loss.upper(problem.C) * (1 + 1e-9)):
        return Point(alpha=alpha)
    return Point(state.scale * state.v, problem.bias_square * state.scale * state.s, alpha)


def steps(schedule: str, first: float, C: float, t: np.ndarray) -> np.ndarray:
    """γ_t for the steps numbered t = 1, 2, ..."""
    rates = {
        "1/t": 1.0 / t,
        "over_t": first / (1.0 + t),
        "over_t_C": first / (1.0 + first * t / C),
        "over_sqrt_t": first / np.sqrt(t),
        "constant": np.full(len(t), first),
    }
    return np.asarray(np.minimum(rates[schedule], 1.0))


def curvature_bound(loss: Loss) -> float:
    """The largest ℓ″, as far as the loss tells; else ℓ″(0), where training begins."""
    known = loss.largest_curvature
    return known if np.isfinite(known) else float(loss.curvature(np.zeros(1))[0])


def check_schedule(schedule: str, first: float) -> None:
    """Refuse a schedule that is not known, or a step that is not positive."""
    if schedule not in SCHEDULES:
        raise ParameterError(f"schedule={schedule!r} is not known: choose one of {', '.join(SCHEDULES)}")
    if not (is_number(first) and 0 < first < np.inf):
        raise ParameterError(f"step={first!r} must be a positive number")
