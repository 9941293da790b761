"""The contract of a kernel: tiles as defined, symmetric, positive semidefinite if declared, within its error bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.data.take import take
from maxmargin.kernels.functions import Custom, Kernel, kernel_metadata, kernel_of
from maxmargin.kernels.points import Points, points_of
from maxmargin.kernels.tiles import combination, rows_of_kernel
from maxmargin.system.rounding import SMALLEST
from maxmargin.testing.checks import check, check_close

Definition = Callable[[Any, Any], Any]

INDEFINITE = 1e-10  # tolerance of negative eigenvalues, relative to the largest one
LARGE = 100.0  # rounding errors are measured absolutely if all values are smaller, else relative to them


def examples(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two sets of rows, the first sparse."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(37, 6)), rng.normal(size=(11, 6))
    X[rng.random(X.shape) < 0.8] = 0.0
    return X, Z


def check_kernel(kernel: Kernel, definition: Definition | None = None) -> None:
    """Check the properties that training, certificates and model files rely on.

    `definition`, if given, computes K(X, Z) for arrays of rows with plain NumPy. Tiles are then compared with it, and
    the error bound is checked against it in higher precision.

    Examples
    --------
    >>> from maxmargin.kernels.functions import Polynomial
    >>> check_kernel(Polynomial(2, 0.7, 1.0), lambda X, Z: (0.7 * X @ Z.T + 1.0) ** 2)
    """
    from scipy import sparse

    X, Z = examples()
    if not kernel.by_products and not isinstance(kernel, Custom):  # precomputed: rows are looked up, not multiplied
        X = Z = X @ X.T
    check_symmetric(kernel, X)
    check_diagonal(kernel, X)
    check_metadata(kernel)
    if definition is not None:
        for storage in (np.asarray, sparse.csr_matrix):
            check_tiles(kernel, definition(X, Z), storage(X), storage(Z), np.float32)
            check_tiles(kernel, definition(X, Z), storage(X), storage(Z), np.float64)
        if kernel.by_products:  # a precomputed matrix or a custom function counts as exact
            check_error(kernel, definition, X, Z)


def check_symmetric(kernel: Kernel, X: np.ndarray) -> None:
    """Check K(x, z) = K(z, x), and that K is positive semidefinite if the kernel declares it."""
    K = matrix(kernel, points_of(take(X), as_given=not kernel.by_products))
    check_close(K, K.T, f"{kernel} is not symmetric", atol=1e-13 * size_of(K))
    if kernel.definite:
        values = np.linalg.eigvalsh(0.5 * (K + K.T))
        check(values[0] >= -INDEFINITE * values[-1], f"{kernel} says that it is definite: an eigenvalue is {values[0]}")


def check_diagonal(kernel: Kernel, X: np.ndarray) -> None:
    """Check that the diagonal is the kernel of each example with itself."""
    points = points_of(take(X), as_given=not kernel.by_products)
    K = matrix(kernel, points)
    check_close(kernel.diagonal(points), np.diag(K), f"diagonal of {kernel}", atol=1e-13 * size_of(K))


def check_tiles(
    kernel: Kernel, expected: np.ndarray, X: Any, Z: Any, dtype: type, rng: np.random.Generator | None = None
) -> None:
    """Check that tiles of K and sums over them match `expected`, for values of type `dtype`."""
    many, few = (points_of(take(A), dtype=dtype, as_given=not kernel.by_products) for A in (X, Z))
    out: np.ndarray = np.empty((len(few), len(many)), dtype)
    rows_of_kernel(kernel, few, many, out, threads=2)
    single = dtype is np.float32
    size = size_of(expected)
    check_close(out.T, expected, f"tiles of {kernel}", atol=(1e-5 if single else 1e-13) * size)
    weights = (rng or np.random.default_rng(1)).normal(size=(len(few), 3))
    found = combination(kernel, many, few, weights, threads=2)
    atol = (1e-4 if single else 1e-12) * size
    check_close(found, expected @ weights, f"sums over {kernel}", atol=atol)


def check_error(kernel: Kernel, definition: Definition, X: np.ndarray, Z: np.ndarray) -> None:
    """Check that the error bound exceeds the rounding errors, also for rows of very different norms."""
    for scale in (1.0, 30.0, 1e-3):
        many, few = (points_of(take(scale * A), as_given=not kernel.by_products) for A in (X, Z))
        found = np.empty((len(few), len(many)))
        rows_of_kernel(kernel, few, many, found)
        long = (np.asarray(scale * A, dtype=np.longdouble) for A in (X, Z))
        wrong = np.abs(found.T - definition(*long))
        c = np.linspace(0.1, 2.0, len(few))
        sizes = np.abs(found.T) @ c
        x, z = np.sqrt(many.squares), np.sqrt(few.squares)
        bound = kernel.error(x, z, c, sizes, X.shape[1]) + SMALLEST  # a Gaussian ends at e^−708 instead of at 0
        check(np.all(wrong @ c <= bound), f"{kernel}: rounding errors are above the bound of `error`, scale {scale}")


def check_metadata(kernel: Kernel) -> None:
    """Check that the metadata in a model file restore the kernel."""
    if not isinstance(kernel, Custom):
        found = kernel_of(json.loads(json.dumps(kernel_metadata(kernel))))
        check(found == kernel, f"{kernel} comes back from a file as {found}")


def size_of(K: np.ndarray) -> float:
    """Return the scale relative to which rounding errors of these values are measured."""
    return max(float(np.abs(K).max()) / LARGE, 1.0)


def matrix(kernel: Kernel, points: Points) -> np.ndarray:
    """Return K of all pairs."""
    K = np.empty((len(points), len(points)))
    rows_of_kernel(kernel, points, points, K)
    return K
