"""Newton's method.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic;  v = w or (w, b)
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇P,  h_i = C_i ℓ″(m_i), z_i = (x_i, 1);  v ← v + t Δ
Length   t = 1 if P is nearly flat after the whole step, else t is found by a line search. For a strictly convex loss
         such as logistic, conjugate gradients also give the change of the scores: far from the optimum t is then
         found before the step is taken, and is often 2
System   solved by the cheapest method (parts/newton_direction): Cholesky factors, or conjugate gradients
Sample   the first steps run on a sample of the rows: they only have to find the neighbourhood of the optimum
Dual     of two candidates the one with the smaller gap: α_i = −C_i ℓ′(m_i) at the new margins, or the α that the step
         predicts (parts/newton_dual)
Costs    an iteration: O(nnz d + d³) with Cholesky factors, O(nnz) a product with conjugate gradients;
         memory O(d²) or O(n + d)
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
VALUE_ROUNDING = 1e-14  # a relative increase of P below this may be a rounding error
SAMPLE_PART = 8  # a sample holds one row in eight
SAMPLE_ROWS_PER_FEATURE = 100  # smallest sample: the optimum of a smaller one is too far from that of all rows
SAMPLE_GAP = 1e-2  # relative gap on the sample at which training continues on all rows
SAMPLE_EPOCHS = 30  # most epochs on the sample
FAR_FROM_OPTIMUM = 0.02  # the length is found before the step if its slope predicts a larger relative decrease of P
EPOCHS_OF_PRODUCTS = 100  # epochs after which the matrix replaces conjugate gradients
MODEL_HOLDS = 0.1  # after a larger relative decrease of P its quadratic model was inaccurate: α is not predicted


@dataclass
class Descent:
    """A point with its scores, curvatures, P, ∇P and relative gap.

    `alpha` is the α that the last step predicts, or None if the α of the margins has a smaller gap. `fresh` says that
    no step has been taken, `stiff` that conjugate gradients have failed, so the matrix is built.
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
    """Newton's method on the primal objective."""

    name = "newton"
    state_type = Descent
    takes = Takes(SMOOTH_LOSSES, unregularised=True)

    def start(self, problem: Problem, warm: Point | None = None) -> Descent:
        """Start at w = 0, or at the point `warm`."""
        primal = Primal(problem)
        v = primal.start(warm)
        f, curvatures = np.empty(problem.n), np.empty(problem.n)
        return Descent(v, f, curvatures, *primal.evaluate(v, f, curvatures), fresh=warm is None)

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """Take one Newton step; before the first one, take some on a sample of the rows."""
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
        """Move to the optimum of a sample of the rows, if there are enough rows for a sample."""
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
        """Return (w, b), and the predicted α if it is better than the one that follows from the margins."""
        return replace(Primal(problem).point(state.v), alpha=state.alpha)


def take_step(primal: Primal, state: Descent, step: np.ndarray, slope: float) -> bool:
    """Take the whole step if the slope of P is small after it, else search a length. Return whether it was whole.

    P never increases: a length at which the slope is small almost always lowers P; if it does not, the step is halved
    until P decreases. Near the optimum P changes by less than its rounding error, so the step is taken if the gradient
    decreases.
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
    """Return the problem on a sample of the rows; None if there are too few rows or a class would have no weight."""
    size = max(problem.n // SAMPLE_PART, SAMPLE_ROWS_PER_FEATURE * problem.d)
    if not (problem.ridge and worth_sampling(problem, size) and small_enough(problem)):
        return None
    chosen = draw_rows(problem, size, rng)
    y, C = problem.y[chosen], problem.C[chosen] * (problem.n / size)
    return restricted(problem, chosen, C) if np.any(C[y > 0]) and np.any(C[y < 0]) else None
