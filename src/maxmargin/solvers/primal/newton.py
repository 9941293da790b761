"""Newton's method.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇P,  h_i = C_i ℓ″(m_i), z_i = (x_i, 1);  v ← v + t Δ, t = 1 or by a search
Dual     −C_i ℓ′(m_i) at the new margins; or, for logistic and a whole step, what that has reckoned with:
             α_i = −C_i ℓ′(m_i) − h_i y_i ⟨z_i, Δ⟩  at the old ones, whose w(α) is the new w,
         but for what conjugate gradients have left, cut off at the ends of the box. The one with the smaller gap:
         the second often arrives a step earlier. (Squared hinge has nothing of it: too many rows leave the box)
Length   a step by conjugate gradients for logistic, far from the optimum: how long it should be is found before it is
         taken, since the products tell how it changes the scores; there the whole is often half of what it could be
Sample   the first steps run on a sample of the rows: they only have to find the neighbourhood
System   few features: the matrix itself and its Cholesky factors; many: conjugate gradients, which need only
         products with the matrix, one pass over the rows each, stopped as soon as they serve (inexact Newton),
         and given up for the matrix, if that is possible at all, where they do not;
         few features but long rows, logistic: conjugate gradients after the factors of a sample's matrix
         without regularisation the matrix may be close to singular: orthogonal factors of the rows (see balance)
Costs    an iteration: O(nnz d + d³), or O(nnz) a product; memory O(d²), or O(n + d)
After    Keerthi, DeCoste, JMLR 2005; Lin, Weng, Keerthi, JMLR 2008
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from maxmargin.data.passes import sum_of_chunks
from maxmargin.data.pick import pick
from maxmargin.data.rows import axpy, row_length
from maxmargin.problems.balance import FEW, newton_step
from maxmargin.problems.certificate import Point, answers
from maxmargin.problems.dual_terms import Entropy, best_response, fenchel_young_gap
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.newton_system import Solve, System
from maxmargin.solvers.parts.primal_objective import EVALUATED, FLAT, Primal, backtrack, off_balance, search
from maxmargin.solvers.takes import SMOOTH_LOSSES, Takes
from maxmargin.system.compiled import compiled

DENSE_WORK = 4e9  # multiplications that building the matrix may take
ROUNDING = 1e-14  # of P
SHARE = 8  # a sample is one row of so many,
ROWS_A_FEATURE = 100  # but so many rows a feature at least, else it would lead astray;
NEAR = 1e-2  # it is left at this gap,
STEPS = 30  # or after so many epochs of its own
FAR = 0.02  # of P: where a step promises to lower it by more, how long it should be is asked first
CLOSE = 0.1  # of P: a step that lowers it by more was not reckoned rightly
PATIENCE = 100  # epochs after which they are given up for the matrix
PRODUCTS = 50  # conjugate gradient steps at most in one iteration
EXACT = 0.03  # of the gradient: what products with the matrix may leave, where those of a sample show the way
LITTLE = 0.25  # of their average gain: the last one was not worth its pass


@dataclass
class Descent:
    """A point of the primal, its scores and curvatures, P and ∇P, the α of its step, and the gap that these make."""

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


@dataclass(frozen=True, eq=False)
class Before:
    """Where a step began."""

    f: np.ndarray
    curvatures: np.ndarray
    value: float

    @classmethod
    def of(cls, state: Descent) -> Before:
        """Copies: a step writes over them."""
        return cls(state.f.copy(), state.curvatures.copy(), state.value)

    def close_to(self, state: Descent) -> bool:
        """Whether the step changed P by so little that its model of P may have been right."""
        return self.value - state.value <= CLOSE * state.value


@dataclass(frozen=True)
class Newton:
    """Second-order steps on the primal."""

    name = "newton"
    state_type = Descent
    takes = Takes(SMOOTH_LOSSES, unregularised=True)

    def start(self, problem: Problem, warm: Point | None = None) -> Descent:
        """At w = 0, or at w(alpha)."""
        primal = Primal(problem)
        v = primal.start(warm)
        f, curvatures = np.empty(problem.n), np.empty(problem.n)
        return Descent(v, f, curvatures, *primal.evaluate(v, f, curvatures), fresh=warm is None)

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """One Newton step; before the first, some on a sample."""
        if state.fresh:
            self.try_on_sample(problem, state, rng)
        primal = Primal(problem)
        before = Before.of(state) if isinstance(problem.dual_term, Entropy) else None
        solved = solve_system(primal, state, logistic=before is not None)
        slope, length = float(state.gradient @ solved.step), 1.0
        if before and solved.change is not None and -slope > FAR * state.value:
            length = primal.length_along(state.v, state.f, solved.step, solved.change)
        whole = go(primal, state, length * solved.step, length * slope) and length == 1.0
        state.visited += (1 + solved.products) * problem.n
        if problem.ridge:
            gap, state.alpha = off_balance(primal.ridge, state.gradient), None
            if whole and before and before.close_to(state):
                alpha, smaller = promised(primal, before, state.f, solved.left)
                gap, state.alpha = (smaller, alpha) if smaller < gap else (gap, None)
            state.estimate = gap / state.value

    def try_on_sample(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """Begin where a sample leads, if there are rows enough for one, and that is better than nothing."""
        state.fresh = False
        part = sample(problem, rng)
        if part is None:
            return
        there = self.start(part)
        there.fresh = False
        while there.estimate > NEAR and there.visited < STEPS * part.n:
            self.advance(part, there, rng)
        state.visited += there.visited
        go(Primal(problem), state, there.v - state.v, float(state.gradient @ (there.v - state.v)))

    def point(self, problem: Problem, state: Descent) -> Point:
        """A primal point, and its α if that is not the one that follows from the margins."""
        return replace(Primal(problem).point(state.v), alpha=state.alpha)


class Solved(NamedTuple):
    """The step, what the system left of it, how the scores of curved rows change on it if known, and the products."""

    step: np.ndarray
    left: np.ndarray | float = 0.0
    change: np.ndarray | None = None
    products: int = 1


def solve_system(primal: Primal, state: Descent, logistic: bool) -> Solved:
    """The Newton step, by whatever is cheapest; `stiff` says that products with the matrix have failed before."""
    problem = primal.problem
    if not problem.ridge and problem.d <= FEW:
        margins = problem.y * state.f
        return Solved(newton_step(problem, answers(problem, margins), margins).s)
    if not (small_enough(problem) or state.stiff):
        solved = by_conjugate_gradients(primal, state.curvatures, state.gradient)
        state.stiff = state.visited > PATIENCE * problem.n and problem.d <= FEW
        return solved
    system = System(problem.rows, problem.d, primal.ridge, state.curvatures, problem.threads)
    nearly = system.by_sample() if logistic and not state.stiff else None
    if nearly is None:
        state.stiff = state.stiff and not small_enough(problem)  # a sample is given up for one step
        return Solved(system.by_factors()(-state.gradient))
    solved = by_conjugate_gradients(primal, state.curvatures, state.gradient, nearly)
    state.stiff = solved.products == PRODUCTS
    return solved


def go(primal: Primal, state: Descent, step: np.ndarray, slope: float) -> bool:
    """Take the whole step if P is nearly flat along it there, else as much or many of it as it takes to be so.

    P never rises: what makes it flatter almost always lowers it, and where it does not the step is halved until it
    falls. What P gains may be lost in its rounding, and yet the gradient falls. Tells whether it was the whole.
    """
    v, before, off = state.v, state.value, off_balance(primal.ridge, state.gradient)

    def arrive(there: np.ndarray) -> None:
        state.v = there
        state.value, state.gradient = primal.evaluate(there, state.f, state.curvatures)

    arrive(v + step)
    if state.value <= (1.0 + ROUNDING) * before and off_balance(primal.ridge, state.gradient) < off:
        return True
    end = float(state.gradient @ step)
    whole = abs(end) <= FLAT * abs(slope)
    if not whole:
        arrive(v + search(primal.slope_along(v, step), slope, end) * step)
    if state.value <= (1.0 + ROUNDING) * before:
        return whole
    arrive(backtrack(primal, v, primal.scores(v), step, slope, first=0.5, before=before).v)
    return False


def promised(primal: Primal, before: Before, f: np.ndarray, left: np.ndarray | float) -> tuple[np.ndarray, float]:
    """The α that a whole Newton step to scores `f` has reckoned with, and its gap; `left` is what the system left."""
    problem, alpha = primal.problem, np.empty_like(f)

    def add(start: int, stop: int, total: np.ndarray) -> None:
        term, h = problem.dual_term, before.curvatures
        reckon(problem.rows, problem.y, term, before.f, h, f, start, stop, alpha, total)

    total = sum_of_chunks(problem.rows, problem.d + 2, problem.threads, add, EVALUATED)
    return alpha, float(total[-1]) + off_balance(primal.ridge, left + total[: len(primal.ridge)])


@compiled
def reckon(rows, y, term, before, h, f, start, stop, alpha, total):
    """−C ℓ′ − h Δm for every row; adds what the box cuts off, times y (x, 1), to `total`, the excesses to its end."""
    excesses, cuts = 0.0, 0.0
    for i in range(start, stop):
        wanted = best_response(term, i, y[i] * before[i]) - h[i] * y[i] * (f[i] - before[i])
        alpha[i] = min(max(wanted, 0.0), term.U[i])
        if term.U[i] > 0.0:
            excesses += fenchel_young_gap(term, i, alpha[i], y[i] * f[i])
        cut = (alpha[i] - wanted) * y[i]
        if cut != 0.0:
            cuts += cut
            axpy(rows, i, cut, total)
    total[-2], total[-1] = cuts, excesses


def sample(problem: Problem, rng: np.random.Generator) -> Problem | None:
    """One row of so many, their C larger by as much as they are fewer; None where the rest would not be spared."""
    size = max(problem.n // SHARE, ROWS_A_FEATURE * problem.d)
    if not problem.ridge or 4 * size > problem.n or not small_enough(problem):
        return None
    chosen = np.sort(rng.choice(problem.n, size, replace=False))
    y, C = problem.y[chosen], problem.C[chosen] * (problem.n / size)
    if not (np.any(C[y > 0]) and np.any(C[y < 0])):
        return None
    return replace(problem, rows=pick(problem.rows, chosen, problem.threads), y=y, C=C)


def small_enough(problem: Problem) -> bool:
    """Whether the matrix is cheaper to build than to go without."""
    width = row_length(problem.rows)
    return problem.d <= 2000 and problem.n * width * width + problem.d**3 <= DENSE_WORK


def by_conjugate_gradients(
    primal: Primal, curvatures: np.ndarray, gradient: np.ndarray, nearly: Solve | None = None
) -> Solved:
    """Solve by products with the matrix.

    They end when the residual has fallen enough for this far from the optimum, or when the last product lowered the
    model of P by a small part of what one did on average (Nash, Sofer 1990). `nearly` solves a system like it.
    """
    step, residual, change = np.zeros_like(gradient), -gradient, np.zeros_like(curvatures)
    ahead = nearly(residual) if nearly else residual
    direction, square = ahead.copy(), float(residual @ ahead)
    enough = square * (EXACT**2 if nearly else min(0.25, np.sqrt(square)) ** 2 * 0.01)
    products, lowered = 0, 0.0
    while products < PRODUCTS and square > enough:
        products += 1
        product, f = primal.hessian_times(curvatures, direction)
        bend = float(direction @ product)
        if bend <= 0.0:
            break
        length = square / bend
        step += length * direction
        change += length * f
        residual -= length * product
        gain = 0.5 * length * square
        lowered += gain
        ahead = nearly(residual) if nearly else residual
        square, before = float(residual @ ahead), square
        if not nearly and products * gain <= LITTLE * lowered:
            break
        direction = ahead + (square / before) * direction
    return Solved(step, residual, change, products)
