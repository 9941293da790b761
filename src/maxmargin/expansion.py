"""What every kernel model is made of: support vectors, and a kernel to hold examples against them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.errors import DataError
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.points import Points, points_of
from maxmargin.rows.memory import Csr, Dense, Rows, count_columns, count_rows

AT_ONCE = 1 << 22  # numbers of the examples that are written out at once


class Expansion:
    """Support vectors, their row numbers in the training data, and the kernel; the rest is in the models."""

    vectors: Rows
    support: np.ndarray
    kernel: Kernel
    training: dict[str, Any]

    @property
    def d(self) -> int:
        """Features; for a precomputed kernel, training examples."""
        return int(self.training["d"])

    def points(self) -> Points:
        """The support vectors as the kernel wants them."""
        found = points_of(self.vectors, as_given=not self.kernel.by_products)
        return Points(found.rows, found.squares, self.support)

    def parts(self, rows: Rows, threads: int) -> Iterator[tuple[slice, Points]]:
        """The examples to decide on, as the kernel wants them, some at a time."""
        rows = self.fitting(rows)
        step = max(1, AT_ONCE // max(self.d, 1))
        for start in range(0, count_rows(rows), step):
            chosen = np.arange(start, min(start + step, count_rows(rows)))
            as_given = not self.kernel.by_products
            yield slice(start, start + len(chosen)), points_of(rows, chosen, threads=threads, as_given=as_given)

    def fitting(self, rows: Rows) -> Rows:
        """Rows with as many columns as there were in training: sparse ones may have fewer."""
        if isinstance(rows, Csr) and count_columns(rows) <= self.d:
            return rows._replace(d=self.d)
        self.check_width(count_columns(rows), "X", exactly=True)
        return rows

    def check_width(self, d: int, name: str, exactly: bool = False) -> None:
        """Refuse data with more columns than there were in training, or with fewer too."""
        if d > self.d or (exactly and d != self.d):
            what = "columns" if isinstance(self.kernel, Precomputed) else "features"
            raise DataError(
                f"{name} has {d} {what}, but the model was trained with {self.d}: "
                "predict on data prepared like the training data"
            )

    def vector_tensors(self) -> dict[str, np.ndarray]:
        """The support vectors as arrays, for a file."""
        arrays = {name: value for name, value in self.vectors._asdict().items() if name != "d"}
        return {"support": self.support, **{f"vectors.{name}": value for name, value in arrays.items()}}


def vectors_of(tensors: dict[str, np.ndarray], d: int) -> Rows:
    """The way back."""
    values = tensors["vectors.values"]
    if "vectors.indices" not in tensors:
        return Dense(values)
    return Csr(values, tensors["vectors.indices"], tensors["vectors.indptr"], d)
