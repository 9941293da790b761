"""The linear kernel, ⟨x, z⟩."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.kernels.points import Few, Points, products
from maxmargin.system.rounding import gamma


@dataclass(frozen=True)
class Linear:
    """⟨x, z⟩."""

    name: ClassVar[str] = "linear"
    by_products: ClassVar[bool] = True
    definite: ClassVar[bool] = True

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Write the inner products to `out`."""
        products(many, few, out)

    def diagonal(self, A: Points) -> np.ndarray:
        """‖a‖²."""
        return A.squares

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """γ_m ‖x‖ Σ c_j ‖z_j‖."""
        return np.asarray(gamma(longest + 4) * x * float(c @ z))
