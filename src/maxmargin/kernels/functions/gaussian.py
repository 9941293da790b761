"""The Gaussian (RBF) kernel, exp(−γ‖x − z‖²), with width σ, γ = 1/(2σ²)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.kernels.exponential import gaussian, gaussian_32
from maxmargin.kernels.points import Few, Points, products
from maxmargin.system.rounding import gamma

EXPONENTIAL = 32  # rounding errors of e^t: of the Taylor series, and of the last product
SMALL, GROWTH = 0.5, 1.3  # e^δ − 1 is at most 1.3 δ for δ up to 0.5


@dataclass(frozen=True)
class Gaussian:
    """exp(−γ‖x − z‖²), where ‖x − z‖² = ‖x‖² − 2⟨x, z⟩ + ‖z‖²."""

    name: ClassVar[str] = "gaussian"
    by_products: ClassVar[bool] = True
    definite: ClassVar[bool] = True

    gamma: float = 1.0

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Write K(x, z) to `out`: inner products first, then exponentials of the squared distances."""
        products(many, few, out)
        a, b = (np.asarray(self.gamma * points.squares, dtype=out.dtype) for points in (many, few.points))
        finish = gaussian if out.dtype == np.float64 else gaussian_32
        finish(out, a, b, out.dtype.type(2.0 * self.gamma))

    def diagonal(self, A: Points) -> np.ndarray:
        """Return 1 for every example."""
        return np.ones(len(A))

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """Return a bound: the exponent errs by δ ≤ γ_2m γ (‖x‖² + ‖z‖²), so K by at most e^δ − 1 relative, or 1."""
        farthest = float(z.max(initial=0.0)) ** 2
        delta = gamma(2 * longest + 16) * self.gamma * (x * x + farthest)
        if delta.max(initial=0.0) <= SMALL:
            return np.asarray((GROWTH * delta + gamma(EXPONENTIAL)) * sizes)
        part = np.expm1(np.minimum(delta, 1.0))
        return np.asarray(np.where(part < 1.0, (part + gamma(EXPONENTIAL)) * sizes, float(np.sum(c))))
