"""Kernel models of one function, Σ c_i K(x_i, x) + b: regression, and the one class of what is usual."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate
from maxmargin.cores import thread_count
from maxmargin.expansion import Expansion
from maxmargin.kernel_blocks import combination
from maxmargin.kernels import Kernel
from maxmargin.rows.memory import Rows, count_rows
from maxmargin.rows.take import take


@dataclass(eq=False)
class KernelFunction(Expansion):
    """A function of examples.

    Parameters
    ----------
    vectors, support : the support vectors, and their row numbers in the training data
    coefficients : one for each of them
    b : the constant
    width : ε of ν-SVR, else 0
    kernel : what takes the place of the inner product
    certificate : of the training
    training : words about the training
    """

    vectors: Rows = field(repr=False)
    support: np.ndarray = field(repr=False)
    coefficients: np.ndarray = field(repr=False)
    b: float
    width: float
    kernel: Kernel
    certificate: Certificate
    training: dict[str, Any] = field(default_factory=dict)

    def decide(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Its value for each row."""
        rows, threads = take(X), thread_count(threads)
        found, vectors = np.full(count_rows(rows), self.b), self.points()
        for part, many in self.parts(rows, threads):
            found[part] += combination(self.kernel, many, vectors, self.coefficients[:, None], threads)[:, 0]
        return found
