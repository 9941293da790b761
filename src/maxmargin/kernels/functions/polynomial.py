"""The polynomial kernel, (γ⟨x, z⟩ + r)^p: monomials of all degrees up to p, or of degree p only if r = 0."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np

from maxmargin.kernels.points import Few, Points, products
from maxmargin.system.rounding import gamma


@dataclass(frozen=True)
class Polynomial:
    """(γ⟨x, z⟩ + r)^p."""

    name: ClassVar[str] = "polynomial"
    by_products: ClassVar[bool] = True

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def definite(self) -> bool:
        """Whether K is positive semidefinite: a sum of powers of inner products is, if r ≥ 0."""
        return self.coef0 >= 0.0

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Write K(x, z) to `out`: scale and shift the inner products, then raise them to the power p."""
        products(many, few, out)
        out *= self.gamma
        out += self.coef0
        base = out.copy() if self.degree > 1 else out
        for _ in range(self.degree - 1):
            out *= base

    def diagonal(self, A: Points) -> np.ndarray:
        """(γ‖a‖² + r)^p."""
        return np.asarray((self.gamma * A.squares + self.coef0) ** self.degree)

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """Return γ_pm Σ c_j (γ‖x‖‖z_j‖ + |r|)^p, expanded in powers of ‖x‖: each of the p factors errs by γ_m."""
        r, p = abs(self.coef0), self.degree
        powers = [comb(p, k) * self.gamma**k * r ** (p - k) * float(c @ z**k) for k in range(p + 1)]
        return np.asarray(gamma(p * (longest + 8)) * np.polynomial.polynomial.polyval(x, powers))
