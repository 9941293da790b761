"""The direction of a Newton step on a smooth loss, by the cheapest method to solve its linear system.

no regularisation        orthogonal factors of the rows, since the matrix may be close to singular (problems/balance)
few features             Cholesky factors of the matrix
few features, long rows, conjugate gradients preconditioned by the matrix of a sample of the rows. If they do not
strictly convex loss     converge, the next step uses the matrix. (Slower for squared hinge, whose active rows change)
many features            conjugate gradients, stopped early (inexact Newton); a product is one pass over the rows. If
                         they take too many epochs, the matrix is used, if it is small enough

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
MATRIX_WORK = 4e9  # most multiplications for building and factoring the matrix in every step
MATRIX_FEATURES = 2000  # most features for which the matrix is built in every step
PRODUCTS = 50  # most matrix products of conjugate gradients in one step
SAMPLE_RESIDUAL = 0.03  # relative residual at which conjugate gradients stop if a sample is the preconditioner
LITTLE_GAIN = 0.25  # conjugate gradients stop if the last product gains less than this fraction of the average


class Direction(NamedTuple):
    """The step, the residual of its system, the change of the scores if known, and the number of matrix products.

    `stiff` says that conjugate gradients have failed, so the next step should use the matrix.
    """

    step: np.ndarray
    residual: np.ndarray | float = 0.0
    change: np.ndarray | None = None
    products: int = 1
    stiff: bool = False


def newton_direction(
    primal: Primal, f: np.ndarray, curvatures: np.ndarray, gradient: np.ndarray, stiff: bool, tired: bool
) -> Direction:
    """Return the Newton step at a point; `tired` says that conjugate gradients have used up their epochs."""
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
        return Direction(system.by_factors()(-gradient), stiff=stiff and not small)  # the next step samples again
    direction = by_conjugate_gradients(system, gradient, of_sample)
    return direction._replace(stiff=direction.products == PRODUCTS)


def by_conjugate_gradients(system: System, gradient: np.ndarray, of_sample: Solve | None = None) -> Direction:
    """Solve by conjugate gradients until the residual is small enough for this distance from the optimum.

    Without a preconditioner, also stop if the last product gained much less than the average.
    """

    def enough(at: Iterate) -> bool:
        part = SAMPLE_RESIDUAL**2 if of_sample else min(0.25, np.sqrt(at.first)) ** 2 * 0.01
        gains_little = at.products > 0 and at.products * at.gain <= LITTLE_GAIN * at.lowered
        return at.square <= at.first * part or (of_sample is None and gains_little)

    at = conjugate_gradients(system.times, -gradient, np.zeros_like(system.h), of_sample, PRODUCTS, enough)
    return Direction(at.s, at.residual, at.scores, at.products)


def small_enough(problem: Problem) -> bool:
    """Return whether the matrix is small enough to be built in every step."""
    width = row_length(problem.rows)
    return problem.d <= MATRIX_FEATURES and problem.n * width * width + problem.d**3 <= MATRIX_WORK
