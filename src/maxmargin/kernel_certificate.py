"""The certificate of a kernel machine: both objectives in float64, from nothing but β and the kernel.

F is computed anew, a block of the kernel at a time, and b is the exact best (see kernel_problem for P and D). A kernel
that is not positive semidefinite has no convex problem and no bound: its dual is −∞ here, whatever β is.
"""

from __future__ import annotations

import numpy as np

from maxmargin.certificate import Certificate, Certified, Point
from maxmargin.kernel_problem import KernelProblem, Machine, best_offsets, bias_and_width, residuals

ROUNDING = 1e-9


def certify_kernel(problem: KernelProblem, point: Point) -> Certified:
    """Complete a dual point and certify it; w is the coefficient of each row, then the width (see kernel_problem)."""
    assert point.alpha is not None
    machine = problem.machine
    beta = feasible(machine, point.alpha)
    f = problem.scores(beta)
    F = problem.forces(f)
    offsets = best_offsets(machine, F)
    R = residuals(machine, F, offsets)
    half_norm = -0.5 * float(np.sum(beta * (F + machine.q)))
    if problem.kernel.definite is None and half_norm < -ROUNDING * float(np.sum(np.abs(beta * (F + machine.q)))):
        problem.__dict__["bounded"] = False  # a negative square: the kernel has shown itself to be indefinite
    losses = machine.hi * np.maximum(R, 0.0) - machine.lo * np.maximum(-R, 0.0)
    primal = half_norm + float(np.sum(losses)) + float(np.sum(machine.sums * offsets))
    dual = -half_norm - float(np.sum(machine.q * beta)) if problem.bounded else -np.inf
    b, width = bias_and_width(offsets)
    return Certified(np.append(problem.coefficients(beta), width), b, beta, Certificate(primal, dual), f)


def feasible(machine: Machine, beta: np.ndarray) -> np.ndarray:
    """β moved into its box, and the sum of each group to where it belongs, each variable by a part of its room.

    Those inside their box move if they can, so that no other leaves the end where it is.
    """
    beta = np.clip(beta, machine.lo, machine.hi)
    inside = (machine.lo < beta) & (beta < machine.hi)
    for g, c in enumerate(machine.sums):
        own = machine.group == g
        surplus = float(np.sum(beta[own])) - c
        for some in (own & inside, own):
            room = beta[some] - machine.lo[some] if surplus > 0 else machine.hi[some] - beta[some]
            total = float(np.sum(room))
            if 0.0 < abs(surplus) <= total:
                beta[some] -= surplus * (room / total)
                break
    return np.asarray(np.clip(beta, machine.lo, machine.hi))
