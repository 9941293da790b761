"""The parameter `approx`: approximate a kernel by explicit features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.errors import ParameterError
from maxmargin.kernels.feature_maps import FeatureMap, fourier_map, nystrom_map
from maxmargin.kernels.functions import Gaussian, Kernel
from maxmargin.kernels.landmarks import landmarks_of
from maxmargin.system.threads import free_memory

NAMES = ("nystrom", "fourier")
FREQUENCY_COPIES = 2  # Memory for frequencies and their QR factors, in arrays of d × components numbers.
LANDMARK_COPIES = 4  # Kernel matrices of the landmarks in memory while their eigenvectors are computed.


class Approximation(NamedTuple):
    """The kind of features, their number and, for Nyström, the choice of landmarks."""

    name: str
    components: int
    landmarks: str

    def features(self, rows: Rows, kernel: Kernel, seed: int, threads: int) -> FeatureMap:
        """Return the feature map for these rows. The same seed gives the same map."""
        rng = np.random.default_rng(seed)
        if not kernel.by_products or not kernel.definite:
            raise ParameterError(
                f"approx={self.name!r} is for positive semidefinite kernels of inner products, such as gaussian: "
                f"{kernel} has no feature map that can be computed"
            )
        if self.name == "nystrom":
            count = min(self.components, count_rows(rows))
            if LANDMARK_COPIES * 8 * count**2 > free_memory():
                size = f"{LANDMARK_COPIES * 8 * count**2 / 1e9:.3g} GB"
                raise ParameterError(f"components={self.components}: {count:,} landmarks take {size}: take fewer")
            chosen = landmarks_of(self.landmarks, rows, kernel, count, rng, threads)
            return nystrom_map(kernel, chosen, threads)
        if not isinstance(kernel, Gaussian):
            raise ParameterError("approx='fourier' is for the gaussian kernel only: take approx='nystrom'")
        d = count_columns(rows)
        if FREQUENCY_COPIES * 8 * d * self.components > free_memory():
            size = f"{FREQUENCY_COPIES * 8 * d * self.components / 1e9:.3g} GB"
            raise ParameterError(
                f"components={self.components}: their frequencies for {d:,} features take {size}: take fewer"
            )
        return fourier_map(kernel, count_columns(rows), self.components, rng)
