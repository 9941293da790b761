"""What each loss is, written down without any code of the package: the one table in which a new loss is entered.

Tests of every loss go through this table, in float64 and in exact arithmetic; a loss that is not in it fails them.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

DIGITS = 60


class Definition(NamedTuple):
    """ℓ(m), ℓ′(m) and d(α, C) of arrays; ℓ(m) and d(α, C) of fractions, exactly or to 60 digits."""

    value: Any
    slope: Any
    dual: Any
    exact_value: Any
    exact_dual: Any


def exact_logistic(m):
    """log(1 + exp(−m))."""
    with localcontext() as context:
        context.prec = DIGITS
        z = Decimal(m.numerator) / Decimal(m.denominator)
        return Fraction(-z + (1 + z.exp()).ln() if z < 0 else (1 + (-z).exp()).ln())


def exact_entropy(a, C):
    """−α log(α/C) − (C − α) log(1 − α/C)."""

    def surprise(part):
        ratio = Decimal((part / C).numerator) / Decimal((part / C).denominator)
        return part * Fraction(-ratio.ln()) if part > 0 else Fraction(0)

    with localcontext() as context:
        context.prec = DIGITS
        return surprise(a) + surprise(C - a)


DEFINITIONS = {
    "hinge": Definition(
        lambda m: np.maximum(0, 1 - m),
        lambda m: np.where(m < 1, -1.0, 0.0),
        lambda a, C: a,
        lambda m: max(Fraction(0), 1 - m),
        lambda a, C: a,
    ),
    "squared_hinge": Definition(
        lambda m: np.maximum(0, 1 - m) ** 2,
        lambda m: -2 * np.maximum(0, 1 - m),
        lambda a, C: a - a**2 / (4 * C),
        lambda m: max(Fraction(0), 1 - m) ** 2,
        lambda a, C: a - a * a / (4 * C),
    ),
    "logistic": Definition(
        lambda m: np.logaddexp(0, -m),
        lambda m: -1 / (1 + np.exp(m)),
        lambda a, C: -a * np.log(np.maximum(a, 1e-300) / C) - (C - a) * np.log(np.maximum(C - a, 1e-300) / C),
        exact_logistic,
        exact_entropy,
    ),
}
