"""A linear model on features that stand for a kernel. Its certificate is of that problem, not of the kernel's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.rows import Rows, count_rows, part_of_rows
from maxmargin.data.take import take
from maxmargin.kernels.feature_maps import FeatureMap, map_metadata, transform
from maxmargin.kernels.functions import Kernel
from maxmargin.kernels.support_vectors import Widths
from maxmargin.problems.certificate import Certificate
from maxmargin.system.overwriting import check_replaces_model
from maxmargin.system.tensor_file import write_tensors
from maxmargin.system.threads import thread_count

if TYPE_CHECKING:
    from maxmargin.models.linear import LinearModel

KIND = "approximate model"
AT_ONCE = 1 << 23  # features of examples that are decided at once


@dataclass(eq=False)
class ApproximateModel(Widths):
    """Decides by ⟨w, φ(x)⟩ + b.

    Parameters
    ----------
    features : φ, with ⟨φ(x), φ(z)⟩ nearly the kernel (see feature_maps)
    linear : the linear model that was trained on φ
    centre : array (d,) that is subtracted from examples first, or None
    """

    features: FeatureMap
    linear: LinearModel
    centre: np.ndarray | None = None

    @property
    def d(self) -> int:
        """Features of x."""
        return self.features.d

    @property
    def kernel(self) -> Kernel:
        """What the features stand for."""
        return self.features.kernel

    @property
    def classes(self) -> np.ndarray:
        """Labels."""
        return self.linear.classes

    @property
    def certificate(self) -> Certificate:
        """Of the training on φ."""
        return self.linear.certificate

    @property
    def training(self) -> dict[str, Any]:
        """Words about the training."""
        return self.linear.training

    @property
    def support(self) -> np.ndarray:
        """Row numbers of the examples with an alpha above zero."""
        return self.linear.support

    @property
    def dual_coef(self) -> np.ndarray:
        """Their alpha times the label ±1 in each problem."""
        return self.linear.dual_coef

    @property
    def approximation(self) -> str:
        """What stands for the kernel, in words."""
        return f"{self.features.components} {self.features.name} features for {self.kernel}"

    def decide(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Decision values: (n,) for two classes, above zero meaning the second; (n, k) for more."""
        return np.concatenate([self.linear.decide(part, threads) for part in self.mapped(take(X), threads)])

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The label of each row."""
        return self.linear.label(self.decide(X, threads))

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """P(class | x), one column a class, of a model that was trained with the logistic loss."""
        return np.concatenate([self.linear.probabilities(part, threads) for part in self.mapped(take(X), threads)])

    def mapped(self, rows: Rows, threads: int | None) -> Iterator[Rows]:
        """φ of all rows, some at a time; at least one part, that may be empty."""
        rows, n = self.fitting(rows), count_rows(rows)
        rows = rows if self.centre is None else shifted(rows, self.centre)
        step = max(1, AT_ONCE // max(self.features.components, 1))
        for start in range(0, max(n, 1), step):
            yield transform(self.features, part_of_rows(rows, start, min(start + step, n)), thread_count(threads))

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write one safetensors file, atomically; the same model gives the same bytes.

        It replaces only a model; with `force` any file.
        """
        check_replaces_model(path, force)
        centre = {} if self.centre is None else {"input_centre": self.centre}
        tensors = {**self.linear.tensors(), **self.features.tensors(), **centre}
        write_tensors(path, KIND, tensors, {**self.linear.metadata(), "features": map_metadata(self.features)})
