"""The losses, each in its two forms.

    primal   C_i ℓ(m)      what margin m = y (⟨w, x⟩ + b) costs
    dual     d_i(α)        C_i ℓ(m) ≥ d_i(α) − α m for every m and every α in the box (Fenchel–Young),
                           with equality exactly when α = −C_i ℓ′(m)

These are whole-array forms, for objectives and certificates. What a compiled dual solver needs of a loss is one of
the two shapes in `dual_terms`: hinge and squared hinge differ only in a bound and a diagonal, logistic is an entropy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.dual_terms import DualTerm, Entropy, Quadratic

Array = np.ndarray

AS_GOOD_AS_INFINITE = 1e100


class Loss(ABC):
    """One loss: its value and slope in the margin, and its dual term."""

    name: str
    smooth: bool

    @abstractmethod
    def value(self, m: Array) -> Array:
        """ℓ(m)."""

    @abstractmethod
    def slope(self, m: Array) -> Array:
        """ℓ′(m); at a kink, the slope on the side of the larger margins."""

    @abstractmethod
    def curvature(self, m: Array) -> Array:
        """ℓ″(m), zero for a loss made of straight pieces."""

    @abstractmethod
    def dual(self, alpha: Array, C: Array) -> Array:
        """d_i(α_i), for α_i in its box."""

    @abstractmethod
    def upper(self, C: Array) -> Array:
        """The upper end of the box of α."""

    @abstractmethod
    def dual_term(self, C: Array) -> DualTerm:
        """The dual term as data for compiled code."""


class Hinge(Loss):
    """ℓ(m) = max(0, 1 − m);  d(α) = α on 0 ≤ α ≤ C."""

    name = "hinge"
    smooth = False

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


class SquaredHinge(Loss):
    """ℓ(m) = max(0, 1 − m)²;  d(α) = α − α²/(4C) on 0 ≤ α."""

    name = "squared_hinge"
    smooth = True

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
        """α − α²/(4C); a weight of zero leaves only α = 0, worth 0."""
        ratio = np.divide(alpha, C, out=np.zeros_like(alpha), where=C > 0)
        return np.asarray(alpha * (1.0 - 0.25 * ratio))  # α² alone could underflow

    def upper(self, C: Array) -> Array:
        """∞, except where a weight of zero leaves only α = 0."""
        return np.where(C > 0, np.inf, 0.0)

    def dual_term(self, C: Array) -> DualTerm:
        """Box [0, ∞), diagonal 1/(2C)."""
        with np.errstate(divide="ignore"):
            return Quadratic(self.upper(C), 0.5 / C)


class Logistic(Loss):
    """ℓ(m) = log(1 + e^−m);  d(α) = C log C − α log α − (C − α) log(C − α) on 0 ≤ α ≤ C."""

    name = "logistic"
    smooth = True

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
        """The entropy of splitting C into a smaller part s and the rest: −s log(s/C) − (C−s) log1p(−s/C).

        Both terms are ≥ 0 and accurate to a few units: C − α is exact from C/2 on, and log1p keeps what 1 − s/C loses.
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


class HardMargin(Loss):
    """ℓ(m) = 0 from a margin of 1 on, else ∞;  d(α) = α on 0 ≤ α: what hinge and squared hinge become as C → ∞."""

    name = "hard_margin"
    smooth = False

    def value(self, m: Array) -> Array:
        """0 or ∞."""
        return np.where(m >= 1.0, 0.0, np.inf)

    def slope(self, m: Array) -> Array:
        """0, where the loss is finite."""
        return np.zeros_like(m)

    def curvature(self, m: Array) -> Array:
        """0."""
        return np.zeros_like(m)

    def dual(self, alpha: Array, C: Array) -> Array:
        """α."""
        return alpha

    def upper(self, C: Array) -> Array:
        """∞, except where a weight of zero leaves only α = 0."""
        return np.where(C > 0, np.inf, 0.0)

    def dual_term(self, C: Array) -> DualTerm:
        """Box [0, as good as ∞): two equal rows with unlike labels drive α there, and no sum may overflow."""
        return Quadratic(np.where(C > 0, AS_GOOD_AS_INFINITE, 0.0), np.zeros_like(C))


def sigmoid(z: Array) -> Array:
    """1/(1 + e^−z), without overflow."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Hinge(), SquaredHinge(), Logistic())}
HARD_MARGIN = HardMargin()


def find_loss(name: str) -> Loss:
    """The loss of that name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ParameterError(f"loss={name!r} is not known: choose one of {', '.join(LOSSES)}")
    return LOSSES[name]
