"""Second-order training: Newton's method on a problem without kinks, brought ever closer to the one that has them.

Solves   min_v P(v),  v = (w, b);  any loss, any bias
Idea     hinge has no second derivatives. Its augmented Lagrangian has:  C ℓ(m) becomes, for multipliers α and ε > 0,
             max_q  q (1 − m) − ½ ε (q − α)²,   0 ≤ q ≤ C:      q = clip(α + (1 − m)/ε)
         which is quadratic where q lies inside its box (there h = 1/ε) and straight elsewhere. A round minimises it by
         Newton steps, sets α to q, which is feasible and has w(q) = w, and divides ε. The gap falls by about the
         square of that divisor. Squared hinge and logistic need no ε: q = −C ℓ′(m), h = C ℓ″(m)
Step     (diag(r) + Σ h_i z_i z_iᵀ) s = −∇;  its length by a search along the margins, which takes no pass over the rows
Sample   the first rounds run on a sample of the rows: they only have to find the neighbourhood
Band     later rounds run on the rows whose q may still change; the others stand at an end of the box, and pull with a
         constant force. Each round looks at all rows once and chooses its band anew
Costs    a round: a few passes over the band, two over all rows; the matrices of `newton_system`
After    Rockafellar 1976; Li, Sun, Toh, SIAM Journal on Optimization 2018 (semismooth Newton)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.certificate import Point, certify
from maxmargin.dual_terms import DualTerm, Quadratic
from maxmargin.losses import sigmoid
from maxmargin.passes import combination_with_bias, scores_with_bias
from maxmargin.problem import Problem
from maxmargin.rows.memory import Rows
from maxmargin.rows.pick import pick
from maxmargin.solvers.newton_system import System
from maxmargin.solvers.primal import Primal, off_balance

DIVISOR = 16.0  # of ε, from one round to the next,
CAREFUL = 4.0  # or this, after a round that took many steps, and on the sample
FIRST = 4.0  # ε C in the first round: there nearly every row is inside its box
LEAST = 1e-6  # of the first ε
ROUNDS_ON_SAMPLE = 2
TYPICAL_GAP = 2e-3  # after them; it goes with the square of ε
TOO_FAR = 16.0  # times that gap: a start from there is worse than one on the sample
SHARE = 32  # a sample is one row of so many,
ENOUGH = 50  # but so many rows a feature at least
BAND = 2.0  # how far outside its box, in boxes, a q still counts as one that may change,
LEAST_SHARE = 20  # but at least one row of so many does
STEPS = 40  # Newton steps in a round, at most
FEW_STEPS = 12
SEARCHES = 20
HELD = 0.01


@dataclass
class Rounds:
    """Where the rounds stand: v = (w, b), the multipliers, ε, and how many rounds there have been."""

    v: np.ndarray
    alpha: np.ndarray
    epsilon: float
    round: int = 0
    visited: int = 0


@dataclass(frozen=True)
class SecondOrder:
    """Newton steps on the augmented Lagrangian."""

    name = "second_order"
    state_type = Rounds

    def start(self, problem: Problem, warm: Point | None = None) -> Rounds:
        """At w = 0 with every multiplier in the middle of its box, or at `warm` if that is not too far."""
        v, first = Primal(problem).start(warm), first_epsilon(problem)
        if warm is None:
            return Rounds(v, 0.5 * problem.C, first)
        point = Primal(problem).point(v)
        found = certify(problem, Point(point.w, point.b, warm.alpha))
        far = max(found.certificate.relative_gap / TYPICAL_GAP, 0.0)
        if far > TOO_FAR:
            return self.start(problem)
        epsilon = first / CAREFUL**ROUNDS_ON_SAMPLE * max(np.sqrt(min(far, 1.0)), LEAST)
        return Rounds(v, found.alpha, float(epsilon), round=1)

    def advance(self, problem: Problem, state: Rounds, rng: np.random.Generator) -> None:
        """One round; before the first, a few on a sample."""
        if state.round == 0:
            try_on_sample(problem, state, rng)
        whole = Part.of(problem)
        state.v, q, visits, steps = by_bands(whole, state.v, state.alpha, state.epsilon)
        state.visited += visits
        state.round += 1
        if steps < STEPS:
            state.alpha = q
            state.epsilon /= DIVISOR if steps <= FEW_STEPS else CAREFUL
        else:
            state.epsilon *= CAREFUL
        state.epsilon = max(state.epsilon, LEAST * first_epsilon(problem))

    def point(self, problem: Problem, state: Rounds) -> Point:
        """v, and for hinge the multipliers; a smooth loss gives α by the margins."""
        point = Primal(problem).point(state.v)
        return point if problem.loss.smooth else Point(point.w, point.b, state.alpha)


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a problem, and the constant `pull` Σ α_i y_i z_i of the others."""

    rows: Rows
    y: np.ndarray
    term: DualTerm
    ridge: np.ndarray
    pull: np.ndarray
    d: int
    threads: int

    @classmethod
    def of(cls, problem: Problem) -> Part:
        """All rows."""
        ridge = Primal(problem).ridge
        return cls(problem.rows, problem.y, problem.dual_term, ridge, np.zeros_like(ridge), problem.d, problem.threads)

    def restricted(self, band: np.ndarray, q: np.ndarray, force: np.ndarray) -> Part:
        """The rows of the band; the others go on to pull with their q."""
        rows, y = pick(self.rows, band), self.y[band]
        term = type(self.term)(*(array[band] for array in self.term))
        part = replace(self, rows=rows, y=y, term=term, pull=0.0 * force)
        return replace(part, pull=force - part.force(q[band]))

    def step(self, h: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The Newton step; what nothing regularises is held back by its gradient: it moves by 1/HELD at most."""
        held = np.where(self.ridge > 0.0, self.ridge, HELD * np.abs(gradient))
        return System(self.rows, self.d, held, h, self.threads).solve(gradient)

    def margins(self, v: np.ndarray) -> np.ndarray:
        """y_i ⟨z_i, v⟩: also how a step changes them."""
        return np.asarray(self.y * scores_with_bias(self.rows, self.d, v, self.threads))

    def force(self, q: np.ndarray) -> np.ndarray:
        """Σ q_i y_i z_i with the pull of the others: r v at the optimum."""
        size = len(self.ridge)
        return np.asarray(self.pull + combination_with_bias(self.rows, self.d, q * self.y, size, self.threads))


def first_epsilon(problem: Problem) -> float:
    """ε of the first round; 0 for a loss without kinks."""
    return 0.0 if problem.loss.smooth else FIRST / float(np.max(problem.C))


def respond(term: DualTerm, m: np.ndarray, alpha: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, h): the force of each row at its margin, and how fast it falls as the margin grows."""
    if isinstance(term, Quadratic):
        bend = term.D + epsilon
        q = (1.0 - m + epsilon * alpha) / bend
        h = np.where((q > 0.0) & (q < term.U), 1.0 / bend, 0.0)
        return np.clip(q, 0.0, term.U), h
    p = sigmoid(-m)
    return term.U * p, term.U * p * (1.0 - p)


def by_bands(whole: Part, v: np.ndarray, alpha: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Minimise over the whole by minimising over bands, and going towards their answer as far as the whole agrees."""
    margins = whole.margins(v)
    n, visits, wider, first = len(whole.y), len(whole.y), 1.0, np.inf
    steps = 0
    while True:
        q, h = respond(whole.term, margins, alpha, epsilon)
        force = whole.force(q)
        gradient = whole.ridge * v - force
        visits += n
        first = min(first, off_balance(whole.ridge, gradient))
        if balanced(whole, gradient, force, margins, q, epsilon, first) or steps >= STEPS:
            return v, q, visits, steps
        band = rows_in_band(whole, margins, alpha, epsilon, wider)
        if 2 * len(band) > n:
            step = whole.step(h, gradient)
            steps += 1
        else:
            part = whole.restricted(band, q, force)
            there, _, visited = minimise(part, v, margins[band], alpha[band], epsilon)
            step = there - v
            visits += visited
            steps += max(1, visited // (2 * len(band)))
        change = whole.margins(step)
        visits += n
        length = search(whole, gradient, q, margins, alpha, epsilon, step, change)
        wider = 1.0 if length > 0.5 else 4.0 * wider
        v, margins = v + length * step, margins + length * change


def minimise(
    part: Part, v: np.ndarray, margins: np.ndarray, alpha: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Newton steps until the force of the rows is r v, as exactly as this ε deserves: v, q, and rows visited."""
    visits, first = 0, np.inf
    for _ in range(STEPS):
        q, h = respond(part.term, margins, alpha, epsilon)
        force = part.force(q)
        gradient = part.ridge * v - force
        visits += len(part.y)
        first = min(first, off_balance(part.ridge, gradient))
        if balanced(part, gradient, force, margins, q, epsilon, first):
            break
        step = part.step(h, gradient)
        change = part.margins(step)
        length = search(part, gradient, q, margins, alpha, epsilon, step, change)
        v, margins = v + length * step, margins + length * change
        visits += len(part.y)
    return v, q, visits


def balanced(part: Part, gradient: Any, force: Any, margins: Any, q: Any, epsilon: float, first: float) -> bool:
    """Whether what is off balance is a small part of the gap that this ε leaves, or of what it was."""
    enough = 0.1 * slack(part, margins, q) if epsilon else 1e-3 * first
    return off_balance(part.ridge, gradient) <= max(enough, 1e-16 * off_balance(part.ridge, force))


def slack(part: Part, margins: np.ndarray, q: np.ndarray) -> float:
    """What the gap is made of besides: Σ C max(0, 1 − m) − q (1 − m)."""
    short = 1.0 - margins
    return float(np.sum(part.term.U * np.maximum(0.0, short) - q * short))


def search(
    part: Part, gradient: Any, q: Any, margins: Any, alpha: Any, epsilon: float, step: Any, change: Any
) -> float:
    """The length at which the slope along the step is nearly 0: usually 1, else found by ever larger divisions of it.

    Where no row takes part, the step is the gradient in the units of the features: it may be many orders too long.
    """
    line, bend = float(gradient @ step), float(np.sum(part.ridge * step * step))

    def slope(t: float) -> float:
        gained = respond(part.term, margins + t * change, alpha, epsilon)[0] - q
        return line + t * bend - float(gained @ change)

    start, low, high, smaller = abs(line), 0.0, 1.0, 0.5
    here = slope(high)
    while here < -0.25 * start and high < 1e6:
        low, high = high, 2.0 * high
        here = slope(high)
    length = high
    for _ in range(SEARCHES):
        if abs(here) <= 0.25 * start:
            break
        if low == 0.0:
            length, smaller = smaller * high, smaller * smaller
        else:
            length = 0.5 * (low + high) if high <= 4.0 * low else float(np.sqrt(low * high))
        here = slope(length)
        low, high = (length, high) if here < 0.0 else (low, length)
    return length


def rows_in_band(part: Part, margins: np.ndarray, alpha: np.ndarray, epsilon: float, wider: float) -> np.ndarray:
    """The rows whose q may change: those inside their box, and those whose margin is not far from where it begins."""
    n = len(margins)
    if not epsilon:
        return np.arange(n)
    outside = np.maximum(-epsilon * alpha - (1.0 - margins), (1.0 - margins) - epsilon * (part.term.U - alpha))
    least = min(max(n // LEAST_SHARE, ENOUGH * len(part.ridge)), n - 1)
    width = max(BAND * epsilon * float(np.mean(part.term.U)), float(np.partition(outside, least)[least]))
    return np.flatnonzero(outside <= wider * width)


def try_on_sample(problem: Problem, state: Rounds, rng: np.random.Generator) -> None:
    """The first rounds, on a sample whose C is larger by as much as it is smaller; if there are rows enough."""
    size = max(problem.n // SHARE, ENOUGH * len(state.v))
    if 4 * size > problem.n:
        return
    chosen = np.sort(rng.choice(problem.n, size, replace=False))
    share = size / problem.n
    C = problem.C[chosen] / share
    whole = Part.of(problem)
    part = replace(whole, rows=pick(problem.rows, chosen), y=problem.y[chosen], term=problem.loss.dual_term(C))
    alpha, epsilon = 0.5 * C, share * state.epsilon
    for _ in range(ROUNDS_ON_SAMPLE if epsilon else 1):
        state.v, alpha, visits = minimise(part, state.v, part.margins(state.v), alpha, epsilon)
        state.visited += visits + size
        epsilon /= CAREFUL
    state.epsilon /= CAREFUL**ROUNDS_ON_SAMPLE
