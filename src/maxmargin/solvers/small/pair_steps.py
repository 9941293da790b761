"""The compiled steps of `small_smo`: pair steps on a whole kernel matrix, and Newton steps on the free variables.

Maximises  D(β) = −½ βᵀKβ − qᵀβ,  lo ≤ β ≤ hi,  Σ β constant in each group;  F = −Kβ − q is the gradient.
Without groups one variable moves at a time.
"""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.small.factors import factorise, solve_factored
from maxmargin.system.compiled import compiled, searching

INFINITE = 1e300  # Larger than every F; finite, because searches are compiled with the assumption of finite numbers.
LEAST_CURVATURE = 1e-12  # Smallest curvature of a pair, relative to K_ii + K_jj: less is rounding error.
UNDERFLOW = 1e-300  # Added to denominators to prevent a division by zero.
LOWERED = 0.3  # A round of pair steps lowers the largest violation to this fraction.
LEAST_PAIR_STEPS = 50  # Pair steps between two Newton steps, at least.
PAIR_SHARE = 2  # Pair steps between Newton steps take about this many times their time.
NEWTON_STEPS = 10  # Most Newton steps of a round: each but the last moves a variable to its bound.
MOST_FREE = 300  # Most free variables of a Newton step, whose time grows with their cube.
RIDGE = 1e-11  # Added to the diagonal of K_FF, relative to its mean, because K_FF may be singular.
LEAST_DETERMINANT = 1e-14  # Of the equations for the biases of two groups, relative: less is rounding error.


@compiled
def maximise(K, beta, lo, hi, q, F, group, groups, scale, target, most):
    """Move β until the relative gap is at most `target`, in at most `most` steps. Return the gap and the steps.

    After the gap is reached, Newton steps and a last round make the solution exact where they can.
    """
    n = beta.size
    diagonal, gain = np.empty(n), np.empty(n)
    rise, fall = np.empty((max(groups, 1), n)), np.empty((max(groups, 1), n))
    free, H, right = np.empty(n, np.intp), np.empty((MOST_FREE, MOST_FREE)), np.empty((3, MOST_FREE))
    for k in range(n):
        diagonal[k] = K[k, k]
    steps, reached, between = 0, False, n
    while True:
        violation, gap = mark(F, beta, lo, hi, q, group, groups, rise, fall, scale)
        if (gap <= target and reached) or steps >= most or violation <= 0.0:
            return gap, steps
        reached = gap <= target
        limit, enough = min(most, steps + between), LOWERED * violation
        while not reached and steps < limit and violation > enough:
            steps += 1
            if groups:
                violation = move_pair(K, diagonal, beta, lo, hi, F, groups, rise, fall, gain, enough)
            else:
                violation = move_one(K, diagonal, beta, lo, hi, F, enough)
        count, size = 0, -1
        while count < NEWTON_STEPS and size < 0:
            size = newton_step(K, beta, lo, hi, F, group, groups, free, H, right)
            count += 1
        size = max(size, 0)
        between = LEAST_PAIR_STEPS + PAIR_SHARE * count * (size * size * size // (6 * n) + size // 2)
        steps += reached  # so that a run whose gap cannot be lowered ends


@compiled
def mark(F, beta, lo, hi, q, group, groups, rise, fall, scale):
    """Mark the variables of each group that can grow or decrease. Return the largest violation and the relative gap.

    The gap is the one for b in the middle between the ends of F.
    """
    most, gap, dual = 0.0, 0.0, 0.0
    for g in range(max(groups, 1)):
        top, bottom = -INFINITE, INFINITE
        for k in range(beta.size):
            own = groups == 0 or group[k] == g
            rise[g, k] = 0.0 if own and beta[k] < hi[k] else -INFINITE
            fall[g, k] = 0.0 if own and beta[k] > lo[k] else INFINITE
            top, bottom = max(top, F[k] + rise[g, k]), min(bottom, F[k] + fall[g, k])
        b = 0.5 * (top + bottom) if groups and top > -INFINITE and bottom < INFINITE else 0.0
        if groups and top <= -INFINITE:
            b = bottom
        if groups and bottom >= INFINITE:
            b = top
        most = max(most, top - bottom) if groups else max(top, -bottom)
        for k in range(beta.size):
            if groups == 0 or group[k] == g:
                R = F[k] - b
                gap += (hi[k] - beta[k]) * R if R > 0.0 else (lo[k] - beta[k]) * R
                dual += 0.5 * beta[k] * (F[k] - q[k])
    measure = max(abs(dual + gap), scale)
    return most, gap / measure if measure > 0.0 else (0.0 if gap == 0.0 else np.inf)


@compiled
def move_pair(K, diagonal, beta, lo, hi, F, groups, rise, fall, gain, enough):
    """Move one pair and return the violation before; if that is at most `enough`, nothing moves."""
    g, highest, lowest = 0, -INFINITE, INFINITE
    for other in range(groups):
        top, bottom = extremes(F, rise[other], fall[other])
        if top - bottom > highest - lowest or other == 0:
            g, highest, lowest = other, top, bottom
    if highest - lowest <= enough or highest <= -INFINITE or lowest >= INFINITE:
        return 0.0
    i, j = 0, 0
    while F[i] + rise[g, i] != highest:
        i += 1
    most = gains(F, fall[g], K[i], diagonal, diagonal[i], highest, gain)
    while gain[j] != most:
        j += 1
    both = diagonal[i] + diagonal[j]
    bend = max(both - 2.0 * K[i, j], LEAST_CURVATURE * both + UNDERFLOW)
    step = min((F[i] - F[j]) / bend, hi[i] - beta[i], beta[j] - lo[j])
    beta[i] = hi[i] if step == hi[i] - beta[i] else beta[i] + step
    beta[j] = lo[j] if step == beta[j] - lo[j] else beta[j] - step
    fall[g, i], rise[g, j] = 0.0, 0.0
    rise[g, i] = 0.0 if beta[i] < hi[i] else -INFINITE
    fall[g, j] = 0.0 if beta[j] > lo[j] else INFINITE
    for k in range(beta.size):
        F[k] -= step * (K[i, k] - K[j, k])
    return highest - lowest


@searching
def extremes(F, rise, fall):
    """Return the largest F of variables that can grow, and the smallest F of variables that can decrease."""
    highest, lowest = -INFINITE, INFINITE
    for k in range(F.size):
        highest = max(highest, F[k] + rise[k])
        lowest = min(lowest, F[k] + fall[k])
    return highest, lowest


@searching
def gains(F, fall, row, diagonal, own, highest, out):
    """Write the gain of each partner that can decrease into `out`; return the largest gain."""
    most = 0.0
    for k in range(F.size):
        d = max(highest - (F[k] + fall[k]), 0.0)
        both = own + diagonal[k]
        gain = d * d / max(both - 2.0 * row[k], LEAST_CURVATURE * both + UNDERFLOW)
        out[k] = gain
        most = max(most, gain)
    return most


@compiled
def move_one(K, diagonal, beta, lo, hi, F, enough):
    """Move the variable with the largest gain and return the largest violation before."""
    best, violation, i = 0.0, 0.0, -1
    for k in range(beta.size):
        force = min(F[k], 0.0) if beta[k] >= hi[k] else (max(F[k], 0.0) if beta[k] <= lo[k] else F[k])
        gain = force * force / (diagonal[k] + UNDERFLOW)
        violation = max(violation, abs(force))
        if gain > best:
            best, i = gain, k
    if i < 0 or violation <= enough:
        return 0.0
    new = min(max(beta[i] + F[i] / (diagonal[i] + UNDERFLOW), lo[i]), hi[i])
    step = new - beta[i]
    beta[i] = new
    for k in range(beta.size):
        F[k] -= step * K[i, k]
    return violation


@compiled
def newton_step(K, beta, lo, hi, F, group, groups, free, H, right):
    """Move the free variables to their joint optimum, or up to the first bound. Return how many are free; −1 if a bound was met.

    With p = K_FF⁻¹ F and u_g = K_FF⁻¹ 1_g for each group, the step is p − Σ c_g u_g, with the c_g for which the sum of
    each group is kept.
    """
    size, trace = 0, 0.0
    for k in range(beta.size):
        if lo[k] < beta[k] < hi[k]:
            if size == MOST_FREE:
                return size
            free[size] = k
            size += 1
            trace += K[k, k]
    for a in range(size):
        row = K[free[a]]
        for b in range(a + 1):
            H[a, b] = row[free[b]]
        H[a, a] += RIDGE * trace / size + UNDERFLOW
        right[0, a] = F[free[a]]
        for g in range(groups):
            right[g + 1, a] = 1.0 if group[free[a]] == g else 0.0
    factorise(H, size)
    for g in range(groups + 1):
        solve_factored(H, size, right[g])
    p, u, z = right[0], right[1], right[2]
    sp, su, sz, tp, tu, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # sums of p, u, z over the first group and over the second
    for a in range(size):
        if groups and group[free[a]] == 0:
            sp, su = sp + p[a], su + u[a]
        if groups == 2:
            if group[free[a]] == 0:
                sz += z[a]
            else:
                tp, tu, tz = tp + p[a], tu + u[a], tz + z[a]
    c, e = sp / su if su > 0.0 else 0.0, 0.0
    if groups == 2 and tz > 0.0:
        c, e = 0.0, tp / tz
        if su > 0.0:
            determinant = su * tz - sz * tu
            if not determinant > LEAST_DETERMINANT * su * tz:
                return size
            c, e = (sp * tz - tp * sz) / determinant, (tp * su - sp * tu) / determinant
    t, blocked, rise = 1.0, -1, 0.0
    for a in range(size):
        k = free[a]
        if groups:
            p[a] -= c * u[a]
        if groups == 2:
            p[a] -= e * z[a]
        rise += F[k] * p[a]
        room = hi[k] - beta[k] if p[a] > 0.0 else beta[k] - lo[k]
        if abs(p[a]) * t > room:
            t, blocked = room / abs(p[a]), a
    if not rise > 0.0:
        return size
    for a in range(size):
        k, step = free[a], t * p[a]
        beta[k] = min(max(beta[k] + step, lo[k]), hi[k])
        if a == blocked:
            beta[k] = hi[k] if step > 0.0 else lo[k]
        for i in range(beta.size):
            F[i] -= step * K[k, i]
    return size if blocked < 0 else -1
