"""Objectives of linear and kernel models in exact arithmetic: floats are fractions, and so are their sums and products.

Where a function is not rational (exp, log), `Decimal` with 60 digits stands in for the exact value.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

DIGITS = 60


def fractions(values):
    """The floats of an array, exactly."""
    return [Fraction(float(value)) for value in np.ravel(values)]


def dot(x, z):
    return sum((a * b for a, b in zip(x, z, strict=True)), Fraction(0))


def linear_scores(model, X):
    """⟨w, x − centre⟩ + b, exactly."""
    centre = fractions(np.zeros(model.d) if model.centre is None else model.centre)
    w, b = fractions(model.w[0]), Fraction(float(model.b[0]))
    return [dot(w, [a - c for a, c in zip(fractions(x), centre, strict=True)]) + b for x in X]


def loss_of(name, m):
    """ℓ(m), exactly, or to 60 digits."""
    short = max(Fraction(0), 1 - m)
    if name == "hinge":
        return short
    if name == "squared_hinge":
        return short * short
    with localcontext() as context:
        context.prec = DIGITS
        z = Decimal(m.numerator) / Decimal(m.denominator)
        if z < 0:
            return Fraction(-z + (1 + z.exp()).ln())
        return Fraction((1 + (-z).exp()).ln())


def linear_primal(model, X, y, C, loss, bias, scale=1.0, scores=None):
    """P(w, b) of a two-class model, exactly; of other scores than its own if given."""
    w, b = fractions(model.w[0]), Fraction(float(model.b[0]))
    scores = linear_scores(model, X) if scores is None else scores
    norm = dot(w, w) / 2 + (b * b / (2 * Fraction(scale) ** 2) if bias == "regularised" else 0)
    losses = (Fraction(float(c)) * loss_of(loss, int(s) * f) for c, s, f in zip(C, y, scores, strict=True))
    return norm + sum(losses, Fraction(0))


def linear_dual(alpha, X, y, C, loss, bias, scale=1.0):
    """D of an exactly feasible α: with a free bias the heavier class scaled down by a fraction."""
    a, s = fractions(alpha), [int(one) for one in y]
    if bias == "free":
        sums = {side: sum((v for v, t in zip(a, s, strict=True) if t == side), Fraction(0)) for side in (-1, 1)}
        heavy = max(sums, key=sums.get)
        factor = sums[-heavy] / sums[heavy] if sums[heavy] else Fraction(1)
        a = [v * factor if t == heavy else v for v, t in zip(a, s, strict=True)]
    assert all(v >= 0 for v in a)
    rows = [fractions(x) for x in X]
    w = [sum((v * t * x[j] for v, t, x in zip(a, s, rows, strict=True)), Fraction(0)) for j in range(len(rows[0]))]
    balance = sum((v * t for v, t in zip(a, s, strict=True)), Fraction(0))
    terms = sum((dual_term(loss, v, Fraction(float(c))) for v, c in zip(a, C, strict=True)), Fraction(0))
    return terms - dot(w, w) / 2 - (Fraction(scale) ** 2 * balance**2 / 2 if bias == "regularised" else 0)


def dual_term(name, a, C):
    """d(α), exactly, or to 60 digits."""
    if name == "hinge":
        assert a <= C
        return a
    if name == "squared_hinge":
        return a - a * a / (4 * C)
    assert a <= C
    with localcontext() as context:
        context.prec = DIGITS

        def surprise(part):
            ratio = Decimal((part / C).numerator) / Decimal((part / C).denominator)
            return part * Fraction(-ratio.ln()) if part > 0 else Fraction(0)

        return surprise(a) + surprise(C - a)
