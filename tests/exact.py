"""Objectives of linear and kernel models in exact arithmetic: floats are fractions, and so are their sums and products.

Losses and their dual terms are those of `definitions`.
"""

from fractions import Fraction

import numpy as np
from definitions import DEFINITIONS

from maxmargin.problems.losses import LOSSES


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


def linear_primal(model, X, y, C, loss, bias, scale=1.0, scores=None):
    """P(w, b) of a two-class model, exactly; of other scores than its own if given."""
    w, b = fractions(model.w[0]), Fraction(float(model.b[0]))
    scores = linear_scores(model, X) if scores is None else scores
    norm = dot(w, w) / 2 + (b * b / (2 * Fraction(scale) ** 2) if bias == "regularised" else 0)
    value = DEFINITIONS[loss].exact_value
    losses = (Fraction(float(c)) * value(int(s) * f) for c, s, f in zip(C, y, scores, strict=True))
    return norm + sum(losses, Fraction(0))


def linear_dual(alpha, X, y, C, loss, bias, scale=1.0):
    """D of an exactly feasible α: with a free bias the heavier class scaled down by a fraction."""
    a, s = fractions(alpha), [int(one) for one in y]
    if bias == "free":
        sums = {side: sum((v for v, t in zip(a, s, strict=True) if t == side), Fraction(0)) for side in (-1, 1)}
        heavy = max(sums, key=sums.get)
        factor = sums[-heavy] / sums[heavy] if sums[heavy] else Fraction(1)
        a = [v * factor if t == heavy else v for v, t in zip(a, s, strict=True)]
    assert all(0 <= v <= most for v, most in zip(a, LOSSES[loss].upper(np.asarray(C, dtype=float)), strict=True))
    rows = [fractions(x) for x in X]
    w = [sum((v * t * x[j] for v, t, x in zip(a, s, rows, strict=True)), Fraction(0)) for j in range(len(rows[0]))]
    balance = sum((v * t for v, t in zip(a, s, strict=True)), Fraction(0))
    terms = sum((DEFINITIONS[loss].exact_dual(v, Fraction(float(c))) for v, c in zip(a, C, strict=True)), Fraction(0))
    return terms - dot(w, w) / 2 - (Fraction(scale) ** 2 * balance**2 / 2 if bias == "regularised" else 0)
