"""A linear model on features that approximate a kernel. Its certificate holds for the approximate problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.rows import Rows, count_rows, part_of_rows
from maxmargin.kernels.feature_maps import FeatureMap, map_metadata, transform
from maxmargin.kernels.functions import Kernel
from maxmargin.kernels.support_vectors import Widths
from maxmargin.models.input_rows import input_rows
from maxmargin.models.notebooks import Shown
from maxmargin.problems.certificate import Certificate
from maxmargin.system.overwriting import check_replaces_model
from maxmargin.system.tensor_file import write_tensors
from maxmargin.system.threads import thread_count

if TYPE_CHECKING:
    from maxmargin.models.linear import LinearModel

KIND = "approximate model"
FEATURES_AT_ONCE = 1 << 23  # Values of φ in memory at once during prediction: 32 MB in float32.


@dataclass(eq=False)
class ApproximateModel(Shown, Widths):
    """A classifier with the decision function ⟨w, φ(x)⟩ + b.

    Parameters
    ----------
    features : the map φ, with ⟨φ(x), φ(z)⟩ ≈ K(x, z) (see feature_maps)
    linear : the linear model on φ
    centre : array (d,) that is subtracted from examples first, or None
    """

    features: FeatureMap
    linear: LinearModel
    centre: np.ndarray | None = None

    @property
    def d(self) -> int:
        """Number of features of x."""
        return self.features.d

    @property
    def kernel(self) -> Kernel:
        """The kernel that is approximated."""
        return self.features.kernel

    @property
    def classes(self) -> np.ndarray:
        """Labels."""
        return self.linear.classes

    @property
    def certificate(self) -> Certificate:
        """Certificate of the linear problem on φ."""
        return self.linear.certificate

    @property
    def training(self) -> dict[str, Any]:
        """Summary of the training."""
        return self.linear.training

    @property
    def support(self) -> np.ndarray:
        """Row numbers of the support vectors (alpha > 0)."""
        return self.linear.support

    @property
    def dual_coef(self) -> np.ndarray:
        """Alpha times the label ±1 of each support vector, one row for each problem."""
        return self.linear.dual_coef

    @property
    def approximation(self) -> str:
        """Description of the features."""
        return f"{self.features.components} {self.features.name} features for {self.kernel}"

    def decide(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return decision values: (n,) for two classes, positive for the second; (n, k) for more."""
        return np.concatenate([self.linear.decide_rows(part, threads) for part in self.mapped(X, threads)])

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return the label of each row."""
        return self.linear.label(self.decide(X, threads))

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return P(class | x), one column for each class; for a loss that has them."""
        self.linear.check_probabilities()
        return self.linear.probabilities_at(self.decide(X, threads))

    def mapped(self, X: Any, threads: int | None) -> Iterator[Rows]:
        """Yield φ of the rows in blocks; at least one block, which may be empty."""
        rows = self.fitting(input_rows(self.training, X))
        n = count_rows(rows)
        rows = rows if self.centre is None else shifted(rows, self.centre)
        step = max(1, FEATURES_AT_ONCE // max(self.features.components, 1))
        for start in range(0, max(n, 1), step):
            yield transform(self.features, part_of_rows(rows, start, min(start + step, n)), thread_count(threads))

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write one safetensors file atomically. The same model gives the same bytes.

        Only a model file is replaced, unless `force` is true.
        """
        check_replaces_model(path, force)
        centre = {} if self.centre is None else {"input_centre": self.centre}
        tensors = {**self.linear.tensors(), **self.features.tensors(), **centre}
        write_tensors(path, KIND, tensors, {**self.linear.metadata(), "features": map_metadata(self.features)})
