"""The compiled steps of an interior-point method for the hinge loss on dense rows.

Minimises  ½ Σ r_j v_j² + Σ C_i ξ_i  subject to  y_i ⟨a_i, v⟩ + ξ_i − s_i = 1,  ξ ≥ 0,  s ≥ 0;  α and C − α are the
multipliers of s and ξ. A step solves the linearised conditions  α s = μ,  (C − α) ξ = μ,  r v = Σ α_i y_i a_i,  with
the predictor and the corrector of Mehrotra.
"""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.small.factors import factorise, solve_factored
from maxmargin.system.compiled import compiled_sums, kernel

MOST_STEPS = 60
TO_BOUND = 0.995  # A step goes at most this fraction of the way to the nearest bound.


@compiled_sums
def minimise_hinge(A, y, C, r, start, target, v, alpha):
    """Move v and α from 0 to a relative gap of `target`, α from at most `start`. Return the number of steps."""
    n, p = A.shape
    s, xi, m, theta, c = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    ds, dxi, da = np.empty(n), np.empty(n), np.empty(n)
    g, step, H = np.empty(p), np.empty(p), np.empty((p, p))
    for i in range(n):
        alpha[i] = min(0.5 * C[i], start)
        m[i], s[i], xi[i] = 0.0, 1.0, 2.0
    for count in range(MOST_STEPS):
        for j in range(p):
            g[j] = -r[j] * v[j]
            for k in range(j):
                H[j, k] = 0.0
            H[j, j] = r[j]
        mu, off, size = 0.0, 0.0, 0.0
        for i in range(n):
            mu += alpha[i] * s[i] + (C[i] - alpha[i]) * xi[i]
            off += C[i] * abs(m[i] + xi[i] - s[i] - 1.0)
            size += C[i] * max(1.0 - m[i], 0.0)
            theta[i] = xi[i] / (C[i] - alpha[i]) + s[i] / alpha[i]
            for j in range(p):
                g[j] += y[i] * alpha[i] * A[i, j]
                scaled = A[i, j] / theta[i]
                for k in range(j + 1):
                    H[j, k] += scaled * A[i, k]
        for j in range(p):
            size += 0.5 * r[j] * v[j] * v[j]
            off += abs(g[j] * v[j])
        if mu + off <= target * size:
            return count
        factorise(H, p)
        for i in range(n):
            c[i] = m[i] - 1.0
        direction(A, y, H, g, theta, c, step, da)
        a = 1.0
        for i in range(n):
            ds[i] = -s[i] - s[i] * da[i] / alpha[i]
            dxi[i] = -xi[i] + xi[i] * da[i] / (C[i] - alpha[i])
            a = within(within(within(within(a, s[i], ds[i]), xi[i], dxi[i]), alpha[i], da[i]), C[i] - alpha[i], -da[i])
        after = 0.0
        for i in range(n):
            after += (alpha[i] + a * da[i]) * (s[i] + a * ds[i]) + (C[i] - alpha[i] - a * da[i]) * (xi[i] + a * dxi[i])
        centre = (after / mu) ** 3 * mu / (2 * n)
        for i in range(n):
            ds[i] = (centre - ds[i] * da[i]) / alpha[i]
            dxi[i] = (centre + dxi[i] * da[i]) / (C[i] - alpha[i])
            c[i] = m[i] - 1.0 + dxi[i] - ds[i]
        direction(A, y, H, g, theta, c, step, da)
        a = 1.0 / TO_BOUND
        for i in range(n):
            ds[i] += -s[i] - s[i] * da[i] / alpha[i]
            dxi[i] += -xi[i] + xi[i] * da[i] / (C[i] - alpha[i])
            a = within(within(within(within(a, s[i], ds[i]), xi[i], dxi[i]), alpha[i], da[i]), C[i] - alpha[i], -da[i])
        a *= TO_BOUND
        for j in range(p):
            v[j] += a * step[j]
        for i in range(n):
            alpha[i] += a * da[i]
            s[i] += a * ds[i]
            xi[i] += a * dxi[i]
            m[i] = 0.0
            for j in range(p):
                m[i] += y[i] * A[i, j] * v[j]
    return MOST_STEPS


@compiled_sums
def direction(A, y, L, g, theta, c, step, da):
    """Solve for the step of v and the step da of α, with the factor L of the matrix."""
    n, p = A.shape
    for j in range(p):
        step[j] = g[j]
    for i in range(n):
        scaled = y[i] * c[i] / theta[i]
        for j in range(p):
            step[j] -= scaled * A[i, j]
    solve_factored(L, p, step)
    for i in range(n):
        rise = 0.0
        for j in range(p):
            rise += A[i, j] * step[j]
        da[i] = -(y[i] * rise + c[i]) / theta[i]


@kernel
def within(a, x, dx):
    """Return the largest step up to `a` that keeps x positive."""
    return min(a, -x / dx) if dx < 0.0 else a
