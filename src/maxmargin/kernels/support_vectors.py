"""What every kernel model is made of: support vectors, and a kernel to hold examples against them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.passes import scores
from maxmargin.data.rows import Csr, Dense, Rows, count_columns
from maxmargin.errors import DataError
from maxmargin.kernels.functions import Kernel, Linear, Precomputed
from maxmargin.kernels.points import Points, parts_of, points_of
from maxmargin.system.budget import check_columns
from maxmargin.system.file_checks import NARROW_REAL, WHOLE, checked_array


class Widths:
    """What a model says about rows that are too wide or too narrow."""

    @property
    def d(self) -> int:
        """Features; for a precomputed kernel, training examples."""
        raise NotImplementedError

    def fitting(self, rows: Rows) -> Rows:
        """Rows with as many columns as there were in training: sparse ones may have fewer."""
        d = count_columns(rows)
        if isinstance(rows, Csr) and d <= self.d:
            return rows._replace(d=self.d)
        self.check_width(d, "X", exactly=True)
        return rows

    def check_width(self, d: int, name: str, exactly: bool = False) -> None:
        """Refuse data with more columns than there were in training, or with fewer too."""
        if d > self.d or (exactly and d != self.d):
            raise DataError(
                f"{name} has {d} {self.columns_are}, but the model was trained with {self.d}: "
                "predict on data prepared like the training data"
            )

    @property
    def columns_are(self) -> str:
        """What the columns of X stand for."""
        return "features"


class SupportVectors(Widths):
    """Support vectors, their row numbers in the training data, and the kernel; the rest is in the models."""

    vectors: Rows
    support: np.ndarray
    kernel: Kernel
    training: dict[str, Any]
    centre: np.ndarray | None  # what is subtracted from examples and support vectors first, if anything

    @property
    def d(self) -> int:
        """Features; for a precomputed kernel, training examples."""
        return int(self.training["d"])

    @property
    def columns_are(self) -> str:
        """What the columns of X stand for."""
        return "columns" if isinstance(self.kernel, Precomputed) else "features"

    def points(self) -> Points:
        """The support vectors as the kernel wants them."""
        found = points_of(self.around(self.vectors), as_given=not self.kernel.by_products)
        return Points(found.rows, found.squares, self.support)

    def around(self, rows: Rows) -> Rows:
        """Rows around the centre of the training data, if columns were far from 0."""
        return rows if self.centre is None else shifted(rows, self.centre)

    def moved(self, coefficients: np.ndarray) -> float:
        """What the centre adds to b in the form Σ c_i K(x_i, x) + b; only a linear kernel sees it."""
        if self.centre is None or not isinstance(self.kernel, Linear):
            return 0.0
        return -float(coefficients @ scores(self.around(self.vectors), self.centre))

    def parts(self, rows: Rows, threads: int) -> Iterator[tuple[slice, Points]]:
        """The examples to decide on, as the kernel wants them, some at a time."""
        return parts_of(self.around(rows), threads, as_given=not self.kernel.by_products)

    def fitting(self, rows: Rows) -> Rows:
        """Rows with as many columns as there were in training: sparse ones may have fewer.

        A model that LIBSVM wrote does not say how many there were, and takes what comes.
        """
        d = count_columns(rows)
        if self.training.get("widens") and d > self.d:
            self.training["d"] = d
            if isinstance(self.vectors, Csr):
                self.vectors = self.vectors._replace(d=d)
        return super().fitting(rows)

    def check_width(self, d: int, name: str, exactly: bool = False) -> None:
        """Refuse data of another width, unless the model does not know its own."""
        if exactly or not self.training.get("widens"):
            super().check_width(d, name, exactly)

    def vector_tensors(self) -> dict[str, np.ndarray]:
        """The support vectors as arrays, for a file."""
        centre = {} if self.centre is None else {"centre": self.centre}
        return {"support": self.support, **tensors_of(self.vectors), **centre}


def check_places(kernel: Kernel, support: np.ndarray, d: int) -> None:
    """Row numbers of a precomputed kernel are columns of what comes to be predicted."""
    if isinstance(kernel, Precomputed) and len(support) and not 0 <= support.min() <= support.max() < d:
        raise ValueError("row numbers of support vectors")


def check_widens(training: dict[str, Any], vectors: Rows) -> None:
    """Only sparse support vectors can meet rows with more columns than they have."""
    if training.get("widens") and not isinstance(vectors, Csr):
        raise ValueError("widens is true for support vectors that are not sparse")


def tensors_of(rows: Rows) -> dict[str, np.ndarray]:
    """Rows as arrays, for a file."""
    return {f"vectors.{name}": value for name, value in rows._asdict().items() if name != "d"}


def vectors_of(tensors: dict[str, np.ndarray], d: int, kernel: Kernel) -> Rows:
    """The way back; what does not hold together is refused, for compiled code will not ask again."""
    dense = "vectors.indices" not in tensors
    values = checked_array(tensors, "vectors.values", NARROW_REAL, 2 if dense else 1)
    if dense:
        if values.shape[1] != (0 if isinstance(kernel, Precomputed) else d):
            raise ValueError(f"support vectors of shape {values.shape}")
        return Dense(values)
    indices, indptr = (checked_array(tensors, f"vectors.{name}", WHOLE, 1) for name in ("indices", "indptr"))
    whole = len(indices) == len(values) and len(indptr) > 0
    if not whole or indptr[0] != 0 or indptr[-1] != len(values) or np.any(np.diff(indptr) < 0):
        raise ValueError("rows of support vectors")
    if len(indices) and not 0 <= indices.min() <= indices.max() < d:
        raise ValueError("columns of support vectors")
    if kernel.by_products:
        check_columns(d)
    return Csr(values, indices, indptr, d)
