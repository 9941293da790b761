"""What a compiled dual solver knows of a loss: its dual term, in one of two shapes, behind nine verbs.

    Quadratic(U, D)     d_i(α) = α − ½ D_i α²,                              0 ≤ α ≤ U_i
    Entropy(U)          d_i(α) = U log U − α log α − (U−α) log(U−α),        0 ≤ α ≤ U_i

    dual_value(term, i, α)                 d_i(α)
    slope(term, i, α)                      d_i′(α)
    best_response(term, i, m)              the α that belongs to margin m: −C_i ℓ′(m)
    response(term, i, m)                   C_i ℓ(m), −C_i ℓ′(m) and C_i ℓ″(m)
    softened(term, i, m, α, ε)             the q that maximises  d_i(q) − q m − ½ ε (q−α)², and −dq/dm; entropy: ε = 0
    fenchel_young_gap(term, i, α, m)       C_i ℓ(m) − d_i(α) + α m ≥ 0: what the example adds to the gap
    distance_from_bound(term, i, α, m)     how far the margin is from where α could leave its bound; below 0 if it can
    best(term, i, α, g, q)                 the z that maximises  d_i(z) − g (z−α) − ½ q (z−α)²
    best_pair(term, i, j, αᵢ, αⱼ, sᵢ, sⱼ, g, q)   the δ ≥ 0 that maximises
                                           d_i(αᵢ + sᵢδ) + d_j(αⱼ − sⱼδ) − g δ − ½ q δ²,  with s = ±1

The quadratic shape answers in closed form, the entropy by a Newton iteration in one dimension. Both stay in the box.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import Any, NamedTuple

import numpy as np

from maxmargin.system.compiled import compiled, holds, inlined

NEWTON_STEPS = 40
PRECISION = 1e-12
SHORT = 1e-3  # a step whose fourth power is nothing
CLOSE_TO_THE_END = 1e-16


class Quadratic(NamedTuple):
    """d_i(α) = α − ½ D_i α² on [0, U_i]: hinge has D = 0, squared hinge U = ∞."""

    U: np.ndarray
    D: np.ndarray


class Entropy(NamedTuple):
    """d_i(α) = U log U − α log α − (U−α) log(U−α) on [0, U_i]: logistic."""

    U: np.ndarray


DualTerm = Quadratic | Entropy


def dual_value(term: Any, i: int, alpha: float) -> float:
    """d_i(α), in compiled code."""
    raise NotImplementedError("dual_value works inside compiled functions only")


def slope(term: Any, i: int, alpha: float) -> float:
    """d_i′(α), in compiled code."""
    raise NotImplementedError("slope works inside compiled functions only")


def best_response(term: Any, i: int, m: float) -> float:
    """−C_i ℓ′(m), in compiled code."""
    raise NotImplementedError("best_response works inside compiled functions only")


def response(term: Any, i: int, m: float) -> tuple[float, float, float]:
    """C_i ℓ(m), −C_i ℓ′(m) and C_i ℓ″(m), in compiled code."""
    raise NotImplementedError("response works inside compiled functions only")


def softened(term: Any, i: int, m: float, alpha: float, epsilon: float) -> tuple[float, float]:
    """The q that maximises d_i(q) − q m − ½ ε (q−α)², and −dq/dm, in compiled code; for logistic ε = 0."""
    raise NotImplementedError("softened works inside compiled functions only")


def fenchel_young_gap(term: Any, i: int, alpha: float, m: float) -> float:
    """C_i ℓ(m) − d_i(α) + α m, in compiled code."""
    raise NotImplementedError("fenchel_young_gap works inside compiled functions only")


def distance_from_bound(term: Any, i: int, alpha: float, m: float) -> float:
    """How far the margin is beyond where α could move again, in compiled code."""
    raise NotImplementedError("distance_from_bound works inside compiled functions only")


def best(term: Any, i: int, alpha: float, g: float, q: float) -> float:
    """The best value of one dual variable, in compiled code."""
    raise NotImplementedError("best works inside compiled functions only")


def best_pair(term: Any, i: int, j: int, ai: float, aj: float, si: float, sj: float, g: float, q: float) -> float:
    """The best step of two dual variables along αᵢ + sᵢδ, αⱼ − sⱼδ, in compiled code."""
    raise NotImplementedError("best_pair works inside compiled functions only")


@compiled
def room(s, a, U):
    """How far α may go in direction s = ±1 before it leaves [0, U]."""
    return U - a if s > 0 else a


@compiled
def log_odds(a, U):
    """log((U−α)/α), finite at the ends of the box too."""
    tiny = CLOSE_TO_THE_END * U
    return log(max(U - a, tiny) / max(a, tiny))


@compiled
def sigmoid_below(g):
    """1/(1 + e^g), without overflow."""
    small = exp(-abs(g))
    return (small if g >= 0.0 else 1.0) / (1.0 + small)


@compiled
def best_entropy(a, U, g, q):
    """Halley's steps in t = log(z/(U−z)), where  h(t) = −t − g − q (z(t) − α)  falls with slope −1 − q z′(t).

    They start where q = 0 would end if q is small, else at α. A short step ends them: z follows by its Taylor series.
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
        slow = abs(step) > 0.5 * before  # two far ends can send the steps from one to the other and back
        t = 0.5 * (low + high) if slow or not low <= t + step <= high else t + step
        before = abs(step)
    return z


@compiled
def best_pair_entropy(ai, aj, Ui, Uj, si, sj, g, q):
    """Newton on h(δ) = sᵢ d_i′ − sⱼ d_j′ − g − q δ, which falls from +∞ or h(0) to −∞; kept inside its bracket."""
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


@compiled
def dual_value_quadratic(D, a):
    """α − ½ D α², and 0 at 0 whatever D is."""
    return a * (1.0 - 0.5 * D * a) if a > 0.0 else 0.0


@compiled
def dual_value_entropy(U, a):
    """−s log(s/U) − (U−s) log(1 − s/U), s the smaller of α and U − α, so that nothing cancels; 0 at 0."""
    s = min(a, U - a)
    return -s * log(s / U) - (U - s) * log1p(-s / U) if s > 0.0 else 0.0


@compiled
def best_response_quadratic(U, D, m):
    """(1 − m)/D, cut off at the ends of the box; without a diagonal, its upper end."""
    return 0.0 if m >= 1.0 else min((1.0 - m) / D, U)


@compiled
def response_quadratic(U, D, m):
    """½ max(0, 1 − m)²/D and its derivatives; without a diagonal, a straight line."""
    short = 1.0 - m
    if short <= 0.0:
        return 0.0, 0.0, 0.0
    if D > 0.0:
        return 0.5 * short * short / D, short / D, 1.0 / D
    return U * short, U, 0.0


@compiled
def response_entropy(U, m):
    """U log(1 + e^−m) and its derivatives, without overflow."""
    small = exp(-abs(m))
    part = 1.0 / (1.0 + small)
    return U * (max(-m, 0.0) + log1p(small)), U * part * (small if m >= 0.0 else 1.0), U * small * part * part


@compiled
def softened_quadratic(U, D, m, a, epsilon):
    """(1 − m + ε α)/(D + ε), cut off at the ends of the box, where it does not change."""
    bend = D + epsilon
    q = (1.0 - m + epsilon * a) / bend
    if q <= 0.0:
        return 0.0, 0.0
    return (q, 1.0 / bend) if q < U else (U, 0.0)


@compiled
def fenchel_young_gap_quadratic(U, D, a, m):
    """½ max(0, 1 − m)²/D − α (1 − m) + ½ D α², or the same without a diagonal."""
    short = 1.0 - m
    if D > 0.0:
        return 0.5 * max(short, 0.0) ** 2 / D - a * short + 0.5 * D * a * a
    return (U - a) * short if short > 0.0 else -a * short


@compiled
def fenchel_young_gap_entropy(U, a, m):
    """The same for the entropy, from what the other verbs compute too: the log odds of α, and e^−|m|."""
    rest = max(U - a, CLOSE_TO_THE_END * U) / U
    return U * (log(rest * (1.0 + exp(-abs(m)))) + max(-m, 0.0)) + a * (m - log_odds(a, U))


@compiled
def distance_from_bound_quadratic(U, D, a, m):
    """At an end of the box, by how much the gradient holds α there."""
    G = m - 1.0 + D * a
    if a == 0.0:
        return G
    return -G if a == U else -1.0


@compiled
def distance_from_bound_entropy(U, a, m):
    """The ends of the box are never reached: margins beyond ±2 are as good as there, if α is what they ask for."""
    return abs(m) - 2.0 - abs(m - log_odds(a, U))


@compiled
def best_quadratic(U, D, a, g, q):
    """The peak of a parabola, cut off at the ends of the box."""
    G, Q = g - 1.0 + D * a, q + D
    if Q > 0.0:
        return min(max(a - G / Q, 0.0), U)
    return 0.0 if G > 0.0 else U


@compiled
def best_pair_quadratic(Ui, Uj, Di, Dj, ai, aj, si, sj, g, q):
    """The peak of a parabola, cut off where one of the two leaves its box."""
    h = si * (1.0 - Di * ai) - sj * (1.0 - Dj * aj) - g
    most = min(room(si, ai, Ui), room(-sj, aj, Uj))
    return min(max(h / (q + Di + Dj), 0.0), most) if h > 0.0 else 0.0


@inlined(dual_value)
def _dual_value(term, i, alpha):
    if holds(term, Quadratic):
        return lambda term, i, alpha: dual_value_quadratic(term.D[i], alpha)
    return lambda term, i, alpha: dual_value_entropy(term.U[i], alpha)


@inlined(slope)
def _slope(term, i, alpha):
    if holds(term, Quadratic):
        return lambda term, i, alpha: 1.0 - term.D[i] * alpha
    return lambda term, i, alpha: log_odds(alpha, term.U[i])


@inlined(best_response)
def _best_response(term, i, m):
    if holds(term, Quadratic):
        return lambda term, i, m: best_response_quadratic(term.U[i], term.D[i], m)
    return lambda term, i, m: term.U[i] / (1.0 + exp(m))


@inlined(response)
def _response(term, i, m):
    if holds(term, Quadratic):
        return lambda term, i, m: response_quadratic(term.U[i], term.D[i], m)
    return lambda term, i, m: response_entropy(term.U[i], m)


@inlined(softened)
def _softened(term, i, m, alpha, epsilon):
    if holds(term, Quadratic):
        return lambda term, i, m, alpha, epsilon: softened_quadratic(term.U[i], term.D[i], m, alpha, epsilon)
    return lambda term, i, m, alpha, epsilon: response_entropy(term.U[i], m)[1:]


@inlined(fenchel_young_gap)
def _fenchel_young_gap(term, i, alpha, m):
    if holds(term, Quadratic):
        return lambda term, i, alpha, m: fenchel_young_gap_quadratic(term.U[i], term.D[i], alpha, m)
    return lambda term, i, alpha, m: fenchel_young_gap_entropy(term.U[i], alpha, m)


@inlined(distance_from_bound)
def _distance_from_bound(term, i, alpha, m):
    if holds(term, Quadratic):
        return lambda term, i, alpha, m: distance_from_bound_quadratic(term.U[i], term.D[i], alpha, m)
    return lambda term, i, alpha, m: distance_from_bound_entropy(term.U[i], alpha, m)


@inlined(best)
def _best(term, i, alpha, g, q):
    if holds(term, Quadratic):
        return lambda term, i, alpha, g, q: best_quadratic(term.U[i], term.D[i], alpha, g, q)
    return lambda term, i, alpha, g, q: best_entropy(alpha, term.U[i], g, q)


@inlined(best_pair)
def _best_pair(term, i, j, ai, aj, si, sj, g, q):
    if holds(term, Quadratic):
        return lambda term, i, j, ai, aj, si, sj, g, q: best_pair_quadratic(
            term.U[i], term.U[j], term.D[i], term.D[j], ai, aj, si, sj, g, q
        )
    return lambda term, i, j, ai, aj, si, sj, g, q: best_pair_entropy(ai, aj, term.U[i], term.U[j], si, sj, g, q)


@compiled
def sum_of_dual_values(term, alpha):
    """Σ d_i(α_i)."""
    total = 0.0
    for i in range(alpha.size):
        total += dual_value(term, i, alpha[i])
    return total
