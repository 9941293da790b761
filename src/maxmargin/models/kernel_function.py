"""Kernel models with one function Σ c_i K(x_i, x) + b: regression and novelty detection (one-class)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.rows import Rows, count_rows
from maxmargin.errors import FileError, MaxmarginError
from maxmargin.kernels.functions import Kernel, kernel_metadata, kernel_of
from maxmargin.kernels.support_vectors import SupportVectors, check_places, check_widens, picked_vectors, vectors_of
from maxmargin.kernels.tiles import combination
from maxmargin.loop.outcome import Outcome
from maxmargin.models.file_checks import centre_in, certificate_in, training_in
from maxmargin.models.input_rows import input_rows
from maxmargin.models.notebooks import Shown
from maxmargin.problems.certificate import Certificate
from maxmargin.system.file_checks import REAL, checked_array, real, row_numbers, section, size
from maxmargin.system.overwriting import check_replaces_model
from maxmargin.system.tensor_file import write_tensors
from maxmargin.system.threads import thread_count

KIND = "kernel function"
ONE_CLASS = "one-class"
BOUNDARY_TOLERANCE = 1e-9  # One-class values up to this times |b| are rounding errors and count as 0.


@dataclass(eq=False)
class KernelFunction(Shown, SupportVectors):
    """A regression or one-class model with values Σ c_i K(x_i, x) + b.

    Parameters
    ----------
    vectors, support : the support vectors, and their row numbers in the training data
    coefficients : the c_i, one for each support vector
    b : the bias
    width : the ε of ν-SVR, otherwise 0
    kernel : the kernel K
    certificate : certificate of the training
    training : summary of the training
    centre : array (d,) that is subtracted from examples and support vectors first, or None
    """

    vectors: Rows = field(repr=False)
    support: np.ndarray = field(repr=False)
    coefficients: np.ndarray = field(repr=False)
    b: float
    width: float
    kernel: Kernel
    certificate: Certificate
    training: dict[str, Any] = field(default_factory=dict)
    centre: np.ndarray | None = field(default=None, repr=False)

    @property
    def intercept(self) -> float:
        """The b of Σ c_i K(x_i, x) + b without a centre."""
        return self.b + self.moved(self.coefficients)

    @property
    def formulation(self) -> str:
        """The SVM formulation, such as "epsilon-SVR"."""
        return str(self.training.get("formulation", ""))

    def decide(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return the value for each row. Values of a one-class model within rounding of its boundary are 0."""
        rows, threads = self.fitting(input_rows(self.training, X)), thread_count(threads)
        found, vectors = np.full(count_rows(rows), self.b), self.points()
        for part, many in self.parts(rows, threads):
            found[part] += combination(self.kernel, many, vectors, self.coefficients[:, None], threads)[:, 0]
        if self.formulation == ONE_CLASS:
            found[np.abs(found) <= BOUNDARY_TOLERANCE * abs(self.b)] = 0.0
        return found

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return the values; for a one-class model 1 inside the region and on its boundary, −1 outside."""
        values = self.decide(X, threads)
        return np.where(values >= 0.0, 1, -1) if self.formulation == ONE_CLASS else values

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Raise an error: only classifiers have probabilities."""
        raise MaxmarginError(f"a model of {self.formulation} has no probabilities: they are for classes")

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn estimator that predicts the same (see to_sklearn)."""
        from maxmargin.models.to_sklearn import to_sklearn

        return to_sklearn(self)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write one safetensors file atomically. The same model gives the same bytes.

        Only a model file is replaced, unless `force` is true.
        """
        check_replaces_model(path, force)
        metadata = {
            "b": self.b,
            "width": self.width,
            "certificate": asdict(self.certificate),
            "kernel": kernel_metadata(self.kernel),
            "training": self.training,
        }
        write_tensors(path, KIND, {"coefficients": self.coefficients, **self.vector_tensors()}, metadata)


def kernel_function(path: str | Path, tensors: dict[str, np.ndarray], metadata: dict[str, Any]) -> KernelFunction:
    """Build a model from the tensors and metadata of a file; raise if they are inconsistent."""
    kernel, training = kernel_of(section(metadata, "kernel")), training_in(metadata)
    d = size(training, "d")
    vectors, support = vectors_of(tensors, d, kernel), row_numbers(tensors)
    coefficients = checked_array(tensors, "coefficients", REAL, 1)
    check_places(kernel, support, d)
    check_widens(training, vectors)
    if not coefficients.shape == support.shape == (count_rows(vectors),):
        raise FileError(f"{path}: the model's arrays do not fit together: it was not written by maxmargin")
    b, width, centre = real(metadata, "b"), real(metadata, "width"), centre_in(tensors, d)
    return KernelFunction(vectors, support, coefficients, b, width, kernel, certificate_in(metadata), training, centre)


def kernel_function_of(
    rows: Rows, kernel: Kernel, outcome: Outcome, training: dict[str, Any], centre: np.ndarray | None = None
) -> KernelFunction:
    """Build a model from the outcome of training: its support vectors are the rows with nonzero coefficients."""
    support = np.flatnonzero(outcome.w)
    vectors, b = picked_vectors(rows, support, kernel), float(outcome.b)
    return KernelFunction(
        vectors, support, outcome.w[support], b, outcome.width, kernel, outcome.certificate, training, centre
    )
