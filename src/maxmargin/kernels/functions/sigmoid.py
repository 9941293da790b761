"""The sigmoid kernel, tanh(γ⟨x, z⟩ + r): indefinite, so the problem is not convex and has no certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.kernels.points import Few, Points, products
from maxmargin.system.rounding import gamma


@dataclass(frozen=True)
class Sigmoid:
    """tanh(γ⟨x, z⟩ + r)."""

    name: ClassVar[str] = "sigmoid"
    by_products: ClassVar[bool] = True
    definite: ClassVar[bool] = False

    gamma: float = 1.0
    coef0: float = 0.0

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Write K(x, z) to `out`: the tanh of the inner products, scaled and shifted."""
        products(many, few, out)
        out *= self.gamma
        out += self.coef0
        np.tanh(out, out=out)

    def diagonal(self, A: Points) -> np.ndarray:
        """tanh(γ‖a‖² + r)."""
        return np.asarray(np.tanh(self.gamma * A.squares + self.coef0))

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """Return a bound on the error of the argument and of tanh: the slope of tanh is at most 1."""
        inner = self.gamma * x * float(c @ z) + abs(self.coef0) * float(np.sum(c))
        return np.asarray(gamma(longest + 8) * inner + gamma(8) * float(np.sum(c)))
