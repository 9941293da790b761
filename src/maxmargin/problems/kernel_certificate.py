"""The certificate of a kernel problem: both objectives in float64, computed only from β and the kernel.

F is computed again, one block of the kernel matrix at a time, and b is optimal (see kernel.py for P and D). If the
kernel is not positive semidefinite, the problem is not convex and has no bound: its dual is −∞ for every β.

As in `certificate`, both objectives include a bound on their rounding errors:

    scores    the error of F_i is at most e_i, from the kernel values and their sum (`scores_and_errors`)
    primal    the losses are evaluated at F_i + e_i or F_i − e_i, whichever is larger; ½ βᵀK′β errs by ½ Σ |c_i| e_i
    dual      if the sum of a group is off by s, moving one variable that is not at its bound corrects it. The cost is
              s |F_k| + ½ s² K_kk

A precomputed matrix or a callable is taken as exact and symmetric and, if the test passes, as positive semidefinite.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.certificate import Certificate, Certified, Point
from maxmargin.problems.kernel import Formulation, KernelProblem, best_offsets, bias_and_width, residuals
from maxmargin.system.rounding import PAIRWISE, UNIT, gamma

NEGLIGIBLE = 1e-12  # Relative to the dual: a cost of correcting a sum that need not be made smaller.
INDEFINITE = 1e-9  # Relative to Σ |c_i f_i|: a βᵀK′β further below 0 is not a rounding error.


def certify_kernel(problem: KernelProblem, point: Point) -> Certified:
    """Complete a dual point and certify it; w is the coefficient of each row."""
    assert point.alpha is not None
    formulation = problem.formulation
    beta = feasible(formulation, point.alpha)
    c = problem.coefficients(beta)
    f, errors = problem.scores_and_errors(beta)
    F = problem.forces(f)
    offsets = best_offsets(formulation, F)
    errors *= 2.0  # this evaluation and the one in `predict`
    size = float(np.sum(np.abs(c * f)))
    half_norm = 0.5 * float(np.sum(c * f))
    if problem.kernel.definite is None and 2.0 * half_norm < -INDEFINITE * size:
        problem.__dict__["bounded"] = False  # a negative square shows that the kernel is indefinite
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
    """Return P(β, b), rounded up, and the amount of this rounding."""
    R = residuals(formulation, F, offsets)
    own = errors if len(errors) == len(F) else errors[formulation.row]
    e = own + 8.0 * UNIT * (np.abs(F) + np.abs(formulation.q) + np.abs(F - R))
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
    """Return D(β), rounded down, and the amount of this rounding."""
    terms = formulation.q * beta
    plain = -half_norm - float(np.sum(terms))
    rounding = off + gamma(2 * PAIRWISE) * (abs(half_norm) + float(np.sum(np.abs(terms))))
    moved, farthest, error = 0.0, float(np.max(np.abs(F))), float(np.max(errors, initial=0.0))
    for g, c in enumerate(formulation.sums):
        own = formulation.members(g)
        total = float(np.sum(beta[own]))
        s = abs(total - float(c)) + gamma(PAIRWISE) * (float(np.sum(np.abs(beta[own]))) + abs(float(c)))
        price = farthest
        if s * farthest > NEGLIGIBLE * abs(plain):
            inside = formulation.group == g
            up, down = inside & (formulation.hi - beta >= s), inside & (beta - formulation.lo >= s)
            price = max(cheapest(F, up), cheapest(F, down))
        rounding += s * (price + error)
        moved += s
    rounding += 0.5 * moved * moved * float(np.max(diagonal, initial=0.0))
    return plain - rounding, rounding


def cheapest(F: np.ndarray, movable: np.ndarray) -> float:
    """Return the smallest |F| of the movable variables; 0 if there are none, because then no sum is closer."""
    return float(np.min(np.abs(F), where=movable, initial=np.inf)) if np.any(movable) else 0.0


def feasible(formulation: Formulation, beta: np.ndarray) -> np.ndarray:
    """Clip β to its box and correct the sum of each group, each variable in proportion to its room.

    Variables strictly inside their box move first, so that the others stay at their bounds.
    """
    beta = np.clip(beta, formulation.lo, formulation.hi)
    for g, c in enumerate(formulation.sums):
        part = beta[formulation.members(g)]
        surplus = float(np.sum(part)) - c
        if abs(surplus) <= gamma(PAIRWISE) * float(np.sum(np.abs(part))):
            continue  # rounding, which the dual bound includes
        own = formulation.group == g
        inside = (formulation.lo < beta) & (beta < formulation.hi)
        for some in (own & inside, own):
            room = beta[some] - formulation.lo[some] if surplus > 0 else formulation.hi[some] - beta[some]
            total = float(np.sum(room))
            if 0.0 < abs(surplus) <= total:
                beta[some] -= surplus * (room / total)
                break
    return np.asarray(np.clip(beta, formulation.lo, formulation.hi))
