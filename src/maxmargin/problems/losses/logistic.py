"""The logistic loss, whose dual term is an entropy."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, Entropy
from maxmargin.problems.losses.base import Array, Loss


class Logistic(Loss):
    """ℓ(m) = log(1 + e^−m);  d(α) = C log C − α log α − (C − α) log(C − α) on 0 ≤ α ≤ C."""

    name = "logistic"
    smooth = True
    limit = "unregularised"
    probabilities = True
    strictly_convex = True
    largest_curvature = 0.25

    def value(self, m: Array) -> Array:
        """log(1 + e^−m), without overflow."""
        return np.asarray(np.maximum(0.0, -m) + np.log1p(np.exp(-np.abs(m))))

    def slope(self, m: Array) -> Array:
        """−1/(1 + e^m)."""
        return np.asarray(-sigmoid(-m))

    def curvature(self, m: Array) -> Array:
        """σ(m) σ(−m)."""
        small = np.exp(-np.abs(m))
        return np.asarray(small / np.square(1.0 + small))

    def dual(self, alpha: Array, C: Array) -> Array:
        """Return the entropy −s log(s/C) − (C−s) log1p(−s/C), where s is the smaller of α and C − α.

        Both terms are ≥ 0 and accurate to a few units in the last place: C − α is exact for α ≥ C/2, and log1p avoids
        the rounding error of 1 − s/C.
        """
        small = np.minimum(alpha, C - alpha)
        ratio = np.divide(small, C, out=np.zeros_like(small), where=C > 0)
        some = ratio > 0.0
        logs = np.log(ratio, out=np.zeros_like(ratio), where=some)
        return np.asarray(-small * logs - (C - small) * np.log1p(-ratio))

    def upper(self, C: Array) -> Array:
        """C."""
        return C

    def dual_term(self, C: Array) -> DualTerm:
        """The entropy on [0, C]."""
        return Entropy(C)


def sigmoid(z: Array) -> Array:
    """1/(1 + e^−z), without overflow."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))
