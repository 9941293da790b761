"""The protocol of kernels: functions of two examples, evaluated for all pairs of two blocks of examples.

`definite` says whether K is positive semidefinite for any data; None if that is unknown.

`error` bounds the rounding error of Σ_j c_j K(x, z_j), for every x, using only the norms of x and z. The error of an
inner product is at most γ_m ‖x‖ ‖z‖, and this is propagated through the function (see system/rounding).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from maxmargin.kernels.points import Few, Points


class Kernel(Protocol):
    """A function of two examples."""

    @property
    def name(self) -> str:
        """The name by which users select the kernel."""

    @property
    def definite(self) -> bool | None:
        """Whether all kernel matrices are positive semidefinite; None if unknown."""

    @property
    def by_products(self) -> bool:
        """Whether the kernel is a function of inner products; if not, it receives the examples as given."""

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Write K(x, z) for every x of many and z of few to `out`, in the type of `out`."""

    def diagonal(self, A: Points) -> np.ndarray:
        """Return K(a, a) for every a of A, in float64."""

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """Return a bound on Σ_j c_j |error of K(x, z_j)| for every x, with c_j ≥ 0.

        `x` and `z` are the norms ‖x‖ and ‖z_j‖, `sizes` ≥ Σ_j c_j |K(x, z_j)|, and a row has at most `longest` values.
        """
