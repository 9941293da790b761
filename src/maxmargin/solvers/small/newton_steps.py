"""The compiled steps of `small_newton`: Newton's method on dense rows, from the start to the minimum.

    P(v) = ½ Σ r_j v_j² + Σ C_i ℓ(m_i),   m_i = y_i ⟨a_i, v⟩

The squared hinge and the logistic loss are known by number.
"""

from __future__ import annotations

from math import exp, log1p

from maxmargin.solvers.small.factors import factorise, margins, solve_factored, weighted_products
from maxmargin.system.compiled import compiled_sums, kernel

SQUARED_HINGE, LOGISTIC = 0, 1
ENOUGH = 1e-13  # Newton decrement relative to P: a further step would change P by less than its rounding error.
INFINITE = 1e300  # Longer than every step.
SEARCH_STEPS = 40  # Most steps of a line search.
FLAT = 0.1  # A line search ends where the slope has fallen to this fraction.


@compiled_sums
def minimise(A, y, C, r, loss, most, v, m, of_features, of_examples, B, H, places):
    """Move v to the minimum in at most `most` steps; m holds the margins of v. Return the steps, −1 for too many.

    The examples are the columns of A; those with a positive −ℓ′ are copied to B. The last arrays are work space.
    """
    p, n = A.shape
    g, step = of_features[0], of_features[1]
    dm, pull, bend, scaled = of_examples[0], of_examples[1], of_examples[2], of_examples[3]
    for count in range(most):
        value, size = 0.0, 0
        for i in range(n):
            own, force, curvature = loss_of(loss, m[i])
            value += C[i] * own
            if C[i] * force > 0.0:
                places[size], pull[size], bend[size] = i, y[i] * C[i] * force, C[i] * curvature
                size += 1
        for j in range(p):
            value += 0.5 * r[j] * v[j] * v[j]
            total = -r[j] * v[j]
            for q in range(size):
                B[j, q] = A[j, places[q]]
                total += pull[q] * B[j, q]
            g[j], step[j] = total, total
        weighted_products(B, bend, size, scaled, H)
        for j in range(p):
            H[j, j] += r[j]
        factorise(H, p)
        solve_factored(H, p, step)
        rise, linear, square = 0.0, 0.0, 0.0
        for j in range(p):
            rise += g[j] * step[j]
            linear += r[j] * v[j] * step[j]
            square += r[j] * step[j] * step[j]
        if not rise > ENOUGH * value:
            return count
        margins(A, y, step, dm)
        t = step_length(m, dm, C, loss, linear, square)
        for j in range(p):
            v[j] += t * step[j]
        margins(A, y, v, m)
    return -1


@compiled_sums
def step_length(m, dm, C, loss, linear, square):
    """Return a t at which the slope of P is small, by Newton's method inside a bracket, from t = 1.

    The slope of the norm is `linear` + t `square`.
    """
    start, low, high, t = 0.0, 0.0, INFINITE, 0.0
    for k in range(SEARCH_STEPS):
        slope, bend = linear + t * square, square
        for i in range(m.size):
            _, force, curvature = loss_of(loss, m[i] + t * dm[i])
            slope -= C[i] * force * dm[i]
            bend += C[i] * curvature * dm[i] * dm[i]
        if k == 0:
            start, t = slope, 1.0
            continue
        if abs(slope) <= FLAT * abs(start):
            break
        if slope < 0.0:
            low = t
        else:
            high = t
        t = t - slope / bend if bend > 0.0 else 2.0 * t
        if not low < t < high:
            t = 0.5 * (low + high) if high < INFINITE else 2.0 * low
    return t


@kernel
def loss_of(loss, m):
    """Return ℓ(m), −ℓ′(m) and ℓ″(m)."""
    if loss == SQUARED_HINGE:
        short = max(1.0 - m, 0.0)
        return short * short, 2.0 * short, 2.0 if short > 0.0 else 0.0
    small = exp(-abs(m))
    share = (small if m > 0.0 else 1.0) / (1.0 + small)
    return max(-m, 0.0) + log1p(small), share, share * (1.0 - share)
