"""The direction of a Newton step on a smooth loss, by the cheapest way to solve its system.

no regularisation        orthogonal factors of the rows, since the matrix may be close to singular (problems/balance)
few features             Cholesky factors of the matrix
the same, long rows,     conjugate gradients preconditioned by the matrix of a sample of the rows. Where they do not
strictly convex loss     arrive, the next step takes the matrix. (Squared hinge was slower: rows enter and leave)
many features            conjugate gradients, one pass over the rows a product, stopped early (inexact Newton). Where
                         they take too many epochs, the matrix, if it can be written out

After    Lin, Weng, Keerthi, JMLR 2008; Nash, Sofer, Operations Research Letters 1990 (when to stop)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import row_length
from maxmargin.problems.balance import FEW, newton_step
from maxmargin.problems.certificate import answers
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.conjugate_gradients import Iterate, Solve, conjugate_gradients
from maxmargin.solvers.parts.newton_system import System
from maxmargin.solvers.parts.primal_objective import Primal

# benchmarks/results/linear.md was measured with these values.
MATRIX_WORK = 4e9  # multiplications that building and factoring the matrix may take in every step
MATRIX_FEATURES = 2000  # features for which the matrix may be built in every step
PRODUCTS = 50  # of conjugate gradients in one step, at most
SAMPLE_RESIDUAL = 0.03  # of the gradient, which conjugate gradients leave where a sample is the preconditioner
LITTLE_GAIN = 0.25  # of the average: conjugate gradients end when the last product gained less


class Direction(NamedTuple):
    """The step, the residual of its system, the change of the scores on it where that is known, and the products.

    `stiff` says that conjugate gradients have failed, and the next step should take the matrix.
    """

    step: np.ndarray
    residual: np.ndarray | float = 0.0
    change: np.ndarray | None = None
    products: int = 1
    stiff: bool = False


def newton_direction(
    primal: Primal, f: np.ndarray, curvatures: np.ndarray, gradient: np.ndarray, stiff: bool, tired: bool
) -> Direction:
    """The Newton step at a point; `tired` says that conjugate gradients have used up their epochs."""
    problem = primal.problem
    if not problem.ridge and problem.d <= FEW:
        margins = problem.y * f
        return Direction(newton_step(problem, answers(problem, margins), margins).s, stiff=stiff)
    system = System(problem.rows, problem.d, primal.ridge, curvatures, problem.threads)
    small = small_enough(problem)
    if not (small or stiff):
        return by_conjugate_gradients(system, gradient)._replace(stiff=tired and problem.d <= FEW)
    of_sample = system.by_sample() if problem.loss.strictly_convex and not stiff else None
    if of_sample is None:
        return Direction(system.by_factors()(-gradient), stiff=stiff and not small)  # a sample is given up for one step
    direction = by_conjugate_gradients(system, gradient, of_sample)
    return direction._replace(stiff=direction.products == PRODUCTS)


def by_conjugate_gradients(system: System, gradient: np.ndarray, of_sample: Solve | None = None) -> Direction:
    """Products with the matrix until the residual is small enough for this distance from the optimum.

    Without a preconditioner they also end when the last product gained much less than they did on average.
    """

    def enough(at: Iterate) -> bool:
        part = SAMPLE_RESIDUAL**2 if of_sample else min(0.25, np.sqrt(at.first)) ** 2 * 0.01
        gains_little = at.products > 0 and at.products * at.gain <= LITTLE_GAIN * at.lowered
        return at.square <= at.first * part or (of_sample is None and gains_little)

    at = conjugate_gradients(system.times, -gradient, np.zeros_like(system.h), of_sample, PRODUCTS, enough)
    return Direction(at.s, at.residual, at.scores, at.products)


def small_enough(problem: Problem) -> bool:
    """Whether the matrix is cheaper to build in every step than to go without."""
    width = row_length(problem.rows)
    return problem.d <= MATRIX_FEATURES and problem.n * width * width + problem.d**3 <= MATRIX_WORK
