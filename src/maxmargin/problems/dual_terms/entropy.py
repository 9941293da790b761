"""The entropy as the dual term of the logistic loss.

    d_i(α) = U log U − α log α − (U−α) log(U−α),   0 ≤ α ≤ U_i

The best value of one or two dual variables is found by a Newton iteration in one dimension, kept inside the box.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from maxmargin.problems.dual_terms.verbs import register, room
from maxmargin.system.compiled import compiled

NEWTON_STEPS = 40  # most steps: the bracket shrinks in each of them, even if the Newton step is poor
PRECISION = 1e-12  # relative precision of δ in a pair step
SHORT = 1e-3  # step in the log odds whose fourth power is below rounding errors: a Taylor series completes it
CLOSE_TO_THE_END = 1e-16  # relative to U: smallest distance from a bound at which a logarithm is computed


class Entropy(NamedTuple):
    """d_i(α) = U log U − α log α − (U−α) log(U−α) on [0, U_i]."""

    U: np.ndarray


@compiled
def log_odds(a, U):
    """Return log((U−α)/α), finite also at the bounds of the box."""
    tiny = CLOSE_TO_THE_END * U
    return log(max(U - a, tiny) / max(a, tiny))


@compiled
def sigmoid_below(g):
    """Return 1/(1 + e^g), without overflow."""
    small = exp(-abs(g))
    return (small if g >= 0.0 else 1.0) / (1.0 + small)


@compiled
def dual_value_entropy(U, a):
    """Return −s log(s/U) − (U−s) log(1 − s/U) with s = min(α, U − α), to avoid cancellation; 0 for s = 0."""
    s = min(a, U - a)
    return -s * log(s / U) - (U - s) * log1p(-s / U) if s > 0.0 else 0.0


@compiled
def response_entropy(U, m):
    """Return U ℓ(m), −U ℓ′(m) and U ℓ″(m) for ℓ(m) = log(1 + e^−m), without overflow."""
    small = exp(-abs(m))
    part = 1.0 / (1.0 + small)
    return U * (max(-m, 0.0) + log1p(small)), U * part * (small if m >= 0.0 else 1.0), U * small * part * part


@compiled
def fenchel_young_gap_entropy(U, a, m):
    """Return U ℓ(m) − d(α) + α m, from the log odds of α and e^−|m|, which other functions compute too."""
    rest = max(U - a, CLOSE_TO_THE_END * U) / U
    return U * (log(rest * (1.0 + exp(-abs(m)))) + max(-m, 0.0)) + a * (m - log_odds(a, U))


@compiled
def distance_from_bound_entropy(U, a, m):
    """Return |m| − 2 − |m − log odds of α|.

    α never reaches a bound. It counts as at a bound if |m| > 2 and α is close to its best response to m.
    """
    return abs(m) - 2.0 - abs(m - log_odds(a, U))


@compiled
def best_entropy(a, U, g, q):
    """Solve h(t) = −t − g − q (z(t) − α) = 0 for t = log(z/(U−z)) by Halley's method; h′(t) = −1 − q z′(t) < 0.

    The start is the solution for q = 0 if q is small, else α. A short step is the last: its z is a Taylor series.
    """
    low, high = -g - q * (U - a), -g + q * a
    t = -g if q * U < 1.0 else min(max(-log_odds(a, U), low), high)
    before = high - low
    for _ in range(NEWTON_STEPS):
        part = sigmoid_below(-t)
        z, bend, skew = U * part, U * part * (1.0 - part), 1.0 - 2.0 * part
        h = -t - g - q * (z - a)
        if h > 0.0:
            low = t
        else:
            high = t
        fall = 1.0 + q * bend
        step = h / fall
        if abs(step) < 1.0:
            step /= 1.0 + 0.5 * step * q * bend * skew / fall
        if abs(step) <= SHORT:
            third = 0.5 * skew * skew - 0.25 * (1.0 - skew * skew)
            return min(max(z + bend * step * (1.0 + 0.5 * step * (skew + step * third / 1.5)), 0.0), U)
        slow = abs(step) > 0.5 * before  # in a wide bracket steps can oscillate
        t = 0.5 * (low + high) if slow or not low <= t + step <= high else t + step
        before = abs(step)
    return z


@compiled
def best_pair_entropy(ai, aj, Ui, Uj, si, sj, g, q):
    """Solve h(δ) = sᵢ d_i′ − sⱼ d_j′ − g − q δ = 0 by Newton's method inside a bracket; h is decreasing."""
    low, high = 0.0, min(room(si, ai, Ui), room(-sj, aj, Uj))
    delta = 0.0
    for _ in range(NEWTON_STEPS):
        zi, zj = ai + si * delta, aj - sj * delta
        h = si * log_odds(zi, Ui) - sj * log_odds(zj, Uj) - g - q * delta
        if h > 0.0:
            low = delta
        else:
            high = delta
        step = h / (
            q
            + Ui / max(zi * (Ui - zi), CLOSE_TO_THE_END * Ui * Ui)
            + Uj / max(zj * (Uj - zj), CLOSE_TO_THE_END * Uj * Uj)
        )
        if abs(step) <= PRECISION * delta:
            break
        delta += step
        if not low <= delta <= high:
            delta = low + 0.9 * (high - low) if h > 0.0 else high - 0.9 * (high - low)
    return delta


def loss_bounds(term: Entropy, m: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return U ℓ(m) and an upper bound of U ℓ(m − e), by NumPy, whose exp is several times faster than a compiled one.

    ℓ(m − e) ≤ ℓ(m) − e ℓ′(m − e), and −ℓ′ ≤ ℓ, −ℓ′ ≤ 1, and −ℓ′ grows by at most e^e ≤ 1 + 2e over a distance e ≤ 1.
    """
    value = np.log1p(np.exp(-np.abs(m)))
    value -= np.minimum(m, 0.0)
    return term.U * value, term.U * (value + e * np.minimum(value * (1.0 + 2.0 * e), 1.0))


register(
    Entropy,
    loss_bounds=loss_bounds,
    dual_value=lambda term, i, alpha: dual_value_entropy(term.U[i], alpha),
    slope=lambda term, i, alpha: log_odds(alpha, term.U[i]),
    best_response=lambda term, i, m: term.U[i] / (1.0 + exp(m)),
    response=lambda term, i, m: response_entropy(term.U[i], m),
    softened=lambda term, i, m, alpha, epsilon: response_entropy(term.U[i], m)[1:],
    fenchel_young_gap=lambda term, i, alpha, m: fenchel_young_gap_entropy(term.U[i], alpha, m),
    distance_from_bound=lambda term, i, alpha, m: distance_from_bound_entropy(term.U[i], alpha, m),
    best=lambda term, i, alpha, g, q: best_entropy(alpha, term.U[i], g, q),
    best_pair=lambda term, i, j, ai, aj, si, sj, g, q: best_pair_entropy(ai, aj, term.U[i], term.U[j], si, sj, g, q),
)
