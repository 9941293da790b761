"""The quadratic dual term: every answer in closed form.

    d_i(α) = α − ½ D_i α²,   0 ≤ α ≤ U_i

    hinge           U = C, D = 0               squared hinge   U = ∞, D = 1/(2C)
    hard margin     U as good as ∞, D = 0      smoothed hinge  U = C, D = γ/C (see docs/extending.md)

Its loss is  C_i ℓ(m) = max_α d_i(α) − α m:  0 from margin 1 on, then ½ (1−m)²/D, then a straight line of slope −U.
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
    """α − ½ D α², and 0 at 0 whatever D is."""
    return a * (1.0 - 0.5 * D * a) if a > 0.0 else 0.0


@compiled
def best_response_quadratic(U, D, m):
    """(1 − m)/D, cut off at the ends of the box; without a diagonal, its upper end."""
    return 0.0 if m >= 1.0 else min((1.0 - m) / D, U)


@compiled
def response_quadratic(U, D, m):
    """½ (1 − m)²/D and its derivatives below margin 1, and a straight line of slope −U from 1 − m = D U on."""
    short = 1.0 - m
    if short <= 0.0:
        return 0.0, 0.0, 0.0
    if short > D * U:
        return U * (short - 0.5 * D * U), U, 0.0
    return 0.5 * short * short / D, short / D, 1.0 / D


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
    """½ max(0, 1 − m)²/D − α (1 − m) + ½ D α², or the same where the loss is a straight line."""
    short = 1.0 - m
    if short > D * U:
        return (U - a) * (short - 0.5 * D * (U + a))
    return 0.5 * max(short, 0.0) ** 2 / D - a * short + 0.5 * D * a * a if D > 0.0 else -a * short


@compiled
def distance_from_bound_quadratic(U, D, a, m):
    """At an end of the box, by how much the gradient holds α there."""
    G = m - 1.0 + D * a
    if a == 0.0:
        return G
    return -G if a == U else -1.0


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
