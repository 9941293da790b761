"""The certificate of a kernel machine: both objectives in float64, from nothing but β and the kernel.

F is computed anew, a block of the kernel at a time, and b is the exact best (see kernel_problem for P and D). A kernel
that is not positive semidefinite has no convex problem and no bound: its dual is −∞ here, whatever β is.

As in `certificate`, both sides are rounded apart by a bound on their rounding errors:

    scores    each F_i errs by at most e_i, of the values of the kernel and of their sum (`scores_and_errors`)
    primal    losses are taken at F_i + e_i or F_i − e_i, whichever costs more; ½ βᵀK′β errs by ½ Σ |c_i| e_i
    dual      where the sum of a group is off by s, moving one variable that has room puts it right, at a price of
              s |F_k| and ½ s² K_kk

A matrix or a function that the caller brings counts as exact, symmetric and, if it seems so, positive semidefinite.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.certificate import Certificate, Certified, Point
from maxmargin.problems.kernel import Formulation, KernelProblem, best_offsets, bias_and_width, residuals
from maxmargin.system.rounding import PAIRWISE, UNIT, gamma

INDEFINITE = 1e-9  # of the size of βᵀK′β: a square that is further below 0 is not rounding


def certify_kernel(problem: KernelProblem, point: Point) -> Certified:
    """Complete a dual point and certify it; w is the coefficient of each row."""
    assert point.alpha is not None
    formulation = problem.formulation
    beta = feasible(formulation, point.alpha)
    c = problem.coefficients(beta)
    f, errors = problem.scores_and_errors(beta)
    F = problem.forces(f)
    offsets = best_offsets(formulation, F)
    errors *= 2.0  # of this evaluation and of the one of `predict`
    size = float(np.sum(np.abs(c * f)))
    half_norm = 0.5 * float(np.sum(c * f))
    if problem.kernel.definite is None and 2.0 * half_norm < -INDEFINITE * size:
        problem.__dict__["bounded"] = False  # a negative square: the kernel has shown itself to be indefinite
    off = 0.5 * float(np.abs(c) @ errors) + gamma(2 * PAIRWISE) * size
    primal, primal_rounding = primal_side(formulation, F, offsets, errors, half_norm, off)
    dual, dual_rounding = dual_side(formulation, beta, F, errors, problem.diagonal, half_norm, off)
    if not problem.bounded:
        dual, dual_rounding = -np.inf, 0.0
    b, width = bias_and_width(offsets)
    certificate = Certificate(primal, dual, primal_rounding, dual_rounding, problem.scale)
    return Certified(c, b, beta, certificate, f, width)


def primal_side(
    formulation: Formulation, F: np.ndarray, offsets: np.ndarray, errors: np.ndarray, half_norm: float, off: float
) -> tuple[float, float]:
    """P(β, b) rounded up, and by how much."""
    R = residuals(formulation, F, offsets)
    e = errors[formulation.row] + 8.0 * UNIT * (np.abs(F) + np.abs(formulation.q) + np.abs(F - R))
    losses = float(np.sum(formulation.hi * np.maximum(R, 0.0) - formulation.lo * np.maximum(-R, 0.0)))
    above = float(np.sum(formulation.hi * np.maximum(R + e, 0.0) - formulation.lo * np.maximum(e - R, 0.0)))
    constant = float(np.sum(formulation.sums * offsets))
    plain = half_norm + losses + constant
    size = abs(half_norm) + above + float(np.abs(formulation.sums) @ np.abs(offsets))
    rounding = off + (above - losses) + gamma(2 * PAIRWISE) * size
    return plain + rounding, rounding


def dual_side(
    formulation: Formulation,
    beta: np.ndarray,
    F: np.ndarray,
    errors: np.ndarray,
    diagonal: np.ndarray,
    half_norm: float,
    off: float,
) -> tuple[float, float]:
    """D(β) rounded down, and by how much."""
    linear, size = float(np.sum(formulation.q * beta)), float(np.sum(np.abs(formulation.q * beta)))
    plain = -half_norm - linear
    rounding = off + gamma(2 * PAIRWISE) * (abs(half_norm) + size)
    moved = 0.0
    for g, c in enumerate(formulation.sums):
        own = formulation.group == g
        total = float(np.sum(beta[own]))
        s = abs(total - float(c)) + gamma(PAIRWISE) * (float(np.sum(np.abs(beta[own]))) + abs(float(c)))
        price = max(cheapest(F, own & (formulation.hi - beta >= s)), cheapest(F, own & (beta - formulation.lo >= s)))
        rounding += s * (price + float(np.max(errors, initial=0.0)))
        moved += s
    rounding += 0.5 * moved * moved * float(np.max(diagonal, initial=0.0))
    return plain - rounding, rounding


def cheapest(F: np.ndarray, movable: np.ndarray) -> float:
    """The smallest |F| of the variables that can move; 0 if none can, for then the sum is as close as it can be."""
    return float(np.min(np.abs(F), where=movable, initial=np.inf)) if np.any(movable) else 0.0


def feasible(formulation: Formulation, beta: np.ndarray) -> np.ndarray:
    """β moved into its box, and the sum of each group to where it belongs, each variable by a part of its room.

    Those inside their box move if they can, so that no other leaves the end where it is.
    """
    beta = np.clip(beta, formulation.lo, formulation.hi)
    inside = (formulation.lo < beta) & (beta < formulation.hi)
    for g, c in enumerate(formulation.sums):
        own = formulation.group == g
        surplus = float(np.sum(beta[own])) - c
        for some in (own & inside, own):
            room = beta[some] - formulation.lo[some] if surplus > 0 else formulation.hi[some] - beta[some]
            total = float(np.sum(room))
            if 0.0 < abs(surplus) <= total:
                beta[some] -= surplus * (room / total)
                break
    return np.asarray(np.clip(beta, formulation.lo, formulation.hi))
