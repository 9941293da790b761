"""The hard margin: no example may be on the wrong side of its margin."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.dual_terms import DualTerm, Quadratic
from maxmargin.problems.losses.base import Array
from maxmargin.problems.losses.hinge import Hinge

AS_GOOD_AS_INFINITE = 1e100  # the upper end of a box: two equal rows with unlike labels drive α there


class HardMargin(Hinge):
    """ℓ(m) = 0 from a margin of 1 on, else ∞;  d(α) = α on 0 ≤ α: what hinge and squared hinge become as C → ∞."""

    name = "hard_margin"
    bias_rule = "midpoint"

    def value(self, m: Array) -> Array:
        """0 or ∞."""
        return np.where(m >= 1.0, 0.0, np.inf)

    def slope(self, m: Array) -> Array:
        """0, where the loss is finite."""
        return np.zeros_like(m)

    def upper(self, C: Array) -> Array:
        """∞, except where a weight of zero leaves only α = 0."""
        return np.where(C > 0, np.inf, 0.0)

    def dual_term(self, C: Array) -> DualTerm:
        """Box [0, as good as ∞): no sum over α may overflow."""
        return Quadratic(np.where(C > 0, AS_GOOD_AS_INFINITE, 0.0), np.zeros_like(C))
