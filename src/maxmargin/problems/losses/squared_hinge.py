"""The squared hinge loss."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, Quadratic
from maxmargin.problems.losses.base import Array, Loss


class SquaredHinge(Loss):
    """ℓ(m) = max(0, 1 − m)²;  d(α) = α − α²/(4C) on 0 ≤ α."""

    name = "squared_hinge"
    smooth = True
    largest_curvature = 2.0

    def value(self, m: Array) -> Array:
        """max(0, 1 − m)²."""
        return np.square(np.maximum(0.0, 1.0 - m))

    def slope(self, m: Array) -> Array:
        """−2 max(0, 1 − m)."""
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def curvature(self, m: Array) -> Array:
        """2 below 1, else 0."""
        return np.where(m < 1.0, 2.0, 0.0)

    def dual(self, alpha: Array, C: Array) -> Array:
        """Return α − α²/(4C); 0 for examples of weight 0, whose α is 0."""
        ratio = np.divide(alpha, C, out=np.zeros_like(alpha), where=C > 0)
        return np.asarray(alpha * (1.0 - 0.25 * ratio))  # α² alone could underflow

    def upper(self, C: Array) -> Array:
        """Return ∞; 0 for examples of weight 0."""
        return np.where(C > 0, np.inf, 0.0)

    def dual_term(self, C: Array) -> DualTerm:
        """Box [0, ∞), diagonal 1/(2C)."""
        with np.errstate(divide="ignore"):
            return Quadratic(self.upper(C), 0.5 / C)
