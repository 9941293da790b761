"""Primal and dual objectives in exact arithmetic (see ALGORITHMS and kernel_problem for the formulas).

Everything that is made of sums and products is exact. Logarithms and exponentials have 80 digits, and entries of a
Gaussian kernel are rounded to a multiple of 2^-400: both are far finer than any claim that is checked with them.

The problem is stated by its float64 numbers. C_i is the float64 product of C and a weight, and ν Σ s its float64 value:
what a user's decimal number becomes on the way there is not rounding of the training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from fuzz.dyadic import Dyadic, dyadic, nearly_balanced, scaled, with_sum
from fuzz.problems import KernelCase, LinearCase

DIGITS = Context(prec=80, Emin=-999_999, Emax=999_999, traps=[])
SERIES = Decimal("1e-30")  # log(1 + e) = e − e²/2 + e³/3 to 80 digits below that
GAUSSIAN_BITS = 400
QUOTIENT_BITS = 300
HALF = Fraction(1, 2)
Value = Fraction | float  # a float where it is infinite


def linear_scores(case: LinearCase, w: np.ndarray, b: float, centre: np.ndarray | None) -> Dyadic:
    """⟨w, x − centre⟩ + b of every row."""
    rows = case.exact_rows if centre is None else case.exact_rows - dyadic(centre)
    return rows @ dyadic(w) + dyadic(b)


def linear_norm(case: LinearCase, w: np.ndarray, b: float, centre: np.ndarray | None) -> Fraction:
    """½‖w‖² + b²/(2B²)."""
    if case.kind == "unregularised_logistic":
        return Fraction(0)
    exact = dyadic(w)
    half = HALF * (exact @ exact).fraction()
    if case.bias != "regularised":
        return half
    intercept = Fraction(b) - ((exact @ dyadic(centre)).fraction() if centre is not None else 0)
    return half + HALF * intercept**2 / Fraction(case.bias_scale) ** 2


def linear_primal(
    case: LinearCase, w: np.ndarray, b: float, centre: np.ndarray | None = None, scores: np.ndarray | None = None
) -> Value:
    """P(w, b); with given scores, of a model that decides by those."""
    f = linear_scores(case, w, b, centre) if scores is None else dyadic(scores)
    return linear_norm(case, w, b, centre) + losses(case, dyadic(case.y) * f)


def losses(case: LinearCase, margins: Dyadic) -> Value:
    """Σ C_i ℓ(m_i)."""
    C = case.exact_C
    short = (dyadic(np.ones(len(case.y))) - margins).positive_part()
    if case.kind == "hinge":
        return (C @ short).fraction()
    if case.kind == "squared_hinge":
        return (C @ (short * short)).fraction()
    if case.kind == "hard_margin":
        return math.inf if np.any((short.ints > 0) & (C.ints > 0)) else Fraction(0)
    pairs = zip(C.fractions(), margins.fractions(), strict=True)
    return sum((c * Fraction(logistic_loss(decimal(m))) for c, m in pairs if c > 0), Fraction(0))


def logistic_loss(m: Decimal) -> Decimal:
    """log(1 + e^−m), to 80 digits whatever its size."""
    small = DIGITS.exp(-abs(m))
    if small < SERIES:
        square = DIGITS.multiply(small, small)
        cube = DIGITS.multiply(square, small)
        rest = DIGITS.add(DIGITS.subtract(small, DIGITS.divide(square, Decimal(2))), DIGITS.divide(cube, Decimal(3)))
    else:
        rest = DIGITS.ln(DIGITS.add(Decimal(1), small))
    return DIGITS.add(max(-m, Decimal(0)), rest)


def decimal(value: Fraction) -> Decimal:
    """A fraction to 80 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def linear_dual(case: LinearCase, alpha: np.ndarray) -> Value:
    """D of α made exactly feasible: a true lower bound of the optimum.

    Feasible is in its box, for a free bias Σ α_i y_i = 0, and without regularisation w(α) = 0.
    """
    if not np.all(np.isfinite(alpha)):
        return -math.inf
    if case.kind == "unregularised_logistic":
        return unregularised_dual(case, alpha)
    return max((dual_of(case, signed) for signed in feasible(case, alpha)), default=-math.inf)


def dual_of(case: LinearCase, signed: Dyadic) -> Value:
    """D of α_i y_i, which are feasible."""
    w = case.exact_rows.T @ signed
    norm = (w @ w).fraction()
    if case.bias == "regularised":
        norm += (Fraction(case.bias_scale) * signed.sum().fraction()) ** 2
    return dual_terms(case, abs(signed)) - HALF * norm


def feasible(case: LinearCase, alpha: np.ndarray) -> Iterator[Dyadic]:
    """α_i y_i, exactly feasible; for a free bias by moving single values, and by making the heavier class smaller.

    The first hardly changes the others, the second no value by much: a row of 1e15 makes that matter.
    """
    C = case.float_C
    most = np.max(np.abs(alpha), initial=0.0)
    upper = np.where(C > 0, most, 0.0) if case.kind in ("squared_hinge", "hard_margin") else C
    signed = np.clip(alpha, 0.0, upper) * case.y
    if case.effective_bias != "free":
        yield dyadic(signed)
        return
    lo, hi = np.where(case.y > 0, 0.0, -upper), np.where(case.y > 0, upper, 0.0)
    for start in (dyadic(signed), nearly_balanced(dyadic(signed))):
        found = with_sum(start, dyadic(lo), dyadic(hi), dyadic(0.0))
        if found is not None:
            yield found


def unregularised_dual(case: LinearCase, alpha: np.ndarray) -> Fraction:
    """Σ d_i at α − SAᵀλ, where A α = 0 says that α is balanced, and S is 0 at the ends of the box.

    Where that leaves the box the bound is 0, the least of all losses.
    """
    C = [Fraction(c) for c in case.float_C]
    a = [Fraction(value) for value in np.clip(alpha, 0.0, case.float_C)]
    columns = case.X * case.y[:, None]
    if case.effective_bias == "free":
        columns = np.column_stack([columns, case.y])
    A = [[Fraction(value) for value in column] for column in columns.T]
    S = [value * (c - value) for value, c in zip(a, C, strict=True)]
    normal = [[sum(x * s * z for x, s, z in zip(one, S, other, strict=True)) for other in A] for one in A]
    multipliers = solved(normal, [sum(x * value for x, value in zip(row, a, strict=True)) for row in A])
    if multipliers is None:
        return Fraction(0)
    moved = [
        value - s * sum(row[i] * m for row, m in zip(A, multipliers, strict=True))
        for i, (value, s) in enumerate(zip(a, S, strict=True))
    ]
    if not all(0 <= value <= c for value, c in zip(moved, C, strict=True)):
        return Fraction(0)
    pairs = zip(moved, C, strict=True)
    return sum((surprise(value, c) + surprise(c - value, c) for value, c in pairs if c > 0), Fraction(0))


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """A solution of a symmetric, perhaps singular system; None if there is none."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    pivots: list[tuple[int, int]] = []
    for column in range(n):
        top = len(pivots)
        found = next((k for k in range(top, n) if rows[k][column] != 0), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        for k in range(n):
            if k != top and rows[k][column] != 0:
                factor = rows[k][column] / rows[top][column]
                rows[k] = [x - factor * z for x, z in zip(rows[k], rows[top], strict=True)]
        pivots.append((top, column))
    if any(rows[k][n] != 0 for k in range(len(pivots), n)):
        return None
    answer = [Fraction(0)] * n
    for row, column in pivots:
        answer[column] = rows[row][n] / rows[row][column]
    return answer


def dual_terms(case: LinearCase, alpha: Dyadic) -> Fraction:
    """Σ d_i(α_i)."""
    total = alpha.sum().fraction()
    if case.kind == "squared_hinge":
        return total - sum_of_quotients(alpha * alpha, case.exact_C) / 4
    if case.kind == "logistic":
        pairs = zip(alpha.fractions(), case.exact_C.fractions(), strict=True)
        return sum((surprise(a, c) + surprise(c - a, c) for a, c in pairs if c > 0), Fraction(0))
    return total


def sum_of_quotients(above: Dyadic, below: Dyadic) -> Fraction:
    """Σ a_i/c_i, each rounded up at its 300th bit: a lower bound of the dual remains one."""
    some = [k for k in range(len(above)) if above.ints[k]]
    ints = [-((-int(above.ints[k]) << QUOTIENT_BITS) // int(below.ints[k])) for k in some]
    return scaled(sum(ints), above.exponent - below.exponent - QUOTIENT_BITS)


def surprise(part: Fraction, whole: Fraction) -> Fraction:
    """The part times log(whole/part); near the whole by the series, for 80 digits of something small."""
    if part <= 0:
        return Fraction(0)
    missing = 1 - part / whole
    if missing < Fraction(SERIES):
        return part * (missing + missing**2 / 2 + missing**3 / 3)
    return part * -Fraction(DIGITS.ln(decimal(part / whole)))


def kernel_matrix(case: KernelCase, centre: np.ndarray | None = None) -> Dyadic:
    """K of all rows."""
    if case.kernel == "precomputed":
        return dyadic(case.X)
    rows = case.exact_rows if centre is None else case.exact_rows - dyadic(centre)
    products = rows @ rows.T
    if case.kernel == "linear":
        return products
    if case.kernel == "gaussian":
        return gaussian(products, Fraction(case.gamma))
    base = dyadic(case.gamma) * products + dyadic(case.coef0)
    power = base
    for _ in range(case.degree - 1):
        power = power * base
    return power


def gaussian(products: Dyadic, gamma: Fraction) -> Dyadic:
    """exp(−γ‖x − z‖²), rounded to a multiple of 2^-400."""
    squares = np.diagonal(products.ints)
    distances = squares[:, None] - 2 * products.ints + squares[None, :]
    n, unit, one = len(squares), Decimal(1 << GAUSSIAN_BITS), 1 << GAUSSIAN_BITS
    factor, wide = decimal(gamma * scaled(1, products.exponent)), Context(prec=130, Emin=-999_999, traps=[])
    ints = np.full((n, n), one, dtype=object)
    for i in range(n):
        for j in range(i):
            power = wide.exp(-wide.multiply(factor, Decimal(int(distances[i, j]))))
            ints[i, j] = ints[j, i] = int(wide.multiply(power, unit))
    return Dyadic(ints, -GAUSSIAN_BITS)


def kernel_primal(
    case: KernelCase,
    coefficients: np.ndarray,
    b: float,
    width: float,
    scores: np.ndarray | None = None,
    centre: np.ndarray | None = None,
) -> Value:
    """P of the model Σ c_j K(x_j, ·) + b, with ε of ν-SVR as its width; of ν-SVC at its best length and ρ."""
    same = centre is None or case.kernel in ("gaussian", "precomputed")  # a Gaussian sees differences only
    c, K = dyadic(coefficients), case.exact_kernel if same else kernel_matrix(case, centre)
    image = K @ c
    square = (c @ image).fraction()
    g = image + dyadic(b) if scores is None else dyadic(scores)
    s = dyadic(case.strengths)
    if case.formulation == "C-SVC":
        return HALF * square + (s @ (dyadic(np.ones(len(g))) - dyadic(case.y) * g).positive_part()).fraction()
    if case.formulation == "one-class":
        rho = dyadic(-b)
        outside = (s @ (rho - image).positive_part()).fraction()
        return HALF * square + outside - Fraction(-b) * Fraction(case.total)
    if case.formulation == "nu-SVC":
        return best_nu_primal(case, square, dyadic(case.y) * g)
    epsilon = dyadic(case.epsilon if case.formulation == "epsilon-SVR" else width)
    residual = dyadic(case.y) - g
    tube = (residual - epsilon).positive_part() + (-residual - epsilon).positive_part()
    value = HALF * square + (s @ tube).fraction()
    return value if case.formulation == "epsilon-SVR" else value + Fraction(width) * Fraction(case.total)


def best_nu_primal(case: KernelCase, square: Fraction, margins: Dyadic) -> Fraction:
    """Min over t ≥ 0 and r of ½ t²‖w‖² + t (Σ s_i (r − m_i)₊ − r ν Σ s): models of ν-SVC are divided by their ρ."""
    m, s, total = margins.fractions(), dyadic(case.strengths).fractions(), Fraction(case.total)
    passed, lost, least = Fraction(0), Fraction(0), None
    order = sorted(range(len(m)), key=lambda k: m[k])
    for before, k in zip([order[0], *order], order, strict=False):
        lost += passed * (m[k] - m[before])
        value = lost - m[k] * total
        least = value if least is None or value < least else least
        passed += s[k]
    assert least is not None
    return -HALF * least**2 / square if least < 0 and square > 0 else Fraction(0)


def kernel_dual(case: KernelCase, coefficients: np.ndarray) -> Value:
    """D of signed dual variables, one a row, made exactly feasible."""
    if not np.all(np.isfinite(coefficients)):
        return -math.inf
    c = feasible_coefficients(case, coefficients)
    if c is None:
        return -math.inf
    square = (c @ (case.exact_kernel @ c)).fraction()
    return linear_part(case, c) - HALF * square


def linear_part(case: KernelCase, c: Dyadic) -> Fraction:
    """What the dual gains before the square is taken off."""
    if case.formulation == "C-SVC":
        return abs(c).sum().fraction()
    if case.formulation in ("one-class", "nu-SVC"):
        return Fraction(0)
    gain = (dyadic(case.y) @ c).fraction()
    return gain - (Fraction(case.epsilon) * abs(c).sum().fraction() if case.formulation == "epsilon-SVR" else 0)


def feasible_coefficients(case: KernelCase, coefficients: np.ndarray) -> Dyadic | None:
    """The signed dual variables, in their box and with their sums."""
    s, y, nothing = case.strengths, case.y, np.zeros(len(case.y))
    if case.formulation == "C-SVC":
        lo, hi = np.where(y > 0, 0.0, -s), np.where(y > 0, s, 0.0)
        if case.bias == "none":
            return dyadic(np.clip(coefficients, lo, hi))
        return with_sum(dyadic(coefficients), dyadic(lo), dyadic(hi), dyadic(0.0))
    if case.formulation == "epsilon-SVR":
        return with_sum(dyadic(coefficients), dyadic(-s), dyadic(s), dyadic(0.0))
    if case.formulation == "one-class":
        return with_sum(dyadic(coefficients), dyadic(nothing), dyadic(s), dyadic(case.total))
    if case.formulation == "nu-SVC":
        return two_halves(case, [np.where(y == sign, np.abs(coefficients), 0.0) for sign in (1, -1)], y)
    both = [np.clip(coefficients, 0.0, s), np.clip(-coefficients, 0.0, s)]
    sums = [dyadic(part).sum() for part in both] + [dyadic(0.5 * case.total)]
    least = min(sums, key=Dyadic.fraction)
    above, below = (with_sum(dyadic(part), dyadic(nothing), dyadic(s), least) for part in both)
    return None if above is None or below is None else above - below


def two_halves(case: KernelCase, parts: list[np.ndarray], y: np.ndarray) -> Dyadic | None:
    """Of ν-SVC, each class scaled and moved to half of the total."""
    half, found = 0.5 * case.total, []
    for part, sign in zip(parts, (1, -1), strict=True):
        upper, total = np.where(y == sign, case.strengths, 0.0), float(np.sum(part))
        values = part * (half / total) if total > 0 else part
        moved = with_sum(dyadic(values), dyadic(np.zeros(len(y))), dyadic(upper), dyadic(half))
        if moved is None:
            return None
        found.append(moved)
    return found[0] - found[1]
