"""Small problems on which solvers are checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.data.take import take
from maxmargin.kernels.functions import Gaussian
from maxmargin.problems.formulations import c_svc
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import BIASES, Problem, pose
from maxmargin.problems.losses import LOSSES


def overlapping(n: int = 60, d: int = 5, seed: int = 0, flip: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Return two noisy classes, with values that float32 represents exactly, some zeros, and an empty row."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 64) / 64 * (rng.random((n, d)) < 0.7)
    y = np.where(X @ rng.normal(size=d) + 0.5 + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[rng.random(n) < flip] *= -1
    X[0] = 0.0
    y[:2] = -1.0, 1.0
    return X, y


def posed(X: Any, y: Any, **options: Any) -> Problem:
    """Return the linear problem of these rows and labels ±1."""
    return pose(take(X), np.asarray(y, dtype=np.float64), **options)


def separable() -> tuple[np.ndarray, np.ndarray]:
    """Return four points that a line through the origin separates, and their labels."""
    return np.array([[-2.0, 0.0], [-1.0, 0.5], [1.0, -0.5], [2.0, 0.0]]), np.array([-1.0, -1.0, 1.0, 1.0])


def every_problem(n: int = 60) -> Iterator[Problem | KernelProblem]:
    """Yield a problem for every loss and bias, with C finite and infinite, and C-SVC with a Gaussian kernel."""
    X, y = overlapping(n)
    for loss in LOSSES.values():
        limit = (X, y) if loss.limit == "unregularised" else separable()  # data with an optimum at C = ∞
        for bias in BIASES:
            yield posed(X, y, loss=loss.name, bias=bias)
            yield posed(*limit, loss=loss.name, bias=bias, C=np.inf)
    for bias in ("free", "none"):
        yield KernelProblem(take(X), Gaussian(0.5), c_svc(y, np.full(n, 2.0), bias))
