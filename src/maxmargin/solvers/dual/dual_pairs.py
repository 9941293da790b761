"""Dual coordinate descent by pairs, for a free bias.

Solves   max_α  Σ d_i(α_i) − ½‖w‖²,   α in its box and Σ α_i y_i = 0,   w = Σ α_i y_i x_i
Step     α_i += y_i δ,  α_j −= y_j δ,  which keeps Σ α_i y_i constant;  δ ≥ 0 maximises the dual: for hinge and
         squared hinge  δ = clip((F_i − F_j) / (‖x_i − x_j‖² + D_i + D_j)),  F_i = y_i d_i′(α_i) − ⟨w, x_i⟩;
         for logistic a Newton iteration in one dimension
Pairs    At the optimum F_i ≤ b for every i that can rise (α_i y_i can grow) and F_j ≥ b for every j that can fall.
         A sweep visits examples one by one, with an estimate of b. It remembers the riser (F > b, can rise) and the
         faller (F < b, can fall) whose F is furthest from b. As soon as it has both, it takes the step of this pair.
         So every step joins a riser with a faller, and no step is wasted on a pair that cannot move.
         For comparison: random pairs, and greedy pairs, which join the largest F that can rise with the smallest F
         that can fall, over all examples
Keeps    w after every step; b is an estimate that only selects the pairs. The certificate computes the exact b
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Platt 1998 (two at a time); Hsieh et al., ICML 2008 (the linear case through w)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.rows import axpy, dot, inner
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.dual_terms import best_pair, room, slope
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import dual_start, rows_at_once
from maxmargin.solvers.parts.sweeps import Sweeps
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.system.compiled import compiled

PAIRS = ("joined", "random", "greedy")
GREEDY_STEPS = 10  # most greedy steps in one call of `advance`: each costs a pass over the rows
BIAS_STEP = 0.1  # a violating example moves the estimate of b by this fraction of F_i − b
INTERIOR = 1e-3  # strictly convex losses start at α = INTERIOR · C: their d has infinite slope at the bounds


@dataclass
class PairSweeps(Sweeps):
    """The state of the sweeps, and the riser and the faller that wait for a partner (−1: none), with their F."""

    waiting: np.ndarray = field(default_factory=lambda: np.full(2, -1))
    levels: np.ndarray = field(default_factory=lambda: np.zeros(2))

    def begin(self) -> None:
        """Reset the statistics of the last sweep; no example waits."""
        super().begin()
        self.waiting[:] = -1


@dataclass(frozen=True)
class DualPairs:
    """Dual coordinate descent: each step optimises a pair of dual variables."""

    name = "dual_pairs"
    state_type = PairSweeps
    takes = Takes(EVERY_LOSS, ("free",), hard_margin=True)

    pairs: str = "joined"

    def __post_init__(self) -> None:
        if self.pairs not in PAIRS:
            raise ParameterError(f"pairs={self.pairs!r} is not known: choose one of {', '.join(PAIRS)}")

    def start(self, problem: Problem, warm: Point | None = None) -> PairSweeps:
        """Start at α = 0 (for a strictly convex loss, just inside the box), or at the α of `warm`."""
        if warm is None and problem.loss.strictly_convex:
            warm = Point(alpha=INTERIOR * problem.C)
        return PairSweeps(*dual_start(problem, warm))

    def advance(self, problem: Problem, state: PairSweeps, rng: np.random.Generator) -> None:
        """Make one sweep, or a part of it."""
        fixed = problem.rows, problem.y, problem.dual_term, problem.squared_norms, state.alpha, state.w
        if self.pairs == "greedy":
            steps = min(max(1, rows_at_once(problem) // problem.n), GREEDY_STEPS)
            take_greedy_pairs(*fixed, problem.counted, steps)
            state.visited += steps * problem.n
            return
        start, stop = state.open(problem, rng)
        if self.pairs == "random":
            take_random_pairs(*fixed, state.order, start, stop)
            state.close(start, stop)
            return
        state.b, state.kept, state.low, state.high = sweep(
            problem.rows, problem.y, problem.dual_term, problem.squared_norms,
            state.alpha, state.w, state.b,
            state.order, start, stop, state.kept, state.low, state.high, state.drop_below, state.drop_above,
            state.waiting, state.levels,
        )  # fmt: skip
        state.close(start, stop)

    def point(self, problem: Problem, state: PairSweeps) -> Point:
        """Return the dual point: w follows from α, and the certificate computes b."""
        return Point(alpha=state.alpha)


@compiled
def sweep(rows, y, term, Q, alpha, w, b, order, start, stop, kept, low, high, drop_below, drop_above, waiting, levels):
    """Visit order[start:stop], joining examples that should rise with examples that should fall.

    `high` becomes the largest F of examples that can rise, `low` the smallest F of examples that can fall. The
    violation is high − low.
    """
    riser, faller = waiting
    F_riser, F_faller = levels
    for k in range(start, stop):
        i = order[k]
        F = level(rows, y, term, alpha, w, i)
        can_rise = room(y[i], alpha[i], term.U[i]) > 0.0
        can_fall = room(-y[i], alpha[i], term.U[i]) > 0.0
        if (not can_fall and drop_below > F) or (not can_rise and drop_above < F):
            continue
        order[kept] = i
        kept += 1
        if can_rise:
            high = max(high, F)
        if can_fall:
            low = min(low, F)
        if b < F and can_rise:
            if riser < 0 or F_riser < F:
                riser, F_riser = i, F
        elif b > F and can_fall:
            if faller < 0 or F_faller > F:
                faller, F_faller = i, F
        else:
            continue
        b += BIAS_STEP * (F - b)
        if riser >= 0 and faller >= 0:
            join(rows, y, term, Q, alpha, w, riser, faller)
            riser, faller = -1, -1
    waiting[0], waiting[1] = riser, faller
    levels[0], levels[1] = F_riser, F_faller
    return b, kept, low, high


@compiled
def level(rows, y, term, alpha, w, i):
    """Return F_i, the bias at which example i would be optimal."""
    return y[i] * slope(term, i, alpha[i]) - dot(rows, i, w)


@compiled
def take_random_pairs(rows, y, term, Q, alpha, w, order, start, stop):
    """Take one step for each pair of neighbours in the random `order`."""
    for k in range(start, stop - 1, 2):
        i, j = order[k], order[k + 1]
        if level(rows, y, term, alpha, w, i) > level(rows, y, term, alpha, w, j):
            join(rows, y, term, Q, alpha, w, i, j)
        else:
            join(rows, y, term, Q, alpha, w, j, i)


@compiled
def take_greedy_pairs(rows, y, term, Q, alpha, w, counted, steps):
    """Take steps that join the largest F that can rise with the smallest F that can fall, over all examples."""
    for _ in range(steps):
        riser, faller = -1, -1
        highest, lowest = -np.inf, np.inf
        for i in counted:
            F = level(rows, y, term, alpha, w, i)
            if highest < F and room(y[i], alpha[i], term.U[i]) > 0.0:
                riser, highest = i, F
            if lowest > F and room(-y[i], alpha[i], term.U[i]) > 0.0:
                faller, lowest = i, F
        if highest <= lowest:
            break
        join(rows, y, term, Q, alpha, w, riser, faller)


@compiled
def join(rows, y, term, Q, alpha, w, i, j):
    """Take the best pair step δ: α_i y_i grows and α_j y_j falls by δ."""
    g = dot(rows, i, w) - dot(rows, j, w)
    q = max(Q[i] + Q[j] - 2.0 * inner(rows, i, j), 0.0)
    delta = best_pair(term, i, j, alpha[i], alpha[j], y[i], y[j], g, q)
    alpha[i] = min(max(alpha[i] + y[i] * delta, 0.0), term.U[i])
    alpha[j] = min(max(alpha[j] - y[j] * delta, 0.0), term.U[j])
    axpy(rows, i, delta, w)
    axpy(rows, j, -delta, w)
