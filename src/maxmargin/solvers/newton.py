"""Newton's method.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic
Step     (diag(r) + Σ C_i ℓ″(m_i) z_i z_iᵀ) Δ = −∇P,  z_i = (x_i, 1);  v ← v + t Δ, t by backtracking
System   few features: the matrix itself and its Cholesky factors; many: conjugate gradients, which need only
         products with the matrix, one pass over the rows each, stopped as soon as they serve (inexact Newton);
         without regularisation the matrix may be close to singular: orthogonal factors of the rows (see balance)
Costs    an iteration: O(nnz d + d³), or O(nnz) a product; memory O(d²), or O(n + d)
After    Keerthi, DeCoste, JMLR 2005; Lin, Weng, Keerthi, JMLR 2008
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.balance import FEW, newton_step
from maxmargin.certificate import Point, answers
from maxmargin.problem import Problem
from maxmargin.rows.memory import row_length
from maxmargin.solvers.newton_system import System
from maxmargin.solvers.primal import Primal, backtrack, off_balance

DENSE_WORK = 4e9  # multiplications that building the matrix may take
PRODUCTS = 50  # conjugate gradient steps at most in one iteration


@dataclass
class Descent:
    """A point of the primal with its scores, P and ∇P, and the gap that these make."""

    v: np.ndarray
    f: np.ndarray
    value: float
    gradient: np.ndarray
    visited: int = 0
    estimate: float = np.inf


@dataclass(frozen=True)
class Newton:
    """Second-order steps on the primal."""

    name = "newton"
    state_type = Descent

    def start(self, problem: Problem, alpha: np.ndarray | None = None) -> Descent:
        """At w = 0, or at w(alpha)."""
        primal = Primal(problem)
        v = primal.start(alpha)
        f = primal.scores(v)
        return Descent(v, f, primal.value(v, f), primal.gradient(v, f))

    def advance(self, problem: Problem, state: Descent, rng: np.random.Generator) -> None:
        """One Newton step."""
        primal, f, gradient = Primal(problem), state.f, state.gradient
        curvatures = primal.curvatures(f)
        if not problem.ridge and problem.d <= FEW:
            alpha = answers(problem, problem.y * f)
            step, products = newton_step(problem, alpha, problem.y * f).s, 1
        elif small_enough(problem):
            system = System(problem.rows, problem.d, primal.ridge, curvatures, problem.threads)
            step, products = system.by_factors()(-gradient), 1
        else:
            step, products = by_conjugate_gradients(primal, curvatures, gradient)
        state.v, state.f, _, state.value = backtrack(
            primal, state.v, f, step, float(gradient @ step), before=state.value
        )
        state.gradient = primal.gradient(state.v, state.f)
        state.visited += (2 + products) * problem.n
        if problem.ridge:
            state.estimate = off_balance(primal.ridge, state.gradient) / state.value

    def point(self, problem: Problem, state: Descent) -> Point:
        """A primal point: α follows from the margins."""
        return Primal(problem).point(state.v)


def small_enough(problem: Problem) -> bool:
    """Whether the matrix is cheaper to build than to go without."""
    width = row_length(problem.rows)
    return problem.d <= 2000 and problem.n * width * width + problem.d**3 <= DENSE_WORK


def by_conjugate_gradients(primal: Primal, curvatures: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, int]:
    """Solve by products with the matrix until the residual has fallen enough for this far from the optimum."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, square = residual.copy(), float(residual @ residual)
    enough = square * min(0.25, np.sqrt(square)) ** 2 * 0.01
    products = 0
    while products < PRODUCTS and square > enough:
        products += 1
        product = primal.hessian_times(curvatures, direction)
        bend = float(direction @ product)
        if bend <= 0.0:
            break
        length = square / bend
        step += length * direction
        residual -= length * product
        square, before = float(residual @ residual), square
        direction = residual + (square / before) * direction
    return step, products
