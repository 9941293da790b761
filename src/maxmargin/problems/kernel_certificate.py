"""The certificate of a kernel problem: both objectives in float64, computed only from β and the kernel.

F is computed again, one block of the kernel matrix at a time, and b is optimal (see kernel.py for P and D). If the
kernel is not positive semidefinite, the problem is not convex and has no bound: its dual is −∞ for every β.

As in `certificate`, both objectives include a bound on their rounding errors:

    scores    the error of F_i is at most e_i, from the kernel values and their sum (`score_errors`)
    primal    the losses are evaluated at F_i + e_i or F_i − e_i, whichever is larger; ½ βᵀK′β errs by ½ Σ |c_i| e_i.
              If this is much, w and b are scaled up slightly (`stretched`)
    dual      if the sum of a group is off by s, moving one variable that is not at its bound corrects it. The cost is
              s |F_k| + ½ s² K_kk

A precomputed matrix or a callable is taken as exact and symmetric and, if the test passes, as positive semidefinite.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.certificate import Certificate, Certified, Point
from maxmargin.problems.kernel import Formulation, KernelProblem, best_offsets, bias_and_width, residuals
from maxmargin.system.rounding import PAIRWISE, UNIT, additions_of_inner, gamma, inner

LARGE_ROUNDING = 1e-7  # Of the objective: a larger primal rounding bound may be lowered by `stretched`.
LONGEST = 1.0 + 1e-5  # The most by which w is scaled up: a tenth of the usual tolerance.
NEGLIGIBLE = 1e-12  # Relative to the dual: a cost of correcting a sum that need not be made smaller.
INDEFINITE = 1e-9  # Relative to Σ |c_i f_i|: a βᵀK′β further below 0 is not a rounding error.


def certify_kernel(problem: KernelProblem, point: Point, tight: bool = False) -> Certified:
    """Complete a dual point and certify it; w is the coefficient of each row. With `tight`, rounding bounds are too."""
    assert point.alpha is not None
    beta = feasible(problem.formulation, point.alpha)
    c = problem.coefficients(beta)
    f, formulation = problem.sums(c), problem.formulation
    F = problem.forces(f)
    offsets = best_offsets(formulation, F)
    errors = 2.0 * problem.score_errors(c, tight)  # this evaluation and the one in `predict`
    sizes = np.abs(c)
    size, half_norm = inner(sizes, np.abs(f)), 0.5 * inner(c, f)
    if problem.kernel.definite is None and 2.0 * half_norm < -INDEFINITE * size:
        problem.__dict__["bounded"] = False  # a negative square shows that the kernel is indefinite
    off = 0.5 * inner(sizes, errors) + added(c) * size
    primal, primal_rounding = primal_side(formulation, F, offsets, errors, half_norm, off)
    dual, dual_rounding = dual_side(formulation, beta, F, errors, problem.diagonal, half_norm, off)
    if not problem.bounded:
        dual, dual_rounding = -np.inf, 0.0
    if formulation.kind == "C-SVC" and primal_rounding > LARGE_ROUNDING * abs(primal):
        longer = 1.0 + 3.0 * float(errors.max())
        if longer <= LONGEST:
            other = stretched(formulation, f, offsets, errors, half_norm, off, longer)
            if other[0] < primal:
                (primal, primal_rounding), c, offsets = other, longer * c, longer * offsets
    b, width = bias_and_width(offsets)
    certificate = Certificate(primal, dual, primal_rounding, dual_rounding, problem.scale)
    return Certified(c, b, beta, certificate, f, width)


def stretched(
    formulation: Formulation,
    f: np.ndarray,
    offsets: np.ndarray,
    errors: np.ndarray,
    half_norm: float,
    off: float,
    longer: float,
) -> tuple[float, float]:
    """Return P, rounded up, of a C-SVC whose w and b are scaled up slightly, so that margins of 1 stay above 1.

    With a large C, each error of a margin of 1 costs up to C. A longer w costs only its norm.
    """
    square = longer * longer * (1.0 + 16.0 * UNIT)
    F = -longer * f - formulation.q
    return primal_side(formulation, F, longer * offsets, longer * errors, square * half_norm, square * off)


def added(terms: np.ndarray) -> float:
    """Return the relative error of a sum over as many terms, and of a few further operations."""
    return gamma(additions_of_inner(len(terms)) + PAIRWISE)


def primal_side(
    formulation: Formulation, F: np.ndarray, offsets: np.ndarray, errors: np.ndarray, half_norm: float, off: float
) -> tuple[float, float]:
    """Return P(β, b), rounded up, and the amount of this rounding."""
    R = residuals(formulation, F, offsets)
    own = errors if len(errors) == len(F) else errors[formulation.row]
    farthest = max(map(abs, offsets.tolist()), default=0.0)
    e = own + 8.0 * UNIT * (np.abs(F) + np.abs(formulation.q) + farthest)
    losses, above = losses_of(formulation, R, -R), losses_of(formulation, R + e, e - R)
    constant = inner(formulation.sums, offsets)
    plain = half_norm + losses + constant
    size = abs(half_norm) + above + inner(np.abs(formulation.sums), np.abs(offsets))
    rounding = off + (above - losses) + added(F) * size
    return plain + rounding, rounding


def losses_of(formulation: Formulation, above: np.ndarray, below: np.ndarray) -> float:
    """Return Σ hi_i (above_i)₊ − lo_i (below_i)₊."""
    return inner(formulation.hi, np.maximum(above, 0.0)) - inner(formulation.lo, np.maximum(below, 0.0))


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
    sizes, relative = np.abs(beta), added(beta)
    plain = -half_norm - inner(formulation.q, beta)
    rounding = off + relative * (abs(half_norm) + inner(np.abs(formulation.q), sizes))
    moved, farthest, error = 0.0, float(np.abs(F).max()), float(errors.max())
    for g, c in enumerate(formulation.sums.tolist()):
        own = formulation.members(g)
        s = abs(float(beta[own].sum()) - c) + relative * (float(sizes[own].sum()) + abs(c))
        price = farthest
        if s * farthest > NEGLIGIBLE * abs(plain):
            inside = formulation.group == g
            up, down = inside & (formulation.hi - beta >= s), inside & (beta - formulation.lo >= s)
            price = max(cheapest(F, up), cheapest(F, down))
        rounding += s * (price + error)
        moved += s
    rounding += 0.5 * moved * moved * float(diagonal.max())
    return plain - rounding, rounding


def cheapest(F: np.ndarray, movable: np.ndarray) -> float:
    """Return the smallest |F| of the movable variables; 0 if there are none, because then no sum is closer."""
    return float(np.min(np.abs(F), where=movable, initial=np.inf)) if np.any(movable) else 0.0


def feasible(formulation: Formulation, beta: np.ndarray) -> np.ndarray:
    """Clip β to its box and correct the sum of each group, each variable in proportion to its room.

    Variables strictly inside their box move first, so that the others stay at their bounds.
    """
    beta = within_box(formulation, beta)
    for g, c in enumerate(formulation.sums.tolist()):
        part = beta[formulation.members(g)]
        surplus = float(part.sum()) - c
        if abs(surplus) <= gamma(PAIRWISE) * float(np.abs(part).sum()):
            continue  # rounding, which the dual bound includes
        own = formulation.group == g
        inside = (formulation.lo < beta) & (beta < formulation.hi)
        for some in (own & inside, own):
            room = beta[some] - formulation.lo[some] if surplus > 0 else formulation.hi[some] - beta[some]
            total = float(np.sum(room))
            if 0.0 < abs(surplus) <= total:
                beta[some] -= surplus * (room / total)
                break
        beta = within_box(formulation, beta)
    return beta


def within_box(formulation: Formulation, beta: np.ndarray) -> np.ndarray:
    """Clip β to its box."""
    return np.asarray(np.minimum(np.maximum(beta, formulation.lo), formulation.hi))
