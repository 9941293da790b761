"""The contract of a loss.

Methods for arrays: slope and curvature are derivatives, the value is convex and never increases, and the Fenchel–Young
inequality holds with the dual term, with equality at the best response. Compiled functions: each agrees with the
methods for arrays, or with a search that uses only the definition of its objective.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.problems.dual_terms import (
    best,
    best_pair,
    best_response,
    distance_from_bound,
    fenchel_young_gap,
    response,
    slope,
    softened,
    sum_of_dual_values,
)
from maxmargin.problems.losses import Loss
from maxmargin.problems.losses.base import check_whole
from maxmargin.system.compiled import compiled
from maxmargin.testing.checks import check, check_close

MARGINS = np.linspace(-5, 5, 1001)
SAMPLES = 60
EXTREME = (1.0, 0.0, 800.0, -800.0)
KINKS = 10  # most kinks among MARGINS: more mean that the derivative is wrong, not that it jumps
JUMP = 1e-3  # a larger difference between one-sided slopes is a kink
BESIDE = 1e-9  # step from a kink to either side of it
AS_GOOD_AS_INFINITE = 1e100


def check_loss(loss: Loss, seed: int = 0) -> None:
    """Check all properties that objectives, certificates and compiled solvers rely on.

    Examples
    --------
    >>> from maxmargin.problems.losses import SquaredHinge
    >>> check_loss(SquaredHinge())
    """
    check_whole(loss)
    check_slope(loss)
    check_curvature(loss)
    check_convex(loss)
    check_declared(loss)
    check_zero_weight(loss)
    check_extreme_margins(loss)
    check_dual_slope(loss)
    for weight in (1e-300, 1e-200, 1e-100, 1e100):
        check_extreme_weights(loss, weight)
    rng = np.random.default_rng(seed)
    for m in corners(loss):
        for C in np.power(10.0, rng.uniform(-3, 3, 20)):
            check_response(loss, C, m)
            check_softened(loss, C, rng.random(), m, 10.0 ** rng.uniform(-3, 3))
    for k in range(SAMPLES):
        C, (m, g), q = np.power(10.0, rng.uniform(-3, 3, 2)), rng.uniform(-20, 20, 2), 10.0 ** rng.uniform(-3, 3)
        m = EXTREME[k] if k < len(EXTREME) else m
        share = np.array([k % 2, k // 2 % 2]) if k < 4 else rng.random(2)
        check_fenchel_young(loss, np.clip(m, -30, 30), C[0], share[0])
        check_equality(loss, np.clip(m, -30, 30), C[0])
        check_dual_values(loss, C, share)
        check_response(loss, C[0], m)
        check_softened(loss, C[0], share[0], np.clip(m, -20, 20), q)
        check_gap(loss, C[0], share[0], np.clip(m, -20, 20))
        check_best(loss, C[0], share[0], g, q)
        check_best_pair(loss, C, share, np.where(rng.random(2) < 0.5, -1.0, 1.0), g, q)
        check_inside(loss, C[0], rng.uniform(-1, 1))


def corners(loss: Loss) -> np.ndarray:
    """Return the margins at which the slope or the curvature jumps."""
    jumps = [form(MARGINS + BESIDE) - form(MARGINS - BESIDE) for form in (loss.slope, loss.curvature)]
    return np.asarray(MARGINS[np.max(np.abs(jumps), axis=0) > JUMP])


def check_derivative(
    value: Callable[[np.ndarray], np.ndarray], found: np.ndarray, h: float, atol: float, what: str
) -> None:
    """Check that `found` is the derivative of `value` at MARGINS, or lies between its one-sided slopes at a kink."""
    left, right = (value(MARGINS) - value(MARGINS - h)) / h, (value(MARGINS + h) - value(MARGINS)) / h
    kink = np.abs(left - right) > JUMP
    check(np.count_nonzero(kink) <= KINKS, f"{what} has too many kinks, as at margin {MARGINS[kink][:1]}")
    central = (value(MARGINS + h) - value(MARGINS - h)) / (2 * h)
    check_close(found[~kink], central[~kink], what, atol=atol)
    low, high = np.minimum(left, right)[kink] - atol, np.maximum(left, right)[kink] + atol
    check(np.all((low <= found[kink]) & (found[kink] <= high)), f"{what} at a kink is none of its slopes")


def check_slope(loss: Loss) -> None:
    """Check the slope against finite differences of the value."""
    check_derivative(loss.value, loss.slope(MARGINS), 1e-6, 1e-6, f"slope of {loss.name}")


def check_curvature(loss: Loss) -> None:
    """Check the curvature against finite differences of the slope."""
    check_derivative(loss.slope, loss.curvature(MARGINS), 1e-5, 1e-5, f"curvature of {loss.name}")


def check_convex(loss: Loss) -> None:
    """Check that the value never increases, its slope never decreases, and jumps only if the loss is not smooth."""
    slopes = loss.slope(MARGINS)
    check(np.all(loss.value(MARGINS) >= 0.0), f"{loss.name} is below 0")
    check(np.all(slopes <= 0.0), f"{loss.name} rises with the margin: certificates rely on it not to")
    check(np.all(np.diff(slopes) >= -1e-12), f"{loss.name} is not convex")
    jumps = loss.slope(MARGINS + 1e-9) - loss.slope(MARGINS - 1e-9)
    check(bool(np.all(jumps < JUMP)) == bool(loss.smooth), f"{loss.name}: smooth={loss.smooth} is not true")


def check_declared(loss: Loss) -> None:
    """Check that the curvature is positive everywhere exactly if `strictly_convex`, and at most `largest_curvature`."""
    bends, strict = loss.curvature(MARGINS), loss.strictly_convex
    check(bool(np.all(bends > 0.0)) == bool(strict), f"{loss.name}: strictly_convex={strict} is not true")
    check(np.all(bends <= loss.largest_curvature), f"{loss.name}: its curvature exceeds largest_curvature")


def check_zero_weight(loss: Loss) -> None:
    """Check that a weight of zero allows only α = 0, and that d(0) = 0 with any weight."""
    zero, some = np.zeros(3), np.array([1e-3, 1.0, 1e3])
    check(np.all(loss.upper(zero) == 0.0), f"{loss.name}: an example without weight has a box above 0")
    check(np.all(loss.dual(zero, zero) == 0.0), f"{loss.name}: d(0) is not 0 for an example without weight")
    check(np.all(loss.dual(zero, some) == 0.0), f"{loss.name}: d(0) is not 0")


def check_extreme_margins(loss: Loss) -> None:
    """Check that value, slope and curvature are finite at margins of any size."""
    m = np.array([-1e8, -800.0, 0.0, 800.0, 1e8])
    for form in (loss.value, loss.slope, loss.curvature):
        check(np.all(np.isfinite(form(m))), f"{loss.name}: {form.__name__} is not finite at {m}")


def check_extreme_weights(loss: Loss, C: float) -> None:
    """Check the equality at the best response for very small and very large weights."""
    m, weight = np.linspace(-3, 3, 7), np.full(7, C)
    alpha = -weight * loss.slope(m)
    dual = loss.dual(alpha, weight) - alpha * m
    check_close(dual, weight * loss.value(m), f"{loss.name}, C={C}", rtol=1e-9, atol=1e-12 * C)


def check_fenchel_young(loss: Loss, m: float, C: float, share: float) -> None:
    """Check C ℓ(m) ≥ d(α) − α m for an α in its box."""
    margin, weight = np.array([m]), np.array([C])
    alpha = share * np.minimum(loss.upper(weight), 100 * weight)
    surplus = (weight * loss.value(margin) - loss.dual(alpha, weight) + alpha * margin)[0]
    least = -1e-9 * C * (1 + abs(m)) * (1 + share)
    check(surplus >= least, f"{loss.name}: Fenchel–Young fails by {surplus} at m={m}, C={C}, α={alpha[0]}")


def check_equality(loss: Loss, m: float, C: float) -> None:
    """Check C ℓ(m) = d(α) − α m at α = −C ℓ′(m), which must be in the box."""
    margin, weight = np.array([m]), np.array([C])
    alpha = -weight * loss.slope(margin)
    check(0.0 <= alpha[0] <= loss.upper(weight)[0] * (1 + 1e-12), f"{loss.name}: −Cℓ′({m}) is outside the box")
    dual = loss.dual(alpha, weight) - alpha * margin
    what = f"{loss.name}: value and dual differ at the best response to m={m}, C={C}"
    check_close(weight * loss.value(margin), dual, what, rtol=1e-9, atol=1e-9 * C)


def check_dual_values(loss: Loss, C: np.ndarray, share: np.ndarray) -> None:
    """Check that the compiled Σ d_i(α_i) and boxes equal those of the methods for arrays."""
    weights = np.array([*C, 0.0])  # the last example has no weight
    alpha, term = np.array([*share, 0.0]) * weights, loss.dual_term(weights)
    ends = np.minimum(loss.upper(weights), AS_GOOD_AS_INFINITE)
    check(np.array_equal(np.minimum(term.U, AS_GOOD_AS_INFINITE), ends), f"{loss.name}: U of dual_term is not upper(C)")
    expected = np.sum(loss.dual(alpha, weights))
    what = f"{loss.name}: dual_value at C={C}, α={alpha}"
    check_close(sum_of_dual_values(term, alpha), expected, what, rtol=1e-12, atol=1e-15 * weights.sum())


def check_dual_slope(loss: Loss) -> None:
    """Check the compiled d′ against finite differences of the dual term for arrays."""
    C, h = np.array([2.0]), 1e-6
    for alpha in (0.1, 0.7, 1.9):
        numeric = (loss.dual(np.array([alpha + h]), C) - loss.dual(np.array([alpha - h]), C)) / (2 * h)
        check_close(
            slope_of(loss.dual_term(C), 0, alpha), numeric[0], f"{loss.name}: compiled slope, α={alpha}", atol=1e-6
        )


def check_response(loss: Loss, C: float, m: float) -> None:
    """Check that `response` returns the loss and its derivatives, and `best_response` the second of these values."""
    margin, term = np.array([m]), loss.dual_term(np.array([C]))
    found, what = response_of(term, 0, m), f"{loss.name}: response at m={m}, C={C}"
    expected = C * loss.value(margin)[0], -C * loss.slope(margin)[0]
    check_close(found[:2], expected, what, rtol=1e-12, atol=1e-12)
    check_one_curvature(loss, C, m, found[2], what)
    own = best_response_of(term, 0, m)
    check_close(own, found[1], f"{loss.name}: best_response at m={m}, C={C}", rtol=1e-12, atol=1e-300)


def check_one_curvature(loss: Loss, C: float, m: float, found: float, what: str) -> None:
    """Check that a curvature at m is Cℓ″(m), or one of its two values if ℓ″ jumps there."""
    here, left, right = C * loss.curvature(np.array([m, m - BESIDE, m + BESIDE]))
    sides = [here] if abs(left - right) <= JUMP * C else [left, right]
    close = [np.isclose(found, side, rtol=1e-12, atol=1e-12) for side in sides]
    check(any(close), f"{what}: curvature {found}, expected {' or '.join(map(str, sides))}")


def check_softened(loss: Loss, C: float, share: float, m: float, epsilon: float) -> None:
    """Check that `softened` equals `response` for a smooth loss and ε = 0, and `best` for other losses and ε > 0."""
    term, alpha = loss.dual_term(np.array([C])), share * C
    if loss.smooth:
        found, what = softened_of(term, 0, m, alpha, 0.0), f"{loss.name}: softened at m={m}, α={alpha}, C={C}"
        check_close(found[0], response_of(term, 0, m)[1], what, 1e-12)
        check_one_curvature(loss, C, m, found[1], what)
        return
    expected = best_of(term, 0, alpha, m, epsilon)
    found = softened_of(term, 0, m, alpha, epsilon)[0]
    check_close(found, expected, f"{loss.name}: softened at m={m}, α={alpha}, ε={epsilon}", 1e-9, 1e-9 * C)


def check_gap(loss: Loss, C: float, share: float, m: float) -> None:
    """Check the compiled Fenchel–Young gap of an example against the methods for arrays."""
    weight, alpha = np.array([C]), np.array([share * C])
    gap = weight * loss.value(np.array([m])) - loss.dual(alpha, weight) + alpha * m
    found = gap_of(loss.dual_term(weight), 0, alpha[0], m)
    check_close(found, gap[0], f"{loss.name}: fenchel_young_gap at m={m}, C={C}, α={alpha[0]}", 1e-9, 1e-9 * C)


def check_best(loss: Loss, C: float, share: float, g: float, q: float) -> None:
    """Check that `best` stays in the box, and returns the point where the derivative of the objective crosses zero."""
    term = loss.dual_term(np.array([C]))
    alpha, q = share * C, q / C
    high = term.U[0] if np.isfinite(term.U[0]) else alpha + (1 + abs(g)) / q
    expected = root(lambda z: slope_of(term, 0, z) - g - q * (z - alpha), 0.0, high)
    found = best_of(term, 0, alpha, g, q)
    check(0 <= found <= term.U[0], f"{loss.name}: best leaves the box")
    check_close(found, expected, f"{loss.name}: best at α={alpha}, g={g}, q={q}, C={C}", atol=1e-9 * (C + alpha))


def check_best_pair(loss: Loss, C: np.ndarray, share: np.ndarray, s: np.ndarray, g: float, q: float) -> None:
    """Check that `best_pair` stays in both boxes, and returns the step where the derivative along it crosses zero."""
    term = loss.dual_term(np.asarray(C))
    (ai, aj), (si, sj) = np.asarray(share) * np.asarray(C), s
    most = min(term.U[0] - ai if si > 0 else ai, aj if sj > 0 else term.U[1] - aj)
    bound = min(most, 1e6 * np.max(C))

    def derivative(delta: float) -> float:
        ends = si * slope_of(term, 0, ai + si * delta) - sj * slope_of(term, 1, aj - sj * delta)
        return float(ends - g - q * delta)

    expected = root(derivative, 0.0, bound) if bound > 0 else 0.0
    found = best_pair_of(term, ai, aj, si, sj, g, q)
    check(0 <= found <= most, f"{loss.name}: best_pair leaves the boxes")
    what = f"{loss.name}: best_pair at α={ai, aj}, s={si, sj}, g={g}, q={q}, C={C}"
    check_close(found, expected, what, atol=1e-6 * min(bound, np.max(C) * 10) + 1e-12)


def check_inside(loss: Loss, C: float, m: float) -> None:
    """Check that a best response well inside its box is not reported as held at a bound."""
    term = loss.dual_term(np.array([C]))
    alpha = best_response_of(term, 0, m)
    if 0.05 * C < alpha < 0.95 * term.U[0]:
        check(bound_of(term, 0, alpha, m) < 0.0, f"{loss.name}: distance_from_bound is not below 0 inside the box")


def root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a decreasing function crosses zero in [low, high], or the end beyond which it would."""
    from scipy.optimize import brentq

    if falling(low) <= 0:
        return low
    if falling(high) >= 0:
        return high
    return float(brentq(falling, low, high, xtol=1e-15 * high, rtol=1e-14))


@compiled
def best_of(term, i, alpha, g, q):
    """Call `best` from Python."""
    return best(term, i, alpha, g, q)


@compiled
def best_pair_of(term, ai, aj, si, sj, g, q):
    """Call `best_pair` of the first two examples from Python."""
    return best_pair(term, 0, 1, ai, aj, si, sj, g, q)


@compiled
def slope_of(term, i, alpha):
    """Call `slope` from Python."""
    return slope(term, i, alpha)


@compiled
def gap_of(term, i, alpha, m):
    """Call `fenchel_young_gap` from Python."""
    return fenchel_young_gap(term, i, alpha, m)


@compiled
def response_of(term, i, m):
    """Call `response` from Python."""
    return response(term, i, m)


@compiled
def best_response_of(term, i, m):
    """Call `best_response` from Python."""
    return best_response(term, i, m)


@compiled
def softened_of(term, i, m, alpha, epsilon):
    """Call `softened` from Python."""
    return softened(term, i, m, alpha, epsilon)


@compiled
def bound_of(term, i, alpha, m):
    """Call `distance_from_bound` from Python."""
    return distance_from_bound(term, i, alpha, m)
