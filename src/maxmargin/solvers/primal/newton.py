"""Newton's method.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic;  v = w or (w, b)
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇P,  h_i = C_i ℓ″(m_i), z_i = (x_i, 1);  v ← v + t Δ
Length   t = 1 if P is nearly flat there, else found by a search. For a strictly convex loss, as logistic, conjugate
         gradients also give the change of the scores: far from the optimum t is then found before the step is taken,
         and is often 2
System   solved in the cheapest way (parts/newton_direction): Cholesky factors, or conjugate gradients
Sample   the first steps run on a sample of the rows: they only have to find the neighbourhood
Dual     α_i = −C_i ℓ′(m_i) at the new margins, or the α that the step predicts (parts/newton_dual), whichever has the
         smaller gap
Costs    an iteration: O(nnz d + d³), or O(nnz) a product; memory O(d²), or O(n + d)
After    Keerthi, DeCoste, JMLR 2005; Lin, Weng, Keerthi, JMLR 2008
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.line_search import FLAT, find_flat
from maxmargin.solvers.parts.newton_direction import newton_direction, small_enough
from maxmargin.solvers.parts.newton_dual import BeforeStep
from maxmargin.solvers.parts.primal_objective import Primal, gap_of_gradient
from maxmargin.solvers.parts.row_sample import draw_rows, restricted, worth_sampling
from maxmargin.solvers.takes import SMOOTH_LOSSES, Takes

# benchmarks/results/linear.md was measured with these values.
VALUE_ROUNDING = 1e-14  # of P: a rise of P by less may be rounding
SAMPLE_PART = 8  # a sample is one row of eight
SAMPLE_ROWS_PER_FEATURE = 100  # the least size of a sample: a smaller one would lead astray
SAMPLE_GAP = 1e-2  # relative gap at which the sample is left
SAMPLE_EPOCHS = 30  # the sample is left after these in any case
FAR_FROM_OPTIMUM = 0.02  # of P: a step that promises to lower it by more is given its length before it is taken
EPOCHS_OF_PRODUCTS = 100  # after which conjugate gradients are given up for the matrix
MODEL_HOLDS = 0.1  # of P: a step that lowers it by more had a wrong model of P, so its α is not asked for


@dataclass
class Descent:
    """A point, its scores and curvatures, P and ∇P; the α that its step predicts, if that is better; the relative gap.

    `fresh`: no step has been taken. `stiff`: conjugate gradients have failed, so the matrix is built.
    """

    v: np.ndarray
    f: np.ndarray
    curvatures: np.ndarray
    value: float
    gradient: np.ndarray
    alpha: np.ndarray | None = None
    fresh: bool = False
    stiff: bool = False
    visited: int = 0
    estimate: float = np.inf


@dataclass(frozen=True)
class Newton:
    """Second-order steps on the primal."""

    name = "newton"
    state_type = Descent
    takes = Takes(SMOOTH_LOSSES, unregularised=True)

    def start(self, problem: Problem, warm: Point | None = None) -> Descent:
        """At w = 0, or at `warm`."""
        primal = Primal(problem)
        v = primal.start(warm)
        f, curvatures = np.empty(problem.n), np.empty(problem.n)
        return Descent(v, f, curvatures, *primal.evaluate(v, f, curvatures), fresh=warm is None)

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """One Newton step; before the first, some on a sample."""
        if state.fresh:
            self.try_on_sample(problem, state, rng)
        primal = Primal(problem)
        strict = problem.loss.strictly_convex
        before = BeforeStep(state.f.copy(), state.curvatures.copy(), state.value) if strict else None
        tired = state.visited > EPOCHS_OF_PRODUCTS * problem.n
        solved = newton_direction(primal, state.f, state.curvatures, state.gradient, state.stiff, tired)
        state.stiff = solved.stiff
        slope, length = float(state.gradient @ solved.step), 1.0
        if before and solved.change is not None and -slope > FAR_FROM_OPTIMUM * state.value:
            length = primal.length_along(state.v, state.f, solved.step, solved.change)
        whole = take_step(primal, state, length * solved.step, length * slope) and length == 1.0
        state.visited += (1 + solved.products) * problem.n
        if problem.ridge:
            gap, state.alpha = gap_of_gradient(primal.ridge, state.gradient), None
            if whole and before and before.value - state.value <= MODEL_HOLDS * state.value:
                alpha, smaller = before.predicted_dual(primal, state.f, solved.residual)
                gap, state.alpha = (smaller, alpha) if smaller < gap else (gap, None)
            state.estimate = gap / state.value

    def try_on_sample(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """Begin where a sample leads, if there are rows enough for one."""
        state.fresh = False
        part = sample(problem, rng)
        if part is None:
            return
        there = self.start(part)
        there.fresh = False
        while there.estimate > SAMPLE_GAP and there.visited < SAMPLE_EPOCHS * part.n:
            self.advance(part, there, rng)
        state.visited += there.visited
        take_step(Primal(problem), state, there.v - state.v, float(state.gradient @ (there.v - state.v)))

    def point(self, problem: Problem, state: Descent) -> Point:
        """A primal point, and its α if that is not the one that follows from the margins."""
        return replace(Primal(problem).point(state.v), alpha=state.alpha)


def take_step(primal: Primal, state: Descent, step: np.ndarray, slope: float) -> bool:
    """Take the whole step if P is nearly flat along it there, else a length at which it is; whether it was the whole.

    P never rises: what makes it flatter almost always lowers it, and where it does not the step is halved until it
    falls. Near the optimum P changes by less than its rounding; the step is then taken if the gradient falls.
    """
    v, before, gap = state.v, state.value, gap_of_gradient(primal.ridge, state.gradient)

    def arrive(there: np.ndarray) -> None:
        state.v = there
        state.value, state.gradient = primal.evaluate(there, state.f, state.curvatures)

    arrive(v + step)
    if state.value <= (1.0 + VALUE_ROUNDING) * before and gap_of_gradient(primal.ridge, state.gradient) < gap:
        return True
    end = float(state.gradient @ step)
    whole = abs(end) <= FLAT * abs(slope)
    if not whole:
        arrive(v + find_flat(primal.slope_along(v, step), slope, end) * step)
    if state.value <= (1.0 + VALUE_ROUNDING) * before:
        return whole
    arrive(primal.backtrack(v, primal.scores(v), step, slope, first=0.5, before=before).v)
    return False


def sample(problem: Problem, rng: np.random.Generator) -> Problem | None:
    """The problem of a sample of the rows; None if there are too few rows, or one class would have no weight."""
    size = max(problem.n // SAMPLE_PART, SAMPLE_ROWS_PER_FEATURE * problem.d)
    if not (problem.ridge and worth_sampling(problem, size) and small_enough(problem)):
        return None
    chosen = draw_rows(problem, size, rng)
    y, C = problem.y[chosen], problem.C[chosen] * (problem.n / size)
    return restricted(problem, chosen, C) if np.any(C[y > 0]) and np.any(C[y < 0]) else None
