"""What a kernel is: a function of two examples, computed for a block of examples against a block of examples.

`definite` says whether K is positive semidefinite for whatever data; None where only the caller can know.

`error` bounds the rounding error of Σ_j c_j K(x, z_j), for every x, by the lengths of x and z alone: an inner product
errs by at most γ_m ‖x‖ ‖z‖, and that is carried through the function (see system/rounding).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from maxmargin.kernels.points import Few, Points


class Kernel(Protocol):
    """A function of two examples."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def definite(self) -> bool | None:
        """Whether all its matrices are positive semidefinite."""

    @property
    def by_products(self) -> bool:
        """Whether it is a function of inner products; else it takes the examples as they were given."""

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """K(x, z) for every x of many and z of few, into `out`, in its type."""

    def diagonal(self, A: Points) -> np.ndarray:
        """K(a, a) for every a of A, in float64."""

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """A bound on Σ_j c_j |error of K(x, z_j)| for every x, with c_j ≥ 0.

        `x` and `z` are the lengths ‖x‖ and ‖z_j‖, `sizes` ≥ Σ_j c_j |K(x, z_j)|, and a row stores at most `longest`.
        """
