"""Stochastic (sub)gradient methods with momentum or adaptive rates: momentum, Nesterov, AdaGrad, RMSProp, Adam.

Solves   min_w,b  λ/2 ‖w‖² + λ Σ C_i ℓ(m_i),   λ = 1/Σ C_i:  the λ-form, where the gradient of a loss is about −y x
Step     example i, the next of a shuffled epoch;  g = the gradient of its term, where the objective is the mean of n
         such terms:
             g_k = λ (n/n_k) w_k − λ n a_i y_i x_ik,   a_i = −C_i ℓ′(m_i)
         for the features k stored in row i; n_k rows store feature k. b is the weight of a feature stored in all rows
             momentum   v ← β₁v − γg,                w ← w + v
             nesterov   as momentum, with g taken at w + β₁v
             adagrad    s ← s + g²,                  w ← w − γ₀ g/(√s + ε)
             rmsprop    s ← β₂s + (1 − β₂)g²,        w ← w − γ g/(√s + ε)
             adam       s as in rmsprop,  v ← β₁v + (1 − β₁)g,   w ← w − γ v̂/(√ŝ + ε)
                        v̂ and ŝ: v and s divided by the sums of their weights, for v 1 − β₁ᶜ after c gradients
Rate     after e epochs γ = γ₀ r and 1 − β₂ = (1 − decay) r,  r = 1/√(1 + e).  With a constant β₂ the limit is not
         the optimum: a large g increases s and so receives too small a weight
Output   the mean of (w, b) at the ends of the epochs since their number was last a power of two
Keeps    for hinge α_i = the mean of a_i over the same epochs, which is in its box; for a smooth loss α follows from
         the margins
Costs    one epoch: O(nnz) time, O(n + d) memory; a step reads and updates only the features stored in its row
After    Polyak 1964; Sutskever et al., ICML 2013; Duchi, Hazan, Singer, JMLR 2011; Tieleman, Hinton 2012;
         Kingma, Ba, ICLR 2015
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import dot, entry, feature, span
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.dual_terms import best_response
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.parts.stochastic_steps import Walk, curvature_bound
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.status import Status
from maxmargin.system.compiled import compiled, holds, inlined
from maxmargin.system.values import is_number

MEMORY = ("velocity", "square", "velocity_weight", "square_weight")
STEPS = {"momentum": 0.01, "nesterov": 0.01, "adagrad": 0.3, "rmsprop": 0.03, "adam": 0.03}
EPSILON = 1e-8  # ε of the rules: Kingma, Ba, ICLR 2015
LARGEST_WEIGHT = 1e100  # if an entry of w is larger, the objective may overflow: the run ends as DIVERGED


class Velocity(NamedTuple):
    """Momentum (`ahead` = 0) and Nesterov (`ahead` = β₁): the gradient is taken at w + ahead · v."""

    step: float
    beta: float
    ahead: float


class Summed(NamedTuple):
    """AdaGrad: steps divided by the root of the sum of g²."""

    step: float


class Moments(NamedTuple):
    """Adam: running averages of g and g². RMSProp is the case beta = 0 without bias correction (square_weight = 1)."""

    step: float
    beta: float
    decay: float


Rule = Velocity | Summed | Moments


@dataclass
class Trail(Walk):
    """A walk with memory: `v` is w, or (w, b), with scale = 1; `a` sums the a_i of each example's visits.

    Each coordinate of v has its ridge λ n/n_k, the velocity v and square s of the method, and for Adam the sums of
    their weights. `total` sums v at the ends of `count` epochs; `a` covers the same epochs and the current one.
    Features that no row stores never change: `used` are the other features, and b.
    """

    used: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    ridge: np.ndarray = field(default_factory=lambda: np.zeros(0))
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(0))
    square: np.ndarray = field(default_factory=lambda: np.zeros(0))
    velocity_weight: np.ndarray = field(default_factory=lambda: np.zeros(0))
    square_weight: np.ndarray = field(default_factory=lambda: np.zeros(0))
    total: np.ndarray = field(default_factory=lambda: np.zeros(0))
    count: int = 0

    def forget(self) -> None:
        """Reset the sums to 0."""
        self.total, self.a, self.count = np.zeros(len(self.used)), np.zeros_like(self.a), 0


@dataclass(frozen=True)
class Adaptive:
    """Stochastic gradient steps with momentum or adaptive rates, one example at a time."""

    name = "adaptive"
    state_type = Trail
    takes = Takes(EVERY_LOSS)

    method: str = "adam"
    step: float | None = None
    momentum: float = 0.9
    decay: float = 0.999

    def __post_init__(self) -> None:
        if self.method not in STEPS:
            raise ParameterError(f"method={self.method!r} is not known: choose one of {', '.join(STEPS)}")
        if self.step is not None and not (is_number(self.step) and 0 < self.step < np.inf):
            raise ParameterError(f"step={self.step!r} must be a positive number")
        for name in ("momentum", "decay"):
            value = getattr(self, name)
            if not (is_number(value) and 0 <= value < 1):
                raise ParameterError(f"{name}={value!r} must be a number from 0 to below 1")

    def start(self, problem: Problem, warm: Point | None = None) -> Trail:
        """Start at w = 0, or at the point `warm`, with empty memory."""
        v, counts = Primal(problem).start(warm), visits_of(problem)
        return Trail(
            v,
            np.zeros(problem.n),
            used=np.flatnonzero(counts),
            ridge=ridges(problem, counts),
            velocity=np.zeros_like(v),
            square=np.zeros_like(v),
            velocity_weight=np.zeros_like(v),
            square_weight=np.full_like(v, self.method == "rmsprop"),
        )

    def advance(self, problem: Problem, state: Trail, rng: np.random.Generator) -> Status | None:
        """Make one epoch, or a part of it. If weights overflow, restore the point before and return DIVERGED."""
        n = len(problem.counted)
        start, stop = state.open(problem, rng, 1, uniform=False)
        if start == 0 and 2 * state.count >= state.t // n:  # so the sums cover at least half of the run
            state.forget()
        before, t = state.v[state.used], state.t + np.arange(stop - start)
        walk(
            problem.rows, problem.d, problem.y, problem.dual_term, n / float(np.sum(problem.C)), state.ridge,
            self.rule(problem, state.ridge), state.v, *(getattr(state, name) for name in MEMORY), state.a,
            state.order[start:stop], 1.0 / np.sqrt(1.0 + t / n),
        )  # fmt: skip
        state.t += stop - start
        state.close(start, stop)
        if not np.all(np.abs(state.v[state.used]) < LARGEST_WEIGHT):
            state.v[state.used] = before
            state.forget()
            return Status.DIVERGED
        if state.position == 0:
            state.total += state.v[state.used]
            state.count += 1
        return None

    def point(self, problem: Problem, state: Trail) -> Point:
        """Return the means of (w, b), and for hinge of α, over the summed epochs."""
        v = state.v.copy()
        if state.count:
            v[state.used] = state.total / state.count
        point = Primal(problem).point(v)
        if problem.loss.smooth:
            return point
        visits = np.full(problem.n, state.count)
        visits[state.order[: state.position]] += 1
        return Point(point.w, point.b, state.a / np.maximum(visits, 1))

    def rule(self, problem: Problem, ridge: np.ndarray) -> Rule:
        """Return the method and its parameters as data for compiled code."""
        step, beta, decay = self.first_step(problem, ridge), float(self.momentum), float(self.decay)
        rules: dict[str, Rule] = {
            "momentum": Velocity(step, beta, 0.0),
            "nesterov": Velocity(step, beta, beta),
            "adagrad": Summed(step),
            "rmsprop": Moments(step, 0.0, decay),
            "adam": Moments(step, beta, decay),
        }
        return rules[self.method]

    def first_step(self, problem: Problem, ridge: np.ndarray) -> float:
        """Return γ₀: the option `step`, or the default of the method, reduced if it would overshoot with momentum."""
        if self.step is not None:
            return float(self.step)
        own = STEPS[self.method]
        if self.method not in ("momentum", "nesterov"):
            return own
        return min(own, (1.0 - self.momentum) / largest_curvature(problem, ridge))


def visits_of(problem: Problem) -> np.ndarray:
    """Return n_k, the number of counted rows that store each feature; b is stored in all of them."""
    counts = np.full(problem.d + (problem.bias != "none"), len(problem.counted))
    counts[: problem.d] = 0
    count(problem.rows, problem.counted, counts)
    return counts


def ridges(problem: Problem, counts: np.ndarray) -> np.ndarray:
    """Return λ n/n_k for the weights, and for b λ/B², or 0 if it is free."""
    n = len(problem.counted)
    return np.asarray(Primal(problem).ridge * n / (np.maximum(counts, 1) * np.sum(problem.C)))


def largest_curvature(problem: Problem, ridge: np.ndarray) -> float:
    """Return a bound on the curvature of the term of any example."""
    lam, n = 1.0 / float(np.sum(problem.C)), len(problem.counted)
    bend = curvature_bound(problem.loss)
    longest = float(np.max(problem.C * (problem.squared_norms + (problem.bias != "none"))))
    return float(np.max(ridge, initial=lam)) + lam * n * bend * longest


def ahead(rule: Any) -> float:
    """Return the c for which the gradient is taken at w + c v, in compiled code."""
    raise NotImplementedError("ahead works inside compiled functions only")


def move(rule: Any, k: int, g: float, r: float, w: Any, v: Any, s: Any, p: Any, q: Any) -> None:
    """Update coordinate k of w by its gradient g and the memory of earlier ones, in compiled code."""
    raise NotImplementedError("move works inside compiled functions only")


@inlined(ahead)
def _ahead(rule):
    return (lambda rule: rule.ahead) if holds(rule, Velocity) else (lambda rule: 0.0)


@inlined(move)
def _move(rule, k, g, r, w, v, s, p, q):
    if holds(rule, Velocity):

        def velocity(rule, k, g, r, w, v, s, p, q):
            v[k] = rule.beta * v[k] - rule.step * r * g
            w[k] += v[k]

        return velocity

    if holds(rule, Summed):

        def summed(rule, k, g, r, w, v, s, p, q):
            s[k] += g * g
            w[k] -= rule.step * g / (sqrt(s[k]) + EPSILON)

        return summed

    def moments(rule, k, g, r, w, v, s, p, q):
        new, fresh = 1.0 - rule.beta, (1.0 - rule.decay) * r
        v[k] += new * (g - v[k])
        p[k] += new * (1.0 - p[k])
        s[k] += fresh * (g * g - s[k])
        q[k] += fresh * (1.0 - q[k])
        w[k] -= rule.step * r * (v[k] / p[k]) / (sqrt(s[k] / q[k]) + EPSILON)

    return moments


@compiled
def count(rows, counted, counts):
    """Add to `counts` the number of counted rows that store each feature."""
    for i in counted:
        start, stop = span(rows, i)
        for place in range(start, stop):
            counts[feature(rows, i, place)] += 1


@compiled
def walk(rows, d, y, term, scale, ridge, rule, w, v, s, p, q, given, order, r):
    """Visit the examples of `order` with the factors r of the rate; scale = λn, and w[d], if present, is b."""
    far, biased = ahead(rule), w.size > d
    for j in range(order.size):
        i = order[j]
        f = dot(rows, i, w) + (w[d] if biased else 0.0)
        if far > 0.0:
            f += far * (dot(rows, i, v) + (v[d] if biased else 0.0))
        a = best_response(term, i, y[i] * f)
        given[i] += a
        pull = scale * a * y[i]
        start, stop = span(rows, i)
        for place in range(start, stop):
            k = feature(rows, i, place)
            g = ridge[k] * (w[k] + far * v[k]) - pull * entry(rows, i, place)
            move(rule, k, g, r[j], w, v, s, p, q)
        if biased:
            move(rule, d, ridge[d] * (w[d] + far * v[d]) - pull, r[j], w, v, s, p, q)
