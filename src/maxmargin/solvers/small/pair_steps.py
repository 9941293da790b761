"""The compiled steps of `small_smo`: pair steps on a whole kernel matrix, and Newton steps on the free variables.

Maximises  D(β) = −½ βᵀKβ − qᵀβ,  lo ≤ β ≤ hi,  Σ β constant in each group;  F = −Kβ − q is the gradient.
Without groups one variable moves at a time.
"""

from __future__ import annotations

from maxmargin.solvers.small.factors import factorise, solve_factored
from maxmargin.system.compiled import compiled_search, compiled_sums, kernel
from maxmargin.system.extremes import larger, smaller

INFINITE = 1e300  # Larger than every F; finite, because searches are compiled with the assumption of finite numbers.
CONJUGATE_STEPS = 20  # After so many steps the next direction is a pair again, so that directions stay sparse.
LEAST_CONJUGATE = 1e-3  # Curvature of a conjugate direction, relative to its pair: with less, only the pair moves.
LEAST_CURVATURE = 1e-12  # Smallest curvature of a pair, relative to |K_ii + K_jj|: less is rounding error.
UNDERFLOW = 1e-300  # Added to denominators to prevent a division by zero.
LOWERED = 0.3  # A round of pair steps lowers the largest violation to this fraction.
LEAST_PAIR_STEPS = 50  # Pair steps between two Newton steps, at least.
PAIR_SHARE = 2  # Pair steps between Newton steps take about this many times their time.
NEWTON_STEPS = 10  # Most Newton steps of a round: each but the last moves a variable to its bound.
WHOLE_STEPS = 2  # Newton steps of a round that meet no bound: the second one corrects the effect of RIDGE.
MOST_FREE = 300  # Most free variables of a Newton step, whose time grows with their cube.
EXACT = 1e-14  # Violation relative to F at which the solution is exact up to rounding.
EXACT_ROUNDS = 50  # Most rounds after the gap is reached, if there are few free variables; else there is one.
FEW_FREE = 64  # Free variables of a round that takes some tens of microseconds.
RIDGE = 1e-9  # Added to the diagonal of K_FF, relative to its mean, because K_FF may be singular.
RIDGE_OF_TWO = 1e-4  # The same with two groups, where both variables of a row may be free and K_FF is singular.
LEAST_DETERMINANT = 1e-13  # Of the equations for the biases of two groups, relative: less is rounding error.


@compiled_search
def maximise(K, beta, lo, hi, q, F, group, groups, scale, target, exact, most, diagonal, gain, rise, fall, Kd, support,
             direction, free, H, right):  # fmt: skip
    """Move β until the relative gap is at most `target`, in at most `most` steps. Return the gap and the steps.

    A pair step moves along d = e_i − e_j − c d′, where d′ is the last direction and c makes dᵀKd′ = 0. If a variable
    meets its bound, the next direction is a pair again. With `exact`, further rounds make the solution exact after the
    gap is reached. The arrays from `diagonal` on are work space: for the diagonal of K, the gains of partners, the
    marks of variables that can grow and decrease, Kd, the support of d and its values, and for `newton_step`.
    """
    n = beta.size
    for k in range(n):
        diagonal[k] = K[k, k]
    steps, rounds, until, size = 0, 0, n, 0
    while True:
        violation, gap, dual, reach = 0.0, 0.0, 0.0, 0.0
        for g in range(groups):
            top, bottom = -INFINITE, INFINITE
            for k in range(n):
                rise[g, k] = 0.0 if group[k] == g and beta[k] < hi[k] else -INFINITE
                fall[g, k] = 0.0 if group[k] == g and beta[k] > lo[k] else INFINITE
                top, bottom = larger(top, F[k] + rise[g, k]), smaller(bottom, F[k] + fall[g, k])
                reach = larger(reach, abs(F[k]))
            violation = max(violation, top - bottom)
            b = bottom if top <= -INFINITE else (top if bottom >= INFINITE else 0.5 * (top + bottom))
            for k in range(n):
                if group[k] == g:
                    gap += (hi[k] - beta[k]) * (F[k] - b) if F[k] > b else (lo[k] - beta[k]) * (F[k] - b)
                    dual += 0.5 * beta[k] * (F[k] - q[k])
        gap /= max(abs(dual + gap), scale, UNDERFLOW)
        rounds += gap <= target
        done = gap <= target and (not exact or rounds > (EXACT_ROUNDS if size <= FEW_FREE else 1) or size == free.size)
        if done or steps >= most or violation <= EXACT * reach:
            return gap, steps
        until = steps + LEAST_PAIR_STEPS if gap <= target else until
        limit, enough, held, inverse = min(most, until), LOWERED * violation, 0, 0.0
        while steps < limit:
            g, highest, lowest = 0, -INFINITE, INFINITE
            for other in range(groups):
                top, bottom = -INFINITE, INFINITE
                for k in range(n):
                    top, bottom = larger(top, F[k] + rise[other, k]), smaller(bottom, F[k] + fall[other, k])
                if other == 0 or top - bottom > highest - lowest:
                    g, highest, lowest = other, top, bottom
            if highest - lowest <= enough or highest <= -INFINITE or lowest >= INFINITE:
                break
            steps += 1
            i, j, largest = 0, 0, 0.0
            while F[i] + rise[g, i] != highest:
                i += 1
            for k in range(n):
                d, slope = larger(highest - (F[k] + fall[g, k]), 0.0), Kd[i] - Kd[k]
                both = diagonal[i] + diagonal[k]
                bend = both - 2.0 * K[i, k] - slope * slope * inverse
                gain[k] = d * d / larger(bend, LEAST_CURVATURE * abs(both) + UNDERFLOW)
                largest = larger(largest, gain[k])
            if largest == 0.0:  # by underflow
                break
            while gain[j] != largest:
                j += 1
            both, slope = diagonal[i] + diagonal[j], Kd[i] - Kd[j]
            plain = max(both - 2.0 * K[i, j], LEAST_CURVATURE * abs(both) + UNDERFLOW)
            ratio, bend = -slope * inverse, plain - slope * slope * inverse
            if held + 2 > support.size or bend < LEAST_CONJUGATE * plain:
                held, ratio, bend = 0, 0.0, plain
            for a in range(held):
                direction[a] *= ratio
            held = add_to(support, direction, held, i, 1.0)
            held = add_to(support, direction, held, j, -1.0)
            step, blocked = (F[i] - F[j]) / bend, -1
            for a in range(held):
                k, length = support[a], abs(direction[a])
                space = hi[k] - beta[k] if direction[a] > 0.0 else beta[k] - lo[k]
                if length * step > space:
                    step, blocked = space / length, a
            for a in range(held):
                k = support[a]
                beta[k] = min(max(beta[k] + step * direction[a], lo[k]), hi[k])
                if a == blocked:
                    beta[k] = hi[k] if direction[a] > 0.0 else lo[k]
                rise[group[k], k] = 0.0 if beta[k] < hi[k] else -INFINITE
                fall[group[k], k] = 0.0 if beta[k] > lo[k] else INFINITE
            for k in range(n):
                change = ratio * Kd[k] + (K[i, k] - K[j, k])
                Kd[k] = change
                F[k] -= step * change
            held, inverse = (0, 0.0) if blocked >= 0 else (held, 1.0 / bend)
        if steps >= most or (gap > target and steps < until):
            continue
        count, whole, size = 0, 0, 0
        while count < NEWTON_STEPS and whole < WHOLE_STEPS * groups * groups:
            size = newton_step(K, beta, lo, hi, F, group, groups, free, H, right)
            count += 1
            whole += size >= 0
        size = max(size, 0)
        cost = size * size * size // (80 * n) + size // 3  # of a Newton step, in pair steps: measured
        until = steps + LEAST_PAIR_STEPS + PAIR_SHARE * count * cost
        steps += 1  # so that a run whose gap cannot be lowered ends


@kernel
def add_to(support, direction, held, variable, value):
    """Add `value` to the component of a variable in a sparse direction of `held` components; return their number."""
    for a in range(held):
        if support[a] == variable:
            direction[a] += value
            return held
    support[held], direction[held] = variable, value
    return held + 1


@compiled_search
def maximise_singly(K, beta, lo, hi, q, F, scale, target, most, group, free, H, right):
    """Like `maximise`, without groups: one variable moves at a time."""
    n = beta.size
    steps, rounds, between, size = 0, 0, n, 0
    while True:
        violation, gap, dual, reach = 0.0, 0.0, 0.0, 1.0
        for k in range(n):
            force = F[k] if (beta[k] < hi[k] if F[k] > 0.0 else beta[k] > lo[k]) else 0.0
            violation = max(violation, abs(force))
            gap += (hi[k] - beta[k]) * F[k] if F[k] > 0.0 else (lo[k] - beta[k]) * F[k]
            dual += 0.5 * beta[k] * (F[k] - q[k])
        gap /= max(abs(dual + gap), scale, UNDERFLOW)
        rounds += gap <= target
        done = gap <= target and (rounds > (EXACT_ROUNDS if size <= FEW_FREE else 1) or size == free.size)
        if done or steps >= most or violation <= EXACT * reach:
            return gap, steps
        between = LEAST_PAIR_STEPS if gap <= target else between
        limit, enough = min(most, steps + between), LOWERED * violation
        while steps < limit and violation > enough:
            largest, violation, i = 0.0, 0.0, 0
            for k in range(n):
                force = F[k] if (beta[k] < hi[k] if F[k] > 0.0 else beta[k] > lo[k]) else 0.0
                violation = max(violation, abs(force))
                if force * force > largest * (K[k, k] + UNDERFLOW):
                    largest, i = force * force / (K[k, k] + UNDERFLOW), k
            new = min(max(beta[i] + F[i] / (K[i, i] + UNDERFLOW), lo[i]), hi[i])
            step = new - beta[i]
            beta[i] = new
            steps += 1
            for k in range(n):
                F[k] -= step * K[i, k]
        count, whole, size = 0, 0, -1
        while count < NEWTON_STEPS and whole < WHOLE_STEPS:
            size = newton_step(K, beta, lo, hi, F, group, 0, free, H, right)
            count += 1
            whole += size >= 0
        size = max(size, 0)
        between = LEAST_PAIR_STEPS + PAIR_SHARE * count * (size * size * size // (6 * n) + size // 2)
        steps += 1  # so that a run whose gap cannot be lowered ends


@compiled_sums
def newton_step(K, beta, lo, hi, F, group, groups, free, H, right):
    """Move the free variables to their joint optimum, or up to the first bound.

    Return how many are free; −1 if a bound was met. With p = K_FF⁻¹ F and u_g = K_FF⁻¹ 1_g for each group, the step is
    p − Σ c_g u_g, with the c_g for which the sum of each group is kept.
    """
    size, trace = free.size - free.size, 0.0  # not the literal 0, for which Numba would compile twice
    for k in range(beta.size):
        if lo[k] < beta[k] < hi[k]:
            if size == free.size:
                return size
            free[size] = k
            size += 1
            trace += K[k, k]
    ridge = (RIDGE if groups < 2 else RIDGE_OF_TWO) * trace / max(size, 1) + UNDERFLOW
    for a in range(size):
        row = K[free[a]]
        for b in range(a + 1):
            H[a, b] = row[free[b]]
        H[a, a] += ridge
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
    sp, tp, su, tz = 0.0, 0.0, 0.0, 0.0  # what rounding leaves of the sums, and how many variables share it
    for a in range(size):
        if groups:
            p[a] -= c * u[a]
        if groups == 2:
            p[a] -= e * z[a]
        if group[free[a]] == 0:
            sp, su = sp + p[a], su + 1.0
        else:
            tp, tz = tp + p[a], tz + 1.0
    t, blocked, rise = 1.0, -1, 0.0
    for a in range(size):
        k = free[a]
        if groups:
            p[a] -= sp / su if group[k] == 0 else tp / tz
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
