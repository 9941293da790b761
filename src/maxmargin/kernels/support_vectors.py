"""The common base of kernel models: support vectors and a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.passes import scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_columns
from maxmargin.errors import DataError
from maxmargin.kernels.functions import Kernel, Linear, Precomputed
from maxmargin.kernels.points import Points, parts_of, points_of
from maxmargin.system.budget import check_columns
from maxmargin.system.file_checks import NARROW_REAL, WHOLE, checked_array


class Widths:
    """Checks of the number of columns of rows to predict."""

    @property
    def d(self) -> int:
        """Number of features; for a precomputed kernel, number of training examples."""
        raise NotImplementedError

    def fitting(self, rows: Rows) -> Rows:
        """Return rows with as many columns as the training data; sparse rows may have fewer."""
        d = count_columns(rows)
        if isinstance(rows, Csr) and d <= self.d:
            return rows._replace(d=self.d)
        self.check_width(d, "X", exactly=True)
        return rows

    def check_width(self, d: int, name: str, exactly: bool = False) -> None:
        """Raise if the data have more columns than the training data; with `exactly`, also if they have fewer."""
        if d > self.d or (exactly and d != self.d):
            raise DataError(
                f"{name} has {d} {self.columns_are}, but the model was trained with {self.d}: "
                "predict on data prepared like the training data"
            )

    @property
    def columns_are(self) -> str:
        """The meaning of the columns of X, for messages."""
        return "features"


class SupportVectors(Widths):
    """Support vectors, their row numbers in the training data, and the kernel. Subclasses add the coefficients."""

    vectors: Rows
    support: np.ndarray
    kernel: Kernel
    training: dict[str, Any]
    centre: np.ndarray | None  # subtracted from examples and support vectors, if given

    @property
    def d(self) -> int:
        """Number of features; for a precomputed kernel, number of training examples."""
        return int(self.training["d"])

    @property
    def columns_are(self) -> str:
        """The meaning of the columns of X, for messages."""
        return "columns" if isinstance(self.kernel, Precomputed) else "features"

    def points(self) -> Points:
        """Return the support vectors in the form that the kernel needs."""
        found = points_of(self.around(self.vectors), as_given=not self.kernel.by_products)
        return Points(found.rows, found.squares, self.support)

    def around(self, rows: Rows) -> Rows:
        """Subtract the centre, if there is one."""
        return rows if self.centre is None else shifted(rows, self.centre)

    def moved(self, coefficients: np.ndarray) -> float:
        """Return the change of b in Σ c_i K(x_i, x) + b due to the centre; nonzero only for a linear kernel."""
        if self.centre is None or not isinstance(self.kernel, Linear):
            return 0.0
        return -float(coefficients @ scores(self.around(self.vectors), self.centre))

    def parts(self, rows: Rows, threads: int) -> Iterator[tuple[slice, Points]]:
        """Yield the examples in blocks, in the form that the kernel needs."""
        return parts_of(self.around(rows), threads, as_given=not self.kernel.by_products)

    def fitting(self, rows: Rows) -> Rows:
        """Return rows with as many columns as the training data; sparse rows may have fewer.

        A LIBSVM model does not store the number of columns, so it grows with the rows.
        """
        d = count_columns(rows)
        if self.training.get("widens") and d > self.d:
            self.training["d"] = d
            if isinstance(self.vectors, Csr):
                self.vectors = self.vectors._replace(d=d)
        return super().fitting(rows)

    def check_width(self, d: int, name: str, exactly: bool = False) -> None:
        """Raise if the data have another number of columns, unless the model does not know its own."""
        if exactly or not self.training.get("widens"):
            super().check_width(d, name, exactly)

    def vector_tensors(self) -> dict[str, np.ndarray]:
        """Return the support vectors as arrays of a model file."""
        centre = {} if self.centre is None else {"centre": self.centre}
        return {"support": self.support, **tensors_of(self.vectors), **centre}


def check_places(kernel: Kernel, support: np.ndarray, d: int) -> None:
    """Raise if a row number of a precomputed kernel is not a column of the rows to predict."""
    if isinstance(kernel, Precomputed) and len(support) and not 0 <= support.min() <= support.max() < d:
        raise ValueError("row numbers of support vectors")


def check_widens(training: dict[str, Any], vectors: Rows) -> None:
    """Raise if a model that grows with the rows has dense support vectors."""
    if training.get("widens") and not isinstance(vectors, Csr):
        raise ValueError("widens is true for support vectors that are not sparse")


def tensors_of(rows: Rows) -> dict[str, np.ndarray]:
    """Return rows as arrays of a model file."""
    return {f"vectors.{name}": value for name, value in rows._asdict().items() if name != "d"}


def vectors_of(tensors: dict[str, np.ndarray], d: int, kernel: Kernel) -> Rows:
    """Build rows from the arrays of a model file; raise if they are inconsistent. Compiled code does not check."""
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


def picked_vectors(rows: Rows, support: np.ndarray, kernel: Kernel) -> Rows:
    """Return the support vectors; for a precomputed kernel they have no features, as row numbers suffice."""
    return Dense(np.zeros((len(support), 0))) if isinstance(kernel, Precomputed) else pick(rows, support)
