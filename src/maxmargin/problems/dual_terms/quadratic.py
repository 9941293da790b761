"""The quadratic dual term, for which every function has a closed form.

    d_i(α) = α − ½ D_i α²,   0 ≤ α ≤ U_i

    hinge           U = C, D = 0               squared hinge   U = ∞, D = 1/(2C)
    hard margin     U = 1e100, D = 0           smoothed hinge  U = C, D = γ/C (see docs/extending.md)

The loss is  C_i ℓ(m) = max_α d_i(α) − α m:  0 for m ≥ 1, then ½ (1−m)²/D, and linear with slope −U for 1 − m ≥ D U.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.problems.dual_terms.verbs import register, room
from maxmargin.system.compiled import compiled


class Quadratic(NamedTuple):
    """d_i(α) = α − ½ D_i α² on [0, U_i]."""

    U: np.ndarray
    D: np.ndarray


@compiled
def dual_value_quadratic(D, a):
    """Return α − ½ D α²; 0 at α = 0 even if D = ∞."""
    return a * (1.0 - 0.5 * D * a) if a > 0.0 else 0.0


@compiled
def best_response_quadratic(U, D, m):
    """Return (1 − m)/D clipped to the box; for D = 0 and m < 1 that is U."""
    return 0.0 if m >= 1.0 else min((1.0 - m) / D, U)


@compiled
def response_quadratic(U, D, m):
    """Return the loss and its derivatives: ½ (1 − m)²/D below margin 1, linear with slope −U for 1 − m > D U."""
    short = 1.0 - m
    if short <= 0.0:
        return 0.0, 0.0, 0.0
    if short > D * U:
        return U * (short - 0.5 * D * U), U, 0.0
    return 0.5 * short * short / D, short / D, 1.0 / D


@compiled
def softened_quadratic(U, D, m, a, epsilon):
    """Return q = (1 − m + ε α)/(D + ε) clipped to the box, and −dq/dm, which is 0 where q is clipped."""
    bend = D + epsilon
    q = (1.0 - m + epsilon * a) / bend
    if q <= 0.0:
        return 0.0, 0.0
    return (q, 1.0 / bend) if q < U else (U, 0.0)


@compiled
def fenchel_young_gap_quadratic(U, D, a, m):
    """Return ½ max(0, 1 − m)²/D − α (1 − m) + ½ D α², or the gap of the linear part of the loss."""
    short = 1.0 - m
    if short > D * U:
        return (U - a) * (short - 0.5 * D * (U + a))
    return 0.5 * max(short, 0.0) ** 2 / D - a * short + 0.5 * D * a * a if D > 0.0 else -a * short


@compiled
def distance_from_bound_quadratic(U, D, a, m):
    """Return how far the gradient is from letting α leave its bound; −1 inside the box."""
    G = m - 1.0 + D * a
    if a == 0.0:
        return G
    return -G if a == U else -1.0


@compiled
def best_quadratic(U, D, a, g, q):
    """Return the maximum of the parabola, clipped to the box."""
    G, Q = g - 1.0 + D * a, q + D
    if Q > 0.0:
        return min(max(a - G / Q, 0.0), U)
    return 0.0 if G > 0.0 else U


@compiled
def best_pair_quadratic(Ui, Uj, Di, Dj, ai, aj, si, sj, g, q):
    """Return the maximum of the parabola, clipped so that both variables stay in their boxes."""
    h = si * (1.0 - Di * ai) - sj * (1.0 - Dj * aj) - g
    most = min(room(si, ai, Ui), room(-sj, aj, Uj))
    return min(max(h / (q + Di + Dj), 0.0), most) if h > 0.0 else 0.0


register(
    Quadratic,
    dual_value=lambda term, i, alpha: dual_value_quadratic(term.D[i], alpha),
    slope=lambda term, i, alpha: 1.0 - term.D[i] * alpha,
    best_response=lambda term, i, m: best_response_quadratic(term.U[i], term.D[i], m),
    response=lambda term, i, m: response_quadratic(term.U[i], term.D[i], m),
    softened=lambda term, i, m, alpha, epsilon: softened_quadratic(term.U[i], term.D[i], m, alpha, epsilon),
    fenchel_young_gap=lambda term, i, alpha, m: fenchel_young_gap_quadratic(term.U[i], term.D[i], alpha, m),
    distance_from_bound=lambda term, i, alpha, m: distance_from_bound_quadratic(term.U[i], term.D[i], alpha, m),
    best=lambda term, i, alpha, g, q: best_quadratic(term.U[i], term.D[i], alpha, g, q),
    best_pair=lambda term, i, j, ai, aj, si, sj, g, q: best_pair_quadratic(
        term.U[i], term.U[j], term.D[i], term.D[j], ai, aj, si, sj, g, q
    ),
)
