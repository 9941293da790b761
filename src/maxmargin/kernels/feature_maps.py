"""Feature maps φ that approximate a kernel by inner products, so that a linear model can replace a kernel model.

    nystrom   φ(x) = Λ^(−½) Uᵀ k(x),      k(x) = K(landmarks, x) and U Λ Uᵀ = K(landmarks, landmarks):
                                          ⟨φ(x), φ(z)⟩ = K(x, z) if x or z is in the span of the landmarks
    fourier   φ(x) = √(2/m) (cos Wx, sin Wx),   rows of W are drawn from N(0, 2γ), the spectrum of the Gaussian;
                                          each block of d rows is orthogonal, which reduces the mean error. The
                                          frequencies of data/expand depend only on its text; it shares write_waves
After    Williams, Seeger 2001; Rahimi, Recht 2007; Yu et al. (orthogonal random features) 2016
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from maxmargin.data.expand import write_waves
from maxmargin.data.rows import Dense, Rows, count_columns, count_rows
from maxmargin.data.take import read_only
from maxmargin.kernels.functions import Gaussian, Kernel, kernel_metadata, kernel_of
from maxmargin.kernels.points import Few, Points, parts_of, points_of, products
from maxmargin.kernels.support_vectors import tensors_of, vectors_of
from maxmargin.kernels.tiles import rows_of_kernel
from maxmargin.system.file_checks import REAL, checked_array, section, short, size
from maxmargin.system.threads import blas_on_one_thread, on_threads

LINES = 1024  # examples in one task of a thread
AT_ONCE = 1 << 24  # most kernel values between examples and landmarks in memory at once
TINY = 1e-12  # eigenvalues below this fraction of the largest are rounding errors and are left out


class FeatureMap(Protocol):
    """A map φ with ⟨φ(x), φ(z)⟩ ≈ K(x, z)."""

    @property
    def name(self) -> str:
        """The name by which users select the map."""

    @property
    def kernel(self) -> Kernel:
        """The kernel K."""

    @property
    def d(self) -> int:
        """Number of features of x."""

    @property
    def components(self) -> int:
        """Number of features of φ(x)."""

    def fill(self, many: Points, out: np.ndarray, threads: int) -> None:
        """Write φ(x) of every example x of `many` to the rows of `out`."""

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the arrays of the map, for a model file."""


@dataclass(frozen=True, eq=False)
class NystromMap:
    """Nyström features: kernel values with the landmarks, whitened."""

    name: ClassVar[str] = "nystrom"

    kernel: Kernel
    landmarks: Rows
    whitening: np.ndarray

    @property
    def d(self) -> int:
        """Number of features of x."""
        return count_columns(self.landmarks)

    @property
    def components(self) -> int:
        """Number of features of φ(x)."""
        return int(self.whitening.shape[1])

    @cached_property
    def points(self) -> Points:
        """The landmarks in the form that kernels need."""
        return points_of(self.landmarks)

    def fill(self, many: Points, out: np.ndarray, threads: int) -> None:
        """Write φ(x) of every example x of `many` to the rows of `out`."""
        K = np.empty((len(self.points), len(many)))
        rows_of_kernel(self.kernel, self.points, many, K, threads)

        def whiten(lines: slice) -> None:
            out[lines] = K[:, lines].T @ self.whitening

        by_lines(whiten, len(many), threads)

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the landmarks and U Λ^(−½), for a model file."""
        return {**tensors_of(self.landmarks), "whitening": self.whitening}


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Random Fourier features of the Gaussian kernel, with orthogonal frequencies."""

    name: ClassVar[str] = "fourier"

    kernel: Kernel
    frequencies: np.ndarray

    @property
    def d(self) -> int:
        """Number of features of x."""
        return int(self.frequencies.shape[0])

    @property
    def components(self) -> int:
        """Number of features of φ(x)."""
        return int(2 * self.frequencies.shape[1])

    def fill(self, many: Points, out: np.ndarray, threads: int) -> None:
        """Write φ(x) of every example x of `many` to the rows of `out`: cosines, then sines."""
        half = self.frequencies.shape[1]

        def wave(lines: slice) -> None:
            phase = np.empty((lines.stop - lines.start, half))
            products(many.part(lines), Few(many, self.frequencies), phase)
            write_waves(phase, out[lines], 1.0 / np.sqrt(half))

        by_lines(wave, len(many), threads)

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the frequencies, for a model file."""
        return {"frequencies": self.frequencies}


def nystrom_map(kernel: Kernel, landmarks: Rows, threads: int = 1) -> NystromMap:
    """Return the Nyström map of these landmarks, without directions of negligible eigenvalue."""
    points = points_of(landmarks)
    K = np.empty((len(points), len(points)))
    rows_of_kernel(kernel, points, points, K, threads)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > max(TINY * float(values[-1]), np.finfo(float).tiny)
    return NystromMap(kernel, landmarks, np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept])))


def fourier_map(kernel: Gaussian, d: int, components: int, rng: np.random.Generator) -> FourierMap:
    """Draw a Fourier map with `components` features, rounded up to an even number."""
    half = -(-components // 2)
    if d == 0:
        return FourierMap(kernel, np.zeros((0, half)))
    blocks = [np.linalg.qr(rng.normal(size=(d, min(d, half - done))))[0] for done in range(0, half, d)]
    lengths = np.sqrt(2.0 * kernel.gamma * rng.chisquare(d, size=half))
    return FourierMap(kernel, np.ascontiguousarray(np.hstack(blocks) * lengths))


def transform(features: FeatureMap, rows: Rows, threads: int = 1) -> Dense:
    """Return φ(x) of every row x, in float32."""
    out = np.empty((count_rows(rows), features.components), np.float32)
    step = max(LINES, AT_ONCE // max(features.components, 1))
    for part, many in parts_of(rows, threads):
        for start in range(0, len(many), step):
            some = many.part(slice(start, min(start + step, len(many))))
            features.fill(some, out[part.start + start : part.start + start + len(some)], threads)
    return Dense(read_only(out))


def by_lines(work: Callable[[slice], None], count: int, threads: int) -> None:
    """Call work(lines) for slices of at most LINES of `count` lines, on all threads."""
    with blas_on_one_thread:
        on_threads(threads, lambda start: work(slice(start, min(start + LINES, count))), range(0, count, LINES))


def map_metadata(features: FeatureMap) -> dict[str, Any]:
    """Return the name, the number of input features and the kernel of the map, for a model file."""
    return {"name": features.name, "d": features.d, "kernel": kernel_metadata(features.kernel)}


def map_of(tensors: dict[str, np.ndarray], metadata: dict[str, Any]) -> FeatureMap:
    """Build the map from the tensors and metadata of a model file. Raises ValueError if they are inconsistent."""
    kernel, d = kernel_of(section(metadata, "kernel")), size(metadata, "d")
    if metadata.get("name") == FourierMap.name:
        frequencies = checked_array(tensors, "frequencies", REAL, 2)
        if len(frequencies) != d or not isinstance(kernel, Gaussian):
            raise ValueError(f"frequencies of shape {frequencies.shape} for {kernel}")
        return FourierMap(kernel, frequencies)
    landmarks, whitening = vectors_of(tensors, d, kernel), checked_array(tensors, "whitening", REAL, 2)
    fits = len(whitening) == count_rows(landmarks) and kernel.by_products and kernel.definite
    if metadata.get("name") != NystromMap.name or not fits:
        raise ValueError(f"features {short(metadata.get('name'))} for {kernel}")
    return NystromMap(kernel, landmarks, whitening)
