"""The compiled steps of an interior-point method for the hinge loss on dense rows.

Minimises  ½ Σ r_j v_j² + Σ C_i ξ_i  subject to  y_i ⟨a_i, v⟩ + ξ_i − s_i = 1,  ξ ≥ 0,  s ≥ 0;  α and C − α are the
multipliers of s and ξ. A step solves the linearised conditions  α s = μ,  (C − α) ξ = μ,  r v = Σ α_i y_i a_i,  with
the predictor and the corrector of Mehrotra.
"""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.small.factors import factorise, margins, solve_factored, weighted_products
from maxmargin.system.compiled import compiled_search, summing

MOST_STEPS = 60
TO_BOUND = 0.995  # A step goes at most this fraction of the way to the nearest bound.


@compiled_search
def minimise_hinge(A, y, C, r, start, target, v, alpha):
    """Move v and α from 0 to a relative gap of `target`, α from at most `start`. Return the number of steps.

    The examples are the columns of A.
    """
    p, n = A.shape
    s, xi, m, slack, theta, c = np.ones(n), np.full(n, 2.0), np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    ds, dxi, da, scaled = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    g, step, H = np.empty(p), np.empty(p), np.empty((p, p))
    for i in range(n):
        alpha[i] = min(0.5 * C[i], start)
        slack[i] = C[i] - alpha[i]
    for count in range(MOST_STEPS):
        mu, off, size = 0.0, 0.0, 0.0
        for i in range(n):
            mu += alpha[i] * s[i] + slack[i] * xi[i]
            off += C[i] * abs(m[i] + xi[i] - s[i] - 1.0)
            size += C[i] * max(1.0 - m[i], 0.0)
            theta[i] = alpha[i] * slack[i] / (xi[i] * alpha[i] + s[i] * slack[i])
            c[i] = m[i] - 1.0
        for j in range(p):
            total = -r[j] * v[j]
            for i in range(n):
                total += y[i] * alpha[i] * A[j, i]
            g[j] = total
            size += 0.5 * r[j] * v[j] * v[j]
            off += abs(total * v[j])
        if mu + off <= target * size:
            return count
        weighted_products(A, theta, n, scaled, H)
        for j in range(p):
            H[j, j] += r[j]
        factorise(H, p)
        direction(A, y, H, g, theta, c, scaled, step, da)
        speed = 1.0
        for i in range(n):
            ds[i] = -s[i] - s[i] * da[i] / alpha[i]
            dxi[i] = -xi[i] + xi[i] * da[i] / slack[i]
            speed = max(speed, -ds[i] / s[i], -dxi[i] / xi[i], -da[i] / alpha[i], da[i] / slack[i])
        after, a = 0.0, 1.0 / speed
        for i in range(n):
            after += (alpha[i] + a * da[i]) * (s[i] + a * ds[i]) + (slack[i] - a * da[i]) * (xi[i] + a * dxi[i])
        centre = (after / mu) ** 3 * mu / (2 * n)
        for i in range(n):
            ds[i] = (centre - ds[i] * da[i]) / alpha[i]
            dxi[i] = (centre + dxi[i] * da[i]) / slack[i]
            c[i] = m[i] - 1.0 + dxi[i] - ds[i]
        direction(A, y, H, g, theta, c, scaled, step, da)
        speed = TO_BOUND
        for i in range(n):
            ds[i] += -s[i] - s[i] * da[i] / alpha[i]
            dxi[i] += -xi[i] + xi[i] * da[i] / slack[i]
            speed = max(speed, -ds[i] / s[i], -dxi[i] / xi[i], -da[i] / alpha[i], da[i] / slack[i])
        a = TO_BOUND / speed
        for j in range(p):
            v[j] += a * step[j]
        for i in range(n):
            alpha[i] += a * da[i]
            slack[i] -= a * da[i]
            s[i] += a * ds[i]
            xi[i] += a * dxi[i]
        margins(A, y, v, m)
    return MOST_STEPS


@summing
def direction(A, y, L, g, theta, c, scaled, step, da):
    """Solve for the step of v and the step da of α, with the factor L of the matrix."""
    for i in range(c.size):
        scaled[i] = y[i] * c[i] * theta[i]
    for j in range(g.size):
        total = g[j]
        for i in range(c.size):
            total -= scaled[i] * A[j, i]
        step[j] = total
    solve_factored(L, g.size, step)
    margins(A, y, step, da)
    for i in range(c.size):
        da[i] = -(da[i] + c[i]) * theta[i]
