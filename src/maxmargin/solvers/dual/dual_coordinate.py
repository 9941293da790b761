"""Dual coordinate descent.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),   α in its box,   w = Σ α_i y_i x_i,  b = B² s,  s = Σ α_i y_i
Step     α_i ← the best value of α_i alone;  for hinge and squared hinge  clip(α_i − G_i / (‖x_i‖² + B² + D_i)),
         G_i = y_i(⟨w, x_i⟩ + b) − d_i′(α_i);  for logistic a Newton iteration in one dimension
Keeps    w, b and s, after every step
Order    shuffled epochs with shrinking, or examples drawn at random (SDCA)
Hot      after a sweep, the few examples that violate most are visited again and again until they no longer stand out:
         two examples nearly alike are long on their way when each is seen but once a sweep
Finish   after some epochs, momentum from sweep to sweep (see momentum), so that a large C does not crawl
Bias     none (B = 0) or regularised; a free bias is a regularised one whose centre moves: b²/(2B²) becomes
         (b − c)²/(2B²), with c ← b after every sweep, until s = 0 (the method of multipliers)
Threads  a long sweep is shared by all of them (see sharing)
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008; Yu, Huang, Lin, Machine Learning 2011 (logistic);
         Shalev-Shwartz, Zhang, JMLR 2013 (SDCA)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.rows import announce, axpy, dot, fetch
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.dual_terms import best, fenchel_young_gap, slope, sum_of_dual_values
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import best_bias_at, dual_start, rows_at_once
from maxmargin.solvers.parts.cocoa import Seen, edges_of_parts, rounds_worth, share
from maxmargin.solvers.parts.momentum import Momentum, extrapolate
from maxmargin.solvers.parts.sweeps import check_sampling, shuffle
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.system.compiled import compiled
from maxmargin.system.prefetch import prefetch

FAR, NEAR = 4, 2  # how many visits ahead memory is asked for an example, first for its numbers, then for its row
STAND_OUT = 0.25  # an example is hot from this part of the largest violation on,
FEW_HOT = 0.25  # if no more than this part of the examples is,
EXTRA = 1.0  # and the hot are visited again for no more than so many sweeps
LATE = 15  # epochs without momentum: what is solved by then is the faster for it
BIAS_CURVATURE = 0.05  # B² of a free bias, as a part of the mean ‖x_i‖², or of 1/C if that is more


@dataclass
class Descent(Momentum):
    """A sweep, how much each kept example violated, the gap as far as a sweep can tell, σ of threads."""

    fenchel_young_gap: float = 0.0
    seen: float = np.inf
    estimate: float = np.inf
    sigma: float = 1.0
    violations: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def begin(self) -> None:
        """Forget what the last sweep saw."""
        super().begin()
        self.fenchel_young_gap = 0.0
        if len(self.violations) < len(self.order):
            self.violations = np.zeros(len(self.order))

    def hot(self) -> np.ndarray:
        """The few examples that violate far more than the others; none if there are many of them."""
        hot = self.order[: self.kept][self.violations[: self.kept] > STAND_OUT * self.largest]
        return hot if len(hot) <= FEW_HOT * self.kept else hot[:0]

    @property
    def largest(self) -> float:
        """The largest violation of the sweep."""
        return max(-self.low, self.high)


@dataclass(frozen=True)
class DualCoordinate:
    """One coordinate of the dual at a time."""

    name = "dual_coordinate"
    state_type = Descent
    takes = Takes(EVERY_LOSS, hard_margin=True)

    sampling: str = "shuffled"
    momentum: bool = True

    def __post_init__(self) -> None:
        check_sampling(self.sampling)
        if not isinstance(self.momentum, bool):
            raise ParameterError(f"momentum={self.momentum!r} must be true or false")

    def start(self, problem: Problem, warm: Point | None = None) -> Descent:
        """At α = 0, or at `alpha`."""
        state = Descent(*dual_start(problem, warm))
        state.balance = float(np.sum(state.alpha * problem.y))
        if warm is not None and problem.bias == "free":
            state.b = best_bias_at(problem, state.w)
        return state

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """One sweep, or a part of it."""
        shuffled = self.sampling == "shuffled"
        if state.position == 0 and state.visited:
            go_on(problem, state, self.momentum and shuffled and state.visited >= LATE * problem.n)
        start, stop = state.open(problem, rng, uniform=not shuffled)
        visit(problem, state, start, stop, shared=shuffled)
        if not state.close(start, stop):
            return
        if shuffled and len(hot := state.hot()):
            visits = min(int(EXTRA * state.kept), rows_at_once(problem))
            state.b, state.balance, visited = resolve_hot(
                problem.rows, problem.y, problem.dual_term, problem.squared_norms, bias_curvature(problem), state.alpha,
                state.w, state.b, state.balance, hot, rng.integers(1 << 62), visits, STAND_OUT * state.largest,
            )  # fmt: skip
            state.visited += visited
        before, state.seen = state.seen, gap_seen(problem, state)
        fall = state.seen / before if 0.0 < before < np.inf else 1.0
        state.estimate = state.seen * min(fall, 1.0)  # for a sweep sees where the one before it has led

    def point(self, problem: Problem, state: Descent) -> Point:
        """A dual point: w and b follow from α."""
        return Point(alpha=state.alpha)


def go_on(problem: Problem, state: Descent, momentum: bool) -> None:
    """Between two sweeps: the centre of a free bias moves to where b is, α further along its way if it has momentum."""
    b, centre = state.b, state.b - bias_curvature(problem) * state.balance
    if momentum:
        extrapolate(problem, state, centre, bias_curvature(problem))
    if problem.bias == "free":
        centre = b
    state.b = centre + bias_curvature(problem) * state.balance


def visit(problem: Problem, state: Descent, start: int, stop: int, shared: bool) -> None:
    """Visit order[start:stop]; on all threads if it may be shared, no example being in it twice, and is worth it."""

    def visit_part(w: np.ndarray, start: int, stop: int, seen: Seen, sigma: float) -> Seen:
        after = sweep(
            problem.rows, problem.y, problem.dual_term, problem.squared_norms, bias_curvature(problem), state.alpha, w,
            seen.b, seen.balance, state.order, start, stop, seen.kept, seen.low, seen.high,
            state.drop_below, state.drop_above, seen.fenchel_young_gap, state.violations, sigma,
        )  # fmt: skip
        return Seen(*after)

    seen = Seen(state.b, state.balance, state.kept, state.low, state.high, state.fenchel_young_gap)
    if shared and (rounds := rounds_worth(problem, stop - start)):
        edges = edges_of_parts(start, stop, problem.threads, rounds)
        parts, state.sigma = share(visit_part, state.w, seen, edges, state.sigma, bias_curvature(problem))
        seen = joined(state, parts, edges)
    else:
        seen = visit_part(state.w, start, stop, seen, 1.0)
    state.b, state.balance, state.kept, state.low, state.high, state.fenchel_young_gap = seen


def joined(state: Descent, parts: list[Seen], edges: np.ndarray) -> Seen:
    """What all threads have seen; the examples they kept are moved together."""
    kept = parts[0].kept
    for part, edge in zip(parts[1:], edges[1:, 0], strict=True):
        more = part.kept - int(edge)
        for array in (state.order, state.violations):
            array[kept : kept + more] = array[edge : part.kept]
        kept += more
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return Seen(parts[0].b, parts[0].balance, kept, low, high, sum(part.fenchel_young_gap for part in parts))


def bias_curvature(problem: Problem) -> float:
    """B²: of the regularised bias, or how strongly Σ α_i y_i pulls at a free one."""
    return (
        BIAS_CURVATURE * max(problem.mean_square, 1.0 / problem.mean_C)
        if problem.bias == "free"
        else problem.bias_square
    )


def gap_seen(problem: Problem, state: Descent) -> float:
    """The relative gap, from what the sweep saw on its way."""
    gap = state.fenchel_young_gap + (abs(state.balance) if problem.bias == "free" else 0.0)
    state.value = sum_of_dual_values(problem.dual_term, state.alpha) - problem.norm(state.w, 0.0)
    primal = state.value - 0.5 * problem.bias_square * state.balance * state.balance + gap
    return gap / primal if 0.0 < primal < np.inf else np.inf


@compiled
def sweep(
    rows, y, term, Q, B2, alpha, w, b, s,
    order, start, stop, kept, low, high, drop_below, drop_above, gap, violations, sigma,
):  # fmt: skip
    """Visit order[start:stop]; keep what may still move, the range [low, high] of the violations, and their gap.

    A thread among others takes rows for σ times as long; alone σ = 1.
    """
    for k in range(start, stop):
        if k + FAR < stop:
            ahead(rows, y, term, Q, alpha, order[k + FAR])
            fetch(rows, order[k + NEAR])
        i = order[k]
        m = y[i] * (dot(rows, i, w) + b)
        G = m - slope(term, i, alpha[i])
        gap += fenchel_young_gap(term, i, alpha[i], m)
        if alpha[i] == 0.0:
            if G > drop_above > 0.0:
                continue
            G = min(G, 0.0)
        elif alpha[i] == term.U[i]:
            if G < drop_below < 0.0:
                continue
            G = max(G, 0.0)
        order[kept] = i
        violations[kept] = abs(G)
        kept += 1
        low, high = min(low, G), max(high, G)
        if G != 0.0:
            new = best(term, i, alpha[i], m, sigma * (Q[i] + B2))
            change = (new - alpha[i]) * y[i]
            alpha[i] = new
            axpy(rows, i, sigma * change, w)
            s += change
            b += B2 * sigma * change
    return b, s, kept, low, high, gap


@compiled
def ahead(rows, y, term, Q, alpha, i):
    """Ask memory for what belongs to example i."""
    announce(rows, i)
    prefetch(y, i)
    prefetch(term.U, i)
    prefetch(Q, i)
    prefetch(alpha, i)


@compiled
def resolve_hot(rows, y, term, Q, B2, alpha, w, b, s, hot, seed, visits, enough):
    """Visit the hot examples until none violates by more than `enough`, or the visits are used up."""
    violations, visited = np.empty(hot.size), 0
    while visited + hot.size <= visits:
        shuffle(hot, seed + visited)
        b, s, _, low, high, _ = sweep(
            rows, y, term, Q, B2, alpha, w, b, s,
            hot, 0, hot.size, 0, np.inf, -np.inf, -np.inf, np.inf, 0.0, violations, 1.0,
        )  # fmt: skip
        visited += hot.size
        if max(-low, high) <= enough:
            break
    return b, s, visited
