"""Second-order training: Newton's method on a problem without kinks, brought ever closer to the one that has them.

Solves   min_v P(v),  v = (w, b);  any loss, any bias
Idea     hinge has no second derivatives. Its augmented Lagrangian has:  C ℓ(m) becomes, for multipliers α and ε > 0,
             max_q  q (1 − m) − ½ ε (q − α)²,   0 ≤ q ≤ C:      q = clip(α + (1 − m)/ε)
         which is quadratic where q lies inside its box (there h = 1/ε) and straight elsewhere. A round minimises it by
         Newton steps, sets α to q, which is feasible and has w(q) = w, and divides ε. The gap falls by about the
         square of that divisor. Squared hinge and logistic need no ε: q = −C ℓ′(m), h = C ℓ″(m)
Step     (diag(r) + Σ h_i z_i z_iᵀ) s = −∇;  the whole of it, which one pass over the rows tries, or else a length found
         by a search along the margins, which takes no pass
Sample   the first rounds run on a sample of the rows: they only have to find the neighbourhood
Band     later rounds run on the rows whose q may still change; the others stand at an end of the box, and pull with a
         constant force. Each round looks at all rows once and chooses its band anew
Costs    a round: a few passes over the band, two over all rows; the matrices of `newton_system`
After    Rockafellar 1976; Li, Sun, Toh, SIAM Journal on Optimization 2018 (semismooth Newton)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.passes import combination_with_bias, sum_of_chunks
from maxmargin.data.pick import pick
from maxmargin.data.rows import Rows, axpy, dot
from maxmargin.problems.certificate import Certified, Point, certify
from maxmargin.problems.dual_terms import DualTerm, fenchel_young_gap, softened
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.newton_system import System
from maxmargin.solvers.parts.primal_objective import EVALUATED, FLAT, Primal, off_balance, search
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.status import Status
from maxmargin.system.compiled import compiled

DIVISOR = 16.0  # of ε, from one round to the next,
CAREFUL = 4.0  # or this, after a round that took many steps, and on the sample
FIRST = 4.0  # ε C in the first round: there nearly every row is inside its box
LEAST = 1e-6  # of the first ε
ROUNDS_ON_SAMPLE = 2
TYPICAL_GAP = 2e-3  # after them; it goes with the square of ε
TIGHTER = 0.5  # ε of a start from a point with that gap, beside the one that led to it on the sample
TOO_FAR = 16.0  # times that gap: a start from there is worse than one on the sample
SHARE = 32  # a sample is one row of so many,
ENOUGH = 50  # but so many rows a feature at least
BAND = 2.0  # how far outside its box, in boxes, a q still counts as one that may change,
LEAST_SHARE = 20  # but at least one row of so many does
SEEN = 1 << 15  # rows that tell how wide the band is
STEPS = 40  # Newton steps in a round, at most
FEW_STEPS = 12
STEP_VISITS = 2  # of each row in one step, at most
AT_ONCE = 64  # rows
HELD = 0.01


@dataclass
class Rounds:
    """Where the rounds stand: v = (w, b), the multipliers, ε, how many rounds there have been.

    A point that was given waits for its certificate, which says what ε it deserves.
    """

    v: np.ndarray
    alpha: np.ndarray
    epsilon: float
    round: int = 0
    visited: int = 0
    given: bool = False


@dataclass(frozen=True)
class SecondOrder:
    """Newton steps on the augmented Lagrangian."""

    name = "second_order"
    state_type = Rounds
    takes = Takes(EVERY_LOSS)

    def start(self, problem: Problem, warm: Point | None = None) -> Rounds:
        """At w = 0 with every multiplier in the middle of its box, or at `warm`."""
        v, alpha = Primal(problem).start(warm), 0.5 * problem.C
        if warm is not None:
            alpha = certify(problem, Primal(problem).point(v)).alpha if warm.alpha is None else warm.alpha
        return Rounds(v, alpha, first_epsilon(problem), given=warm is not None)

    def learn(self, problem: Problem, state: Rounds, found: Certified) -> None:
        """The smaller the gap of a point that was given, the smaller ε; from one that is too far, start anew."""
        if not state.given:
            return
        far = max(found.certificate.relative_gap / TYPICAL_GAP, 0.0)
        if far > TOO_FAR:
            anew = self.start(problem)
            state.v, state.alpha = anew.v, anew.alpha
        else:
            state.alpha, state.round = found.alpha, 1
            state.epsilon *= TIGHTER * float(max(np.sqrt(min(far, 1.0)), LEAST)) / CAREFUL**ROUNDS_ON_SAMPLE
        state.given = False

    def advance(self, problem: Problem, state: Rounds, rng: np.random.Generator) -> Status | None:
        """One round; before the first, a few on a sample."""
        return self.advance_within(problem, state, rng, np.inf)

    def advance_within(self, problem: Problem, state: Rounds, rng: np.random.Generator, visits: float) -> Status | None:
        """The same; with fewer visits than that takes, as many Newton steps as they allow."""
        last = state.visited + visits
        if state.round == 0:
            try_on_sample(problem, state, rng, visits - problem.n)
        there, visited, steps, cut = by_bands(
            Part.of(problem, state.alpha, state.epsilon), state.v, last - state.visited
        )
        state.v = there.v
        state.visited += visited
        state.round += 1
        if steps < STEPS:
            state.alpha = there.q
            state.epsilon /= DIVISOR if steps <= FEW_STEPS else CAREFUL
        else:
            state.epsilon *= CAREFUL
        state.epsilon = max(state.epsilon, LEAST * first_epsilon(problem))
        return Status.EPOCH_LIMIT if cut else None

    def point(self, problem: Problem, state: Rounds) -> Point:
        """v, and for hinge the multipliers; a smooth loss gives α by the margins."""
        point = Primal(problem).point(state.v)
        return point if problem.loss.smooth else Point(point.w, point.b, state.alpha)


class Place(NamedTuple):
    """Where the steps have led: v and its margins, the forces q that answer them, h, ∇, and Σ C ℓ(m) − q (1 − m).

    h is how fast a force falls as its margin grows; the last number is what the gap is made of besides ∇.
    """

    v: np.ndarray
    margins: np.ndarray
    q: np.ndarray
    h: np.ndarray
    gradient: np.ndarray
    slack: float


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a problem, their multipliers and ε, and the constant `pull` Σ α_i y_i z_i of the other rows."""

    rows: Rows
    y: np.ndarray
    term: DualTerm
    ridge: np.ndarray
    pull: np.ndarray
    d: int
    threads: int
    alpha: np.ndarray
    epsilon: float

    @classmethod
    def of(cls, problem: Problem, alpha: np.ndarray, epsilon: float) -> Part:
        """All rows."""
        ridge, term = Primal(problem).ridge, problem.dual_term
        pull = np.zeros_like(ridge)
        return cls(problem.rows, problem.y, term, ridge, pull, problem.d, problem.threads, alpha, epsilon)

    def restricted(self, band: np.ndarray, here: Place) -> Part:
        """The rows of the band; the others go on to pull with their q."""
        rows, y = pick(self.rows, band, self.threads), self.y[band]
        term = type(self.term)(*(array[band] for array in self.term))
        own = combination_with_bias(rows, self.d, here.q[band] * y, len(self.ridge), self.threads)
        pull = self.ridge * here.v - here.gradient - own
        return replace(self, rows=rows, y=y, term=term, pull=pull, alpha=self.alpha[band])

    def step(self, here: Place) -> np.ndarray:
        """The Newton step; what nothing regularises is held back by its gradient: it moves by 1/HELD at most."""
        held = np.where(self.ridge > 0.0, self.ridge, HELD * np.abs(here.gradient))
        return System(self.rows, self.d, held, here.h, self.threads).solve(here.gradient)

    def enter(self, v: np.ndarray) -> Place:
        """The place of v, of which nothing is known: one pass over the rows."""
        return self.beyond(np.zeros_like(v), np.zeros(len(self.y)), v)[0]

    def at(self, v: np.ndarray, margins: np.ndarray) -> Place:
        """The place of v, whose margins are known: one pass over the rows."""
        q, h = np.empty_like(margins), np.empty_like(margins)

        def add(start: int, stop: int, total: np.ndarray) -> None:
            respond(self.rows, self.y, self.term, margins, self.alpha, self.epsilon, start, stop, q, h, total)

        return self.placed(v, margins, q, h, add)

    def beyond(self, v: np.ndarray, before: np.ndarray, step: np.ndarray) -> tuple[Place, np.ndarray]:
        """The place a whole step from v and its margins, and how these change on the way: one pass over the rows."""
        change, margins, q, h = (np.empty_like(before) for _ in range(4))
        b = float(step[-1]) if len(step) > self.d else 0.0

        def add(start: int, stop: int, total: np.ndarray) -> None:
            rows, y, term, alpha, epsilon = self.rows, self.y, self.term, self.alpha, self.epsilon
            proceed(rows, y, term, step, b, before, alpha, epsilon, start, stop, change, margins, q, h, total)

        return self.placed(v + step, margins, q, h, add), change

    def placed(self, v: Any, margins: Any, q: Any, h: Any, add: Callable[[int, int, np.ndarray], None]) -> Place:
        """What `add` makes of the rows."""
        total = sum_of_chunks(self.rows, self.d + 2, self.threads, add, EVALUATED)
        gradient = self.ridge * v - self.pull - total[: len(self.ridge)]
        return Place(v, margins, q, h, gradient, float(total[-1]))

    def go(self, here: Place, step: np.ndarray) -> tuple[Place, float, int]:
        """Take the step, or as much or many of it as is good: the place, the length, and the rows visited."""
        there, change = self.beyond(here.v, here.margins, step)
        slope = float(there.gradient @ step)
        if abs(slope) <= FLAT * abs(float(here.gradient @ step)):
            return there, 1.0, len(self.y)
        length = search(self.slope_along(here, step, change), float(here.gradient @ step), slope)
        return self.at(here.v + length * step, here.margins + length * change), length, 2 * len(self.y)

    def slope_along(self, here: Place, step: np.ndarray, change: np.ndarray) -> Callable[[float], float]:
        """The slope at a length of the step; it takes no pass over the rows."""
        line, bend = float(here.gradient @ step), float(np.sum(self.ridge * step * step))

        def slope(t: float) -> float:
            forces = gained(self.term, here.margins, self.alpha, self.epsilon, here.q, change, t)
            return line + t * bend - float(forces)

        return slope

    def balanced(self, here: Place, first: float) -> bool:
        """Whether what is off balance is a small part of the gap that this ε leaves, or of what it was at `first`."""
        enough = 0.1 * (here.slack if self.epsilon else first)
        force = self.ridge * here.v - here.gradient
        return off_balance(self.ridge, here.gradient) <= max(enough, 1e-16 * off_balance(self.ridge, force))


def first_epsilon(problem: Problem) -> float:
    """ε of the first round; 0 for a loss without kinks."""
    return 0.0 if problem.loss.smooth else FIRST / float(np.max(problem.C))


@compiled
def respond(rows, y, term, margins, alpha, epsilon, start, stop, q, h, total):
    """Forces of rows and how they fall; adds Σ q y (x, 1) to `total`, and what the gap is made of to its last place."""
    forces, slack = 0.0, 0.0
    for i in range(start, stop):
        q[i], h[i] = softened(term, i, margins[i], alpha[i], epsilon)
        if epsilon > 0.0:
            slack += fenchel_young_gap(term, i, q[i], margins[i])
        if q[i] != 0.0:
            forces += q[i] * y[i]
            axpy(rows, i, q[i] * y[i], total)
    total[-2] += forces
    total[-1] += slack


@compiled
def proceed(rows, y, term, step, b, before, alpha, epsilon, start, stop, change, margins, q, h, total):
    """Margins after a step, and the forces that answer them, some rows at a time so that these are read once."""
    for first in range(start, stop, AT_ONCE):
        last = min(first + AT_ONCE, stop)
        for i in range(first, last):
            change[i] = y[i] * (dot(rows, i, step) + b)
            margins[i] = before[i] + change[i]
        respond(rows, y, term, margins, alpha, epsilon, first, last, q, h, total)


@compiled
def gained(term, margins, alpha, epsilon, q, change, t):
    """Σ (q(m + t change) − q) change: what the forces do along a step."""
    total = 0.0
    for i in range(margins.size):
        total += (softened(term, i, margins[i] + t * change[i], alpha[i], epsilon)[0] - q[i]) * change[i]
    return total


def by_bands(whole: Part, v: np.ndarray, most: float) -> tuple[Place, int, int, bool]:
    """Minimise over the whole by minimising over bands, and going towards their answer as far as the whole agrees.

    The place, the rows visited, the steps, and whether `most` visits were too few for another one.
    """
    here, n = whole.enter(v), len(whole.y)
    visits, steps, wider, first = n, 0, 1.0, off_balance(whole.ridge, here.gradient)
    while True:
        if whole.balanced(here, first) or steps >= STEPS:
            return here, visits, steps, False
        if visits + STEP_VISITS * n > most:
            return here, visits, steps, True
        band = rows_in_band(whole, here.margins, wider)
        if 2 * len(band) > n:
            step = whole.step(here)
            steps += 1
        else:
            part = whole.restricted(band, here)
            left = most - visits - STEP_VISITS * n
            there, visited = minimise(part, part.at(here.v, here.margins[band]), left)
            step = there.v - here.v
            visits += visited
            steps += max(1, visited // (2 * len(band)))  # those on a band are cheaper: two count as one
        here, length, visited = whole.go(here, step)
        visits += visited
        wider = 1.0 if length > 0.5 else 4.0 * wider


def minimise(part: Part, here: Place, most: float) -> tuple[Place, int]:
    """Newton steps until the force of the rows is r v, as exactly as this ε deserves: the place, and rows visited.

    Fewer steps where they would take more than `most` visits.
    """
    visits = len(part.y)
    first = off_balance(part.ridge, here.gradient)
    for _ in range(STEPS):
        if part.balanced(here, first) or visits + STEP_VISITS * len(part.y) > most:
            break
        here, _, visited = part.go(here, part.step(here))
        visits += visited
    return here, visits


@compiled
def beside_box(U, margins, alpha, epsilon):
    """How far margins are from where q is inside its box; below 0 if it is."""
    outside = np.empty_like(margins)
    for i in range(margins.size):
        short = 1.0 - margins[i]
        outside[i] = max(-epsilon * alpha[i] - short, short - epsilon * (U[i] - alpha[i]))
    return outside


def rows_in_band(part: Part, margins: np.ndarray, wider: float) -> np.ndarray:
    """The rows whose q may change: those inside their box, and those whose margin is not far from where it begins."""
    n, epsilon = len(margins), part.epsilon
    if not epsilon:
        return np.arange(n)
    outside = beside_box(part.term.U, margins, part.alpha, epsilon)
    least = min(max(n // LEAST_SHARE, ENOUGH * len(part.ridge)), n - 1)
    stride = max(1, n // SEEN)
    near = float(np.partition(outside[::stride], least // stride)[least // stride])
    width = max(BAND * epsilon * float(np.mean(part.term.U)), near)
    return np.flatnonzero(outside <= wider * width)


def try_on_sample(problem: Problem, state: Rounds, rng: np.random.Generator, most: float) -> None:
    """The first rounds, on a sample whose C is larger by as much as it is smaller; if rows and visits are enough."""
    size = max(problem.n // SHARE, ENOUGH * len(state.v))
    if 4 * size > problem.n or ROUNDS_ON_SAMPLE * size > most:
        return
    chosen = np.sort(rng.choice(problem.n, size, replace=False))
    share = size / problem.n
    C = problem.C[chosen] / share
    part = replace(
        Part.of(problem, 0.5 * C, share * state.epsilon),
        rows=pick(problem.rows, chosen, problem.threads), y=problem.y[chosen], term=problem.loss.dual_term(C),
    )  # fmt: skip
    for _ in range(ROUNDS_ON_SAMPLE):
        there, visits = minimise(part, part.enter(state.v), most - size)
        most -= visits
        part = replace(part, alpha=there.q, epsilon=part.epsilon / CAREFUL)
        state.v = there.v
        state.visited += visits
    state.epsilon /= CAREFUL**ROUNDS_ON_SAMPLE
