"""Kernels: what takes the place of ⟨x, z⟩, a block of examples against a block of examples at a time.

    linear        ⟨x, z⟩
    polynomial    (γ⟨x, z⟩ + r)^p         all degrees up to p; with r = 0 exactly p
    gaussian      exp(−γ‖x − z‖²)         γ, or σ where γ = 1/(2σ²)
    sigmoid       tanh(γ⟨x, z⟩ + r)       not positive definite: nothing is convex, and nothing can be certified
    precomputed   a matrix that the caller brings
    a function    f(X, Z), which returns the matrix of all K(x, z)

`definite` says whether K is positive semidefinite for whatever data; None where only the caller can know.

`error` bounds what rounding does to Σ_j |c_j| K(x, z_j), for every x, by the lengths of x and z alone: an inner product
errs by at most γ_m ‖x‖ ‖z‖, and that is carried through the function (see rounding).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import comb
from typing import Any, ClassVar, Protocol

import numpy as np

from maxmargin.data.columns import centre_of
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels.exponential import gaussian, gaussian_32
from maxmargin.kernels.points import Few, Points, few_of, matrix_of, products
from maxmargin.system.budget import check_columns
from maxmargin.system.rounding import gamma
from maxmargin.system.values import is_number

BLOCK = 256  # rows of a precomputed kernel that are compared with its columns at once
SYMMETRY = 1e-6  # float32 rounds
MOST_DEGREE = 10_000  # of a polynomial in a file: its cost grows with the degree
EXPONENTIAL = 32  # roundings of e^t: its series, and the last product
NAMES = {"rbf": "gaussian", "poly": "polynomial"}


class Kernel(Protocol):
    """A function of two examples."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def definite(self) -> bool | None:
        """Whether all its matrices are positive semidefinite."""

    @property
    def by_products(self) -> bool:
        """Whether it is a function of inner products; else it takes the examples as they were given."""

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """K(x, z) for every x of many and z of few, into `out`, in its type."""

    def diagonal(self, A: Points) -> np.ndarray:
        """K(a, a) for every a of A, in float64."""

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """A bound on Σ_j c_j |error of K(x, z_j)| for every x, with c_j ≥ 0.

        `x` and `z` are the lengths ‖x‖ and ‖z_j‖, `sizes` ≥ Σ_j c_j |K(x, z_j)|, and a row stores at most `longest`.
        """


@dataclass(frozen=True)
class Linear:
    """⟨x, z⟩."""

    name: ClassVar[str] = "linear"
    by_products: ClassVar[bool] = True
    definite: ClassVar[bool] = True

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """The products as they are."""
        products(many, few, out)

    def diagonal(self, A: Points) -> np.ndarray:
        """‖a‖²."""
        return A.squares

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """γ_m ‖x‖ Σ c_j ‖z_j‖."""
        return np.asarray(gamma(longest + 4) * x * float(c @ z))


@dataclass(frozen=True)
class Polynomial:
    """(γ⟨x, z⟩ + r)^p."""

    name: ClassVar[str] = "polynomial"
    by_products: ClassVar[bool] = True

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def definite(self) -> bool:
        """A sum of powers of products, unless r is negative."""
        return self.coef0 >= 0.0

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """The products, scaled and shifted, and multiplied by themselves."""
        products(many, few, out)
        out *= self.gamma
        out += self.coef0
        base = out.copy() if self.degree > 1 else out
        for _ in range(self.degree - 1):
            out *= base

    def diagonal(self, A: Points) -> np.ndarray:
        """The same of ‖a‖²."""
        return np.asarray((self.gamma * A.squares + self.coef0) ** self.degree)

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """A part of Σ c_j (γ‖x‖‖z_j‖ + |r|)^p, spelt out by the powers of ‖z_j‖: each of p factors errs by γ_m."""
        r, p = abs(self.coef0), self.degree
        powers = [comb(p, k) * self.gamma**k * r ** (p - k) * float(c @ z**k) for k in range(p + 1)]
        return np.asarray(gamma(p * (longest + 8)) * np.polynomial.polynomial.polyval(x, powers))


@dataclass(frozen=True)
class Gaussian:
    """exp(−γ‖x − z‖²), where ‖x − z‖² = ‖x‖² − 2⟨x, z⟩ + ‖z‖²."""

    name: ClassVar[str] = "gaussian"
    by_products: ClassVar[bool] = True
    definite: ClassVar[bool] = True

    gamma: float = 1.0

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Of the products."""
        products(many, few, out)
        a, b = (np.asarray(self.gamma * points.squares, dtype=out.dtype) for points in (many, few.points))
        finish = gaussian if out.dtype == np.float64 else gaussian_32
        finish(out, a, b, out.dtype.type(2.0 * self.gamma))

    def diagonal(self, A: Points) -> np.ndarray:
        """1."""
        return np.ones(len(A))

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """The exponent errs by δ ≤ γ_2m γ (‖x‖² + ‖z‖²), so K by a part of at most e^δ − 1, and by 1 at the most."""
        farthest = float(np.max(z, initial=0.0)) ** 2
        part = np.expm1(np.minimum(gamma(2 * longest + 16) * self.gamma * (x * x + farthest), 1.0))
        return np.asarray(np.where(part < 1.0, (part + gamma(EXPONENTIAL)) * sizes, float(np.sum(c))))


@dataclass(frozen=True)
class Sigmoid:
    """tanh(γ⟨x, z⟩ + r)."""

    name: ClassVar[str] = "sigmoid"
    by_products: ClassVar[bool] = True
    definite: ClassVar[bool] = False

    gamma: float = 1.0
    coef0: float = 0.0

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Of the products."""
        products(many, few, out)
        out *= self.gamma
        out += self.coef0
        np.tanh(out, out=out)

    def diagonal(self, A: Points) -> np.ndarray:
        """The same of ‖a‖²."""
        return np.asarray(np.tanh(self.gamma * A.squares + self.coef0))

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """That of its argument: tanh rises by no more than it."""
        inner = self.gamma * x * float(c @ z) + abs(self.coef0) * float(np.sum(c))
        return np.asarray(gamma(longest + 8) * inner + gamma(8) * float(np.sum(c)))


@dataclass(frozen=True)
class Precomputed:
    """The caller's matrix: its row x, at the place that z has in the training data."""

    name: ClassVar[str] = "precomputed"
    by_products: ClassVar[bool] = False
    definite: ClassVar[bool | None] = None

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """Looked up."""
        found = matrix_of(many.rows)[:, few.points.places]
        out[...] = found.toarray() if hasattr(found, "toarray") else found

    def diagonal(self, A: Points) -> np.ndarray:
        """Looked up."""
        found = matrix_of(A.rows)[np.arange(len(A)), A.places]
        return np.asarray(found, dtype=np.float64).reshape(-1)

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """None: the matrix is what the caller brings."""
        return np.zeros_like(x)


@dataclass(frozen=True)
class Custom:
    """The caller's function of two matrices."""

    name: ClassVar[str] = "custom"
    by_products: ClassVar[bool] = False
    definite: ClassVar[bool | None] = None

    function: Callable[[Any, Any], Any]

    def fill(self, many: Points, few: Few, out: np.ndarray) -> None:
        """What the function says, if it is a matrix of that shape, of numbers."""
        found = self.function(matrix_of(many.rows), matrix_of(few.points.rows))
        found = np.asarray(found.toarray() if hasattr(found, "toarray") else found)
        if found.shape != out.shape:
            raise DataError(
                f"the kernel function returned shape {found.shape} for {len(many)} rows against "
                f"{len(few.points)}: it must return {out.shape}, K(x, z) for every pair"
            )
        if found.dtype.kind not in "biuf" or not np.all(np.isfinite(found)):
            raise DataError("the kernel function returned a value that is no finite number (NaN or inf)")
        out[...] = found

    def diagonal(self, A: Points) -> np.ndarray:
        """One example at a time."""
        values = np.empty((len(A), 1, 1))
        for k in range(len(A)):
            one = A.pick(np.array([k]))
            self.fill(one, few_of(one), values[k])
        return values.reshape(-1)

    def error(self, x: np.ndarray, z: np.ndarray, c: np.ndarray, sizes: np.ndarray, longest: int) -> np.ndarray:
        """None: the kernel is what the function returns."""
        return np.zeros_like(x)


def find_kernel(
    kernel: Any,
    rows: Rows,
    *,
    gamma: Any = "scale",
    sigma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
    weights: np.ndarray | None = None,
) -> Kernel:
    """The kernel that a user means, for these rows: γ may be "scale", 1/(d var X), or "auto", 1/d."""
    if callable(kernel):
        return Custom(kernel)
    name = NAMES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    if isinstance(rows, Csr) and name != "precomputed":
        check_columns(count_columns(rows))
    if name == "linear":
        return Linear()
    if name == "precomputed":
        check_square(rows)
        return Precomputed()
    if name == "gaussian":
        return Gaussian(checked_gamma(gamma, rows, weights) if sigma is None else gamma_of(sigma))
    if name == "sigmoid":
        return Sigmoid(checked_gamma(gamma, rows, weights), checked_number("coef0", coef0))
    if name == "polynomial":
        return Polynomial(checked_degree(degree), checked_gamma(gamma, rows, weights), checked_number("coef0", coef0))
    raise ParameterError(
        f"kernel={kernel!r} is not known: choose linear, polynomial, gaussian (rbf), sigmoid, precomputed or a function"
    )


def kernel_centre(kernel: Kernel, rows: Rows, balanced: bool) -> np.ndarray | None:
    """What may be subtracted from all examples without changing the problem, where columns are far from 0.

    A Gaussian sees differences only. Of a linear kernel the shift enters b alone if the coefficients add up to 0.
    """
    free = isinstance(kernel, Gaussian) or (isinstance(kernel, Linear) and balanced)
    return centre_of(rows) if free and count_columns(rows) else None


def check_gamma(gamma: Any) -> None:
    """Refuse what is neither a γ nor a way to find one."""
    if isinstance(gamma, str) and gamma in ("auto", "scale"):
        return
    if not checked_number("gamma", gamma, ' or "scale" or "auto"') > 0.0:
        raise ParameterError(f'gamma={gamma!r} must be above 0, or "scale" or "auto"')


def checked_gamma(gamma: Any, rows: Rows, weights: np.ndarray | None = None) -> float:
    """γ as a number; examples count by their weights."""
    check_gamma(gamma)
    d = max(count_columns(rows), 1)
    if gamma == "auto":
        return 1.0 / d
    if gamma == "scale":
        variance = variance_of(rows, weights)
        return 1.0 / (d * variance) if variance > 0.0 else 1.0
    return float(gamma)


def gamma_of(sigma: Any) -> float:
    """γ of a Gaussian of width σ."""
    if not 1e-100 < checked_number("sigma", sigma) < 1e100:
        raise ParameterError(f"sigma={sigma!r} must be above 0, and within 1e±100: the width of the Gaussian")
    return 0.5 / float(sigma) ** 2


def checked_number(name: str, value: Any, otherwise: str = "") -> float:
    """A finite number."""
    if not is_number(value) or not np.isfinite(value):
        raise ParameterError(f"{name}={value!r} must be a finite number{otherwise}")
    return float(value)


def checked_degree(degree: Any) -> int:
    """A whole number above 0."""
    if checked_number("degree", degree) != np.floor(degree):
        raise ParameterError(f"degree={degree!r} must be a whole number, 1 or above")
    if degree < 1:
        raise ParameterError(f"degree={degree!r} must be 1 or above: a polynomial of degree 0 is the same everywhere")
    return int(degree)


def variance_of(rows: Rows, weights: np.ndarray | None = None) -> float:
    """The variance of all values, zeros that are not stored among them; a weight of 2 counts as two equal rows."""
    n, d = count_rows(rows), count_columns(rows)
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(np.sum(weights)) * d
    if not total > 0.0:
        return 0.0
    if isinstance(rows, Dense):
        mean = float(np.sum(weights @ rows.values)) / total
        return float(weights @ np.sum(np.square(rows.values - mean, dtype=np.float64), axis=1)) / total
    shares = np.repeat(weights, np.diff(rows.indptr))
    mean = float(shares @ rows.values) / total
    missing = total - float(np.sum(shares))
    return (float(shares @ np.square(rows.values - mean, dtype=np.float64)) + missing * mean**2) / total


def check_square(rows: Rows) -> None:
    """A precomputed kernel has a column for each row, and says the same from both sides."""
    n, d = count_rows(rows), count_columns(rows)
    if n != d:
        raise DataError(f"the precomputed kernel has shape ({n}, {d}): it must be square, a column for each row")
    K = matrix_of(rows)
    sizes = np.sqrt(np.abs(np.asarray(K.diagonal())))
    for start in range(0, n, BLOCK):
        lines, columns = K[start : start + BLOCK], K[:, start : start + BLOCK].T
        if hasattr(K, "toarray"):
            lines, columns = lines.toarray(), columns.toarray()
        size = np.maximum(np.maximum(np.abs(lines), np.abs(columns)), np.outer(sizes[start : start + BLOCK], sizes))
        wrong = np.abs(lines - columns) > SYMMETRY * size
        if wrong.any():
            i, j = (int(place[0]) for place in np.nonzero(wrong))
            i += start
            raise DataError(
                f"the precomputed kernel is not symmetric: K[{i}, {j}] is {K[i, j]:g}, K[{j}, {i}] is {K[j, i]:g}"
            )


def kernel_metadata(kernel: Kernel) -> dict[str, Any]:
    """The kernel as words, for a file."""
    if isinstance(kernel, Custom):
        raise ParameterError("a model with a kernel that is a Python function cannot be saved: no file holds code")
    return {"name": kernel.name, **asdict(kernel)}  # type: ignore[call-overload]


def kernel_of(metadata: dict[str, Any]) -> Kernel:
    """The kernel that `kernel_metadata` described."""
    kinds: dict[str, Any] = {kind.name: kind for kind in (Linear, Polynomial, Gaussian, Sigmoid, Precomputed)}
    rest = {name: value for name, value in metadata.items() if name != "name"}
    if not isinstance(metadata.get("name"), str) or metadata["name"] not in kinds:
        raise ValueError(f"the kernel is not one of {', '.join(kinds)}")
    for name, value in rest.items():
        checked_number(name, value)
    if rest.get("gamma", 0.0) < 0.0:
        raise ValueError(f"gamma of the kernel is {rest['gamma']}, below 0")
    degree = rest.get("degree", 1)
    if type(degree) is not int or not 1 <= degree <= MOST_DEGREE:
        raise ValueError(f"degree of the kernel is {degree}, not a whole number from 1 to {MOST_DEGREE}")
    return kinds[metadata["name"]](**rest)  # type: ignore[no-any-return]
