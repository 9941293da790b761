"""Random problems of the kind that invites rounding, each from one whole number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.dyadic import Dyadic, dyadic

OFFSETS = (0.0, 1e3, 1e5, 1e7, 1.7e9, 1.7e12)
STOCHASTIC = ("sgd", "adaptive", "pegasos", "implicit", "perceptron", "gradient_descent")
MAX_SECONDS = 2.0
KERNEL_SECONDS = 0.4  # a fit of 24 rows that is not done by then rarely will be
FLOAT32_LIMIT = 1e18  # values whose squares float32 still holds


@dataclass(frozen=True, eq=False)
class LinearCase:
    """A linear problem: `given` is X in the storage it is trained in, `X` the same values as a float64 array."""

    seed: int
    X: np.ndarray
    given: Any
    y: np.ndarray
    weights: np.ndarray | None
    loss: str
    C: float
    bias: str
    bias_scale: float
    tol: float
    solvers: tuple[str, ...]
    max_epochs: float

    @property
    def kind(self) -> str:
        """The loss, or what C = ∞ leaves of it."""
        if np.inf > self.C:
            return self.loss
        return "unregularised_logistic" if self.loss == "logistic" else "hard_margin"

    @property
    def effective_bias(self) -> str:
        """Where nothing is regularised, neither is b."""
        return "free" if self.kind == "unregularised_logistic" and self.bias != "none" else self.bias

    @cached_property
    def float_C(self) -> np.ndarray:
        """C_i; where C is infinite, 1 for an example that counts, or its weight in a sum of losses."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        if self.kind == "hard_margin":
            return np.where(weights > 0, 1.0, 0.0)
        return weights if np.inf == self.C else self.C * weights

    @cached_property
    def exact_C(self) -> Dyadic:
        """C_i exactly."""
        return dyadic(self.float_C)

    @cached_property
    def exact_rows(self) -> Dyadic:
        """X exactly."""
        return dyadic(self.X)

    def __str__(self) -> str:
        storage = "csr" if sparse.issparse(self.given) else "dense"
        return (
            f"linear:{self.seed} {len(self.y)}x{self.X.shape[1]} {storage} {self.given.dtype} loss={self.loss} "
            f"C={self.C:.3g} bias={self.bias} tol={self.tol:.1e} weights={self.weights is not None} "
            f"largest={np.max(np.abs(self.X)):.3g}"
        )


@dataclass(frozen=True, eq=False)
class KernelCase:
    """A problem of one of the five kernel formulations; y holds labels ±1 or targets."""

    seed: int
    formulation: str
    X: np.ndarray
    given: Any
    y: np.ndarray
    weights: np.ndarray | None
    kernel: str
    gamma: float
    degree: int
    coef0: float
    C: float
    nu: float
    epsilon: float
    bias: str
    tol: float

    @property
    def kernel_parameters(self) -> dict[str, Any]:
        """The kernel, with those of its parameters that it has."""
        names = {"polynomial": ("gamma", "degree", "coef0"), "gaussian": ("gamma",)}.get(self.kernel, ())
        return {"kernel": self.kernel, **{name: getattr(self, name) for name in names}}

    @cached_property
    def strengths(self) -> np.ndarray:
        """The upper end of each box."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        return weights if self.formulation in ("one-class", "nu-SVC") else self.C * weights

    @cached_property
    def total(self) -> float:
        """ν Σ s, as the formulation computes it: twice the float64 half where there are two groups."""
        whole = float(np.sum(self.strengths))
        return self.nu * whole if self.formulation == "one-class" else 2.0 * (0.5 * self.nu * whole)

    @cached_property
    def exact_rows(self) -> Dyadic:
        """X exactly."""
        return dyadic(self.X)

    @cached_property
    def exact_kernel(self) -> Dyadic:
        """K exactly."""
        from fuzz.exact import kernel_matrix

        return kernel_matrix(self)

    def __str__(self) -> str:
        return (
            f"kernel:{self.seed} {self.formulation} {len(self.y)}x{self.X.shape[1]} {self.kernel} "
            f"gamma={self.gamma:.3g} degree={self.degree} coef0={self.coef0:g} C={self.C:.3g} nu={self.nu:.3g} "
            f"epsilon={self.epsilon:.3g} bias={self.bias} tol={self.tol:.1e} weights={self.weights is not None} "
            f"largest={np.max(np.abs(self.X)):.3g}"
        )


LOSSES = {"hinge": 0.5, "squared_hinge": 0.25, "logistic": 0.25}  # how often; `exact` has their forms


def linear_case(seed: int) -> LinearCase:
    """The linear problem of that number."""
    rng = np.random.default_rng([seed, 1])
    n, d = size(rng, 60), size(rng, 12, least=1)
    X = nasty_rows(rng, n, d)
    X, given = stored(rng, X)
    loss = str(rng.choice([*LOSSES], p=[*LOSSES.values()]))
    bias = str(rng.choice(["free", "regularised", "none"], p=[0.6, 0.25, 0.15]))
    C = np.inf if rng.random() < 0.07 else float(10.0 ** rng.uniform(-6, 12)) if rng.random() < 0.8 else 1.0
    y = labels(rng, X)
    weights = nasty_weights(rng, y)
    solvers = some_solvers(rng, loss, C, bias)
    scale = float(rng.choice([1.0, 1.0, 0.01, 100.0]))
    tol = float(10.0 ** -rng.uniform(2, 10))
    epochs = float(rng.choice([10, 50, 400], p=[0.4, 0.4, 0.2]))
    return LinearCase(seed, X, given, y, weights, loss, C, bias, scale, tol, solvers, epochs)


def streamed_case(seed: int) -> LinearCase:
    """The streamed problem of that number: a linear one without what needs all rows in memory."""
    from maxmargin.solvers import STREAMING_SOLVERS

    case, rng = linear_case(seed), np.random.default_rng([seed, 3])
    C = case.C if np.inf > case.C else float(10.0 ** rng.uniform(-6, 6))
    return replace(case, C=C, weights=None, solvers=(str(rng.choice([*STREAMING_SOLVERS])),))


def kernel_case(seed: int) -> KernelCase:
    """The kernel problem of that number."""
    rng = np.random.default_rng([seed, 2])
    formulation = str(
        rng.choice(["C-SVC", "epsilon-SVR", "nu-SVC", "nu-SVR", "one-class"], p=[0.4, 0.2, 0.1, 0.1, 0.2])
    )
    kernel = str(rng.choice(["linear", "polynomial", "gaussian", "precomputed"], p=[0.25, 0.3, 0.35, 0.1]))
    n, d = size(rng, 24), size(rng, 6, least=1)
    X = nasty_rows(rng, n, d, extremes=kernel in ("linear", "gaussian"))
    if kernel == "precomputed":
        factor = rng.integers(-9, 10, size=(n, d)).astype(float)
        X = given = factor @ factor.T  # whole numbers, so that the float64 matrix is positive semidefinite itself
    else:
        X, given = stored(rng, X)
    signs = labels(rng, X)
    y = signs if formulation in ("C-SVC", "nu-SVC", "one-class") else targets(rng, X)
    spread = max(float(np.mean(np.var(X, axis=0))), 1e-6) if kernel == "gaussian" else 1.0
    gamma = float(10.0 ** rng.uniform(-2, 1)) / spread
    C = float(10.0 ** rng.uniform(-3, rng.choice([3, 10])))
    bias = "none" if formulation == "C-SVC" and rng.random() < 0.2 else "free"
    weights = nasty_weights(rng, signs)
    nu = float(rng.choice([0.1, 0.3, 0.5, 0.9, rng.uniform(0.01, 1.0)]))
    if formulation == "nu-SVC":
        nu *= largest_nu(signs, weights)
    return KernelCase(
        seed, formulation, X, given, y, weights, kernel, gamma, int(rng.choice([2, 3])),
        float(rng.choice([0.0, 1.0, 10.0])), C, nu,
        float(rng.choice([0.0, 0.1, 1e-3, 10.0])), bias, float(10.0 ** -rng.uniform(2, 9)),
    )  # fmt: skip


def size(rng: np.random.Generator, most: int, least: int = 2) -> int:
    """Small numbers more often than large ones."""
    return int(min(most, least + rng.exponential(most / 5)))


def nasty_rows(rng: np.random.Generator, n: int, d: int, extremes: bool = True) -> np.ndarray:
    """Rows with columns far from zero, of different sizes, constant, or of whole numbers; some rows twice."""
    X = rng.normal(size=(n, d)) if rng.random() < 0.6 else rng.integers(-3, 4, size=(n, d)).astype(float)
    for j in np.flatnonzero(rng.random(d) < rng.choice([0.0, 0.3, 0.8])):
        X[:, j] = nasty_column(rng, X[:, j], extremes)
    if n > 3 and rng.random() < 0.2:
        X[rng.integers(n, size=n // 3)] = X[rng.integers(n, size=n // 3)]
    if rng.random() < 0.1:
        X[rng.random((n, d)) < 0.7] = 0.0
    return X


def nasty_column(rng: np.random.Generator, column: np.ndarray, extremes: bool) -> np.ndarray:
    """One column made difficult."""
    n = len(column)
    ways: list[Callable[[], np.ndarray]] = [
        lambda: column + rng.choice(OFFSETS) * rng.choice([-1.0, 1.0]),
        lambda: rng.integers(1900, 2026, size=n).astype(float),
        lambda: column * 10.0 ** rng.uniform(-6, 6 if extremes else 2),
        lambda: np.full(n, rng.choice([0.0, 1.0, -7.25, 1e5])),
        lambda: np.round(rng.choice(OFFSETS) + 1000.0 * column),
        lambda: column * (1e-150 if rng.random() < 0.5 else 1e-20),
        lambda: column * (1e100 if rng.random() < 0.1 else 1e15),
    ]
    return ways[rng.integers(7 if extremes else 5)]()


def stored(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, Any]:
    """The values as they are trained on, and in which storage."""
    kind = rng.choice(["float64", "float32", "int64", "csr", "csr32"], p=[0.5, 0.1, 0.1, 0.2, 0.1])
    if kind in ("float32", "csr32") and np.max(np.abs(X)) < FLOAT32_LIMIT:
        X = X.astype(np.float32).astype(np.float64)
    if kind == "float32" and np.max(np.abs(X)) < FLOAT32_LIMIT:
        return X, X.astype(np.float32)
    if kind == "int64" and np.max(np.abs(X)) < 2.0**53:
        return np.round(X), np.round(X).astype(np.int64)
    if kind.startswith("csr"):
        return X, with_explicit_zeros(rng, X)
    return X, X


def with_explicit_zeros(rng: np.random.Generator, X: np.ndarray) -> sparse.csr_array:
    """Sparse rows in which some of the stored values are 0; empty rows stay empty."""
    kept = (X != 0) | (rng.random(X.shape) < 0.1)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    return sparse.csr_array((X[kept], np.nonzero(kept)[1].astype(np.int32), indptr), shape=X.shape)


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns around 0 and of size 1."""
    moved = X - X.mean(axis=0)
    sizes = np.max(np.abs(moved), axis=0)
    return moved / np.where(sizes > 0, sizes, 1.0)


def labels(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """±1 by a noisy hyperplane, or at random; both occur, one of them perhaps once."""
    n, d = X.shape
    y = np.where(standardised(X) @ rng.normal(size=d) + rng.choice([0.0, 0.2, 2.0]) * rng.normal(size=n) > 0, 1.0, -1.0)
    if rng.random() < 0.1:
        y[:] = -1.0
    y[:2] = rng.permutation([1.0, -1.0])
    return y


def targets(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Numbers to regress on, some far from zero."""
    n, d = X.shape
    z = standardised(X) @ rng.normal(size=d) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
    return z * rng.choice([1.0, 1.0, 1e3]) + rng.choice([0.0, 0.0, 1e3, 1e6])


def nasty_weights(rng: np.random.Generator, y: np.ndarray) -> np.ndarray | None:
    """None, or weights among which are zeros and very different sizes; each class has one that counts."""
    if rng.random() < 0.7:
        return None
    weights = 10.0 ** rng.uniform(-8, 8, size=len(y)) if rng.random() < 0.3 else rng.integers(1, 5, size=len(y)) * 1.0
    weights[rng.random(len(y)) < 0.2] = 0.0
    for sign in (1.0, -1.0):
        weights[np.flatnonzero(y == sign)[0]] = 1.0
    return weights


def largest_nu(y: np.ndarray, weights: np.ndarray | None) -> float:
    """The largest ν for which both classes have enough weight."""
    s = np.ones(len(y)) if weights is None else weights
    return 2.0 * min(float(np.sum(s[y == sign])) for sign in (1.0, -1.0)) / float(np.sum(s))


def some_solvers(rng: np.random.Generator, loss: str, C: float, bias: str) -> tuple[str, ...]:
    """The automatic choice and another solver that takes the problem."""
    from maxmargin.solvers import SOLVERS

    kind = loss if np.inf > C else "unregularised_logistic" if loss == "logistic" else "hard_margin"
    effective = "free" if kind == "unregularised_logistic" and bias != "none" else bias
    takes = {name: solver.takes for name, solver in SOLVERS.items()}
    able = [name for name, taken in takes.items() if kind in taken.kinds and effective in taken.biases]
    weights = np.array([0.4 if name in STOCHASTIC else 1.0 for name in able])
    other = str(rng.choice(able, p=weights / weights.sum()))
    return ("auto", other) if rng.random() < 0.7 else (other,)
