"""The hard margin: every margin must be at least 1."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, Quadratic
from maxmargin.problems.losses.base import Array
from maxmargin.problems.losses.hinge import Hinge

AS_GOOD_AS_INFINITE = 1e100  # finite upper bound of α: two equal rows with different labels drive α to it


class HardMargin(Hinge):
    """ℓ(m) = 0 for m ≥ 1, else ∞;  d(α) = α on 0 ≤ α: the limit of hinge and squared hinge as C → ∞."""

    name = "hard_margin"
    bias_rule = "midpoint"

    def value(self, m: Array) -> Array:
        """Return 0 or ∞."""
        return np.where(m >= 1.0, 0.0, np.inf)

    def slope(self, m: Array) -> Array:
        """Return 0, the slope where the loss is finite."""
        return np.zeros_like(m)

    def upper(self, C: Array) -> Array:
        """Return ∞; 0 for examples of weight 0."""
        return np.where(C > 0, np.inf, 0.0)

    def dual_term(self, C: Array) -> DualTerm:
        """Return the box [0, 1e100], finite so that no sum over α overflows."""
        return Quadratic(np.where(C > 0, AS_GOOD_AS_INFINITE, 0.0), np.zeros_like(C))
