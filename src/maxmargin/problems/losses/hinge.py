"""The hinge loss, linear below margin 1."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, Quadratic
from maxmargin.problems.losses.base import Array, Loss


class Hinge(Loss):
    """ℓ(m) = max(0, 1 − m);  d(α) = α on 0 ≤ α ≤ C."""

    name = "hinge"
    smooth = False
    bias_rule = "quantile"

    def value(self, m: Array) -> Array:
        """max(0, 1 − m)."""
        return np.maximum(0.0, 1.0 - m)

    def slope(self, m: Array) -> Array:
        """−1 below 1, else 0."""
        return np.where(m < 1.0, -1.0, 0.0)

    def curvature(self, m: Array) -> Array:
        """0."""
        return np.zeros_like(m)

    def dual(self, alpha: Array, C: Array) -> Array:
        """α."""
        return alpha

    def upper(self, C: Array) -> Array:
        """C."""
        return C

    def dual_term(self, C: Array) -> DualTerm:
        """Box [0, C], no diagonal."""
        return Quadratic(C, np.zeros_like(C))
