"""Dual coordinate descent.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),   α in its box,   w = Σ α_i y_i x_i,  b = B² s,  s = Σ α_i y_i
Step     α_i ← the best value of α_i alone;  for hinge and squared hinge  clip(α_i − G_i / (‖x_i‖² + B² + D_i)),
         G_i = y_i(⟨w, x_i⟩ + b) − d_i′(α_i);  for logistic a Newton iteration in one dimension
Keeps    w, b and s, after every step
Sweep    the compiled loop over the examples (parts/coordinate_sweep)
Order    shuffled epochs with shrinking (parts/sweeps), or examples drawn at random (SDCA)
Hot      after a sweep, the few examples with the largest violations are visited repeatedly, until their violations
         are no longer much larger than the others: two nearly equal examples move little if visited once a sweep
Finish   after some epochs, momentum between sweeps (parts/momentum), which reduces the epochs needed for a large C
Bias     none (B = 0) or regularised. A free bias is treated as a regularised bias with a moving centre: b²/(2B²)
         becomes (b − c)²/(2B²), with c ← b after every sweep, until s = 0 (the method of multipliers)
Threads  a long sweep is divided among the threads (parts/cocoa)
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008; Yu, Huang, Lin, Machine Learning 2011 (logistic);
         Shalev-Shwartz, Zhang, JMLR 2013 (SDCA)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.dual_terms import sum_of_dual_values
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import best_bias_at, dual_start, rows_at_once
from maxmargin.solvers.parts.cocoa import Seen, edges_of_parts, joined, rounds_worth, share
from maxmargin.solvers.parts.coordinate_sweep import Examples, resolve_hot, sweep
from maxmargin.solvers.parts.momentum import Momentum, extrapolate
from maxmargin.solvers.parts.sweeps import check_sampling
from maxmargin.solvers.takes import EVERY_LOSS, Takes

HOT = 0.25  # an example is hot if its violation exceeds this fraction of the largest violation
MOST_HOT = 0.25  # if more than this fraction of the visited examples is hot, they wait for the next sweep
HOT_SWEEPS = 1.0  # most visits of hot examples, in sweeps: reduces 20news with C = 100 from 225 to 29 epochs
EPOCHS_WITHOUT_MOMENTUM = 15  # problems that converge within these epochs converge faster without momentum
BIAS_CURVATURE = 0.05  # B² of a free bias, as a fraction of max(mean ‖x_i‖², 1/C); measured in results/bias.md


@dataclass
class Descent(Momentum):
    """The state of the sweeps, the violation of each kept example, estimates of the gap, and σ of CoCoA+.

    `fenchel_young_gap` is the gap summed over the visits of a sweep; `seen` is the relative gap from the last sweep.
    """

    fenchel_young_gap: float = 0.0
    seen: float = np.inf
    estimate: float = np.inf
    sigma: float = 1.0
    violations: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def begin(self) -> None:
        """Reset the statistics of the last sweep."""
        super().begin()
        self.fenchel_young_gap = 0.0
        if len(self.violations) < len(self.order):
            self.violations = np.zeros(len(self.order))

    def hot(self) -> np.ndarray:
        """Return the hot examples, whose violations are far larger than most; none if there are many of them."""
        hot = self.order[: self.kept][self.violations[: self.kept] > HOT * self.largest]
        return hot if len(hot) <= MOST_HOT * self.kept else hot[:0]

    @property
    def largest(self) -> float:
        """The largest violation of the sweep."""
        return max(-self.low, self.high)


@dataclass(frozen=True)
class DualCoordinate:
    """Dual coordinate descent: each step optimises one dual variable."""

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
        """Start at α = 0, or at the α of `warm`."""
        state = Descent(*dual_start(problem, warm))
        state.balance = float(np.sum(state.alpha * problem.y))
        if warm is not None and problem.bias == "free":
            state.b = best_bias_at(problem, state.w)
        return state

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """Make one sweep, or a part of it."""
        shuffled, examples = self.sampling == "shuffled", examples_of(problem)
        if state.position == 0 and state.visited:
            late = state.visited >= EPOCHS_WITHOUT_MOMENTUM * problem.n
            between_sweeps(problem, state, examples.B2, momentum=self.momentum and shuffled and late)
        start, stop = state.open(problem, rng, uniform=not shuffled)
        rounds = rounds_worth(problem, stop - start) if shuffled else 0  # random draws may repeat an example
        visit(examples, state, start, stop, problem.threads, rounds)
        if not state.close(start, stop):
            return
        if shuffled and len(hot := state.hot()):
            most = min(int(HOT_SWEEPS * state.kept), rows_at_once(problem))
            visit_hot(examples, state, hot, rng, most)
        estimate_gap(problem, state)

    def point(self, problem: Problem, state: Descent) -> Point:
        """Return the dual point: w and b follow from α."""
        return Point(alpha=state.alpha)


def between_sweeps(problem: Problem, state: Descent, B2: float, momentum: bool) -> None:
    """Move the centre of a free bias to b, and with `momentum` extrapolate α."""
    b, centre = state.b, state.b - B2 * state.balance
    if momentum:
        extrapolate(problem, state, centre, B2)
    if problem.bias == "free":
        centre = b
    state.b = centre + B2 * state.balance


def visit(examples: Examples, state: Descent, start: int, stop: int, threads: int, rounds: int) -> None:
    """Visit order[start:stop]: on all threads, merging after each of the `rounds`, or on one thread if rounds = 0."""
    order, violations, drop = state.order, state.violations, (state.drop_below, state.drop_above)

    def visit_part(w: np.ndarray, start: int, stop: int, seen: Seen, sigma: float) -> Seen:
        return Seen(*sweep(examples, state.alpha, w, order, violations, start, stop, drop, tuple(seen), sigma))

    seen = Seen(state.b, state.balance, state.kept, state.low, state.high, state.fenchel_young_gap)
    if rounds:
        edges = edges_of_parts(start, stop, threads, rounds)
        parts, state.sigma = share(visit_part, state.w, seen, edges, state.sigma, examples.B2)
        seen = joined(parts, edges, order, violations)
    else:
        seen = visit_part(state.w, start, stop, seen, 1.0)
    state.b, state.balance, state.kept, state.low, state.high, state.fenchel_young_gap = seen


def visit_hot(examples: Examples, state: Descent, hot: np.ndarray, rng: np.random.Generator, most: int) -> None:
    """Visit the hot examples again, with at most `most` visits in total."""
    seed, enough = rng.integers(1 << 62), HOT * state.largest
    state.b, state.balance, visited = resolve_hot(
        examples, state.alpha, state.w, state.b, state.balance, hot, seed, most, enough
    )
    state.visited += visited


def estimate_gap(problem: Problem, state: Descent) -> None:
    """Estimate the relative gap at the end of a sweep.

    The estimate is the gap summed over the sweep, times the factor by which that sum fell since the sweep before.
    """
    gap = state.fenchel_young_gap + (abs(state.balance) if problem.bias == "free" else 0.0)
    state.value = sum_of_dual_values(problem.dual_term, state.alpha) - problem.norm(state.w, 0.0)
    primal = state.value - 0.5 * problem.bias_square * state.balance * state.balance + gap
    before, state.seen = state.seen, gap / primal if 0.0 < primal < np.inf else np.inf
    fall = state.seen / before if 0.0 < before < np.inf else 1.0
    state.estimate = state.seen * min(fall, 1.0)


def bias_curvature(problem: Problem) -> float:
    """Return B² of a regularised bias, or of the moving penalty (b − c)²/(2B²) of a free bias."""
    if problem.bias != "free":
        return problem.bias_square
    return BIAS_CURVATURE * max(problem.mean_square, 1.0 / problem.mean_C)


def examples_of(problem: Problem) -> Examples:
    """Return the arrays that a sweep reads."""
    return Examples(problem.rows, problem.y, problem.dual_term, problem.squared_norms, bias_curvature(problem))
