"""The base class of losses, and the check that a loss is complete.

    primal   C_i ℓ(m)      the loss at margin m = y (⟨w, x⟩ + b): convex and nonincreasing in m
    dual     d_i(α)        C_i ℓ(m) ≥ d_i(α) − α m for every m and every α in the box (Fenchel–Young),
                           with equality exactly when α = −C_i ℓ′(m);  d_i(0) = 0

The methods work on whole arrays; objectives and certificates use them. Compiled solvers use only the dual term of a
loss, as data in one of the shapes of `dual_terms`.
"""

from __future__ import annotations

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.dual_terms import SHAPES, DualTerm

Array = np.ndarray

BIAS_RULES = ("newton", "quantile", "midpoint")
LIMITS = ("hard_margin", "unregularised")


class Loss:
    """One loss: its value and slope in the margin, and its dual term.

    Attributes
    ----------
    name : the name by which users select the loss
    smooth : whether the loss has a derivative everywhere
    bias_rule : method for the best free bias (see best_bias): "newton" for a smooth loss, "quantile" for a kink at
        margin 1 between slopes −1 and 0, "midpoint" for a hard margin
    limit : the problem for C = ∞: "hard_margin" for a loss that is 0 for margins ≥ 1, else "unregularised"
    probabilities : whether 1/(1 + exp(−score)) estimates the probability of the positive class
    strictly_convex : whether ℓ″ is continuous and positive everywhere: every example is active in every Newton step,
        and no α reaches a bound of its box, where the slope of d is infinite
    largest_curvature : an upper bound of ℓ″, for a loss whose slope is not bounded; streamed certificates need one of
        the two bounds
    """

    name: str
    smooth: bool
    bias_rule: str = "newton"
    limit: str = "hard_margin"
    probabilities: bool = False
    strictly_convex: bool = False
    largest_curvature: float = np.inf

    @property
    def steepest(self) -> float:
        """The largest |ℓ′|: the upper bound of α for C = 1, since α = −C ℓ′(m)."""
        return float(self.upper(np.ones(1))[0])

    def value(self, m: Array) -> Array:
        """Return ℓ(m)."""
        raise NotImplementedError

    def slope(self, m: Array) -> Array:
        """Return ℓ′(m); at a kink, the right derivative."""
        raise NotImplementedError

    def curvature(self, m: Array) -> Array:
        """Return ℓ″(m); 0 for a piecewise linear loss."""
        raise NotImplementedError

    def dual(self, alpha: Array, C: Array) -> Array:
        """Return d_i(α_i), for α_i in its box."""
        raise NotImplementedError

    def upper(self, C: Array) -> Array:
        """Return the upper bound of α."""
        raise NotImplementedError

    def dual_term(self, C: Array) -> DualTerm:
        """Return the dual terms of all examples as data for compiled code."""
        raise NotImplementedError


ATTRIBUTES = ("name", "smooth", "bias_rule", "limit", "probabilities", "strictly_convex", "largest_curvature")
METHODS = ("value", "slope", "curvature", "dual", "upper", "dual_term")


def check_whole(loss: Loss) -> None:
    """Raise ParameterError if the loss lacks an attribute or method; the message names it."""
    known = getattr(loss, "name", None) or type(loss).__name__
    for piece in ATTRIBUTES:
        if not hasattr(loss, piece):
            raise ParameterError(f"loss {known} lacks {piece}: see maxmargin.problems.losses.Loss")
    for piece in METHODS:
        if getattr(type(loss), piece, None) in (None, getattr(Loss, piece)):
            raise ParameterError(f"loss {known} lacks {piece}: see maxmargin.problems.losses.Loss")
    if loss.bias_rule not in BIAS_RULES or (loss.bias_rule == "newton" and not loss.smooth):
        raise ParameterError(
            f"loss {known}: bias_rule={loss.bias_rule!r} does not find its best bias: choose one of "
            f"{', '.join(BIAS_RULES)}, and newton for a smooth loss only"
        )
    if loss.limit not in LIMITS:
        raise ParameterError(f"loss {known}: limit={loss.limit!r} is not known: choose one of {', '.join(LIMITS)}")
    shape = type(loss.dual_term(np.ones(1)))
    if shape not in SHAPES:
        names = ", ".join(one.__name__ for one in SHAPES)
        raise ParameterError(
            f"loss {known}: dual_term returns {shape.__name__}, which is not a known shape ({names} are): "
            "register it with maxmargin.problems.dual_terms.register first"
        )
