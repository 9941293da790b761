"""All kernel problems in one form.

    dual     max_β  D(β) = −½ βᵀK′β − qᵀβ,        lo_i ≤ β_i ≤ hi_i,     Σ_{i in group g} β_i = c_g
    primal   min_b  P(β, b) = ½ βᵀK′β + Σ hi_i (R_i)₊ − lo_i (−R_i)₊ + Σ_g c_g b_g,    R_i = F_i − b_g(i),  F = −K′β − q

with K′_ij = t_i t_j K(x_r(i), x_r(j)), t = ±1. Variable i belongs to row r(i). The arrays determine the formulation:

    formulation  variables                       t      q            [lo, hi]              groups: sums
    C-SVC        β_i = α_i y_i                   1      −y_i         [0, C_i] y_i          all: 0
    ε-SVR        two for each row                1      ε − z, −ε − z   [0, C], [−C, 0]    all: 0
    one-class    one for each row                1      0            [0, s_i]              all: ν Σ s
    ν-SVC        β_i = α_i                       y_i    0            [0, s_i]              each class: ½ ν Σ s
    ν-SVR        two for each row                1, −1  −z, z        [0, C]                each sign: ½ ν Σ C

Without a bias, C-SVC and ε-SVR have no group, and b = 0. The scores are f = Σ t_i β_i K(x_r(i), ·), so a model has one
coefficient for each row. With one group, b = b_1. With two groups, b = ½(b_1 − b_2), and ½(b_1 + b_2) is −ρ or ε.

The optimum of one-class, ν-SVC and ν-SVR can be 0 (the origin is inside the data), and so can that of ε-SVR (constant
targets). A gap relative to it would be meaningless, so the relative gap uses `scale` instead.

For any (β, b),   P(β, b) − D(β) = Σ (hi_i − β_i)(R_i)₊ + (β_i − lo_i)(−R_i)₊ ≥ 0,   and it bounds P − P* if K is
positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import Dense, Rows, count_stored
from maxmargin.errors import DataError
from maxmargin.kernels.functions import Gaussian, Kernel, Precomputed
from maxmargin.kernels.held_rows import KernelRows
from maxmargin.kernels.points import Points, centred, no_points, parts_of, points_of
from maxmargin.kernels.row_sums import sum_of_rows
from maxmargin.kernels.tiles import additions, combination, rows_of_kernel, symmetric_matrix
from maxmargin.problems.in_memory import InMemory, Offer
from maxmargin.system.lazy import lazy
from maxmargin.system.rounding import gamma
from maxmargin.system.threads import free_memory

BATCH_COST = 1 << 16  # Cost of setting up a batch, in visited numbers.
EXACT = 1 << 20  # Kernel matrices with no more numbers (8 MB) are held in float64.
LARGE_FOR_FLOAT32 = 1e30  # K(x, x): sums of larger values times coefficients may overflow float32 (3e38).
FAR_FOR_FLOAT32 = 1e4  # γ‖x‖²: larger values have fewer than three digits after the decimal point in float32.
DENSE_FROM = 10.0  # γ‖x‖²: smaller values keep six digits in float32, so rows need no centring and may be sparse.
ZERO_SLOPE = 1e-12  # Relative to Σ (hi − lo): a smaller slope of P in b is a rounding error.
FEW_ROWS = 2  # If fewer rows than one in this many have a coefficient, only these rows of K are multiplied: measured.
TARGET_SCALE = 1e-9  # Of Σ C |q|, for `scale`: far above rounding errors, far below the objective of any useful fit.
MOST_TESTED = 2000  # Examples on which a kernel is tested for definiteness: its Cholesky factor takes n³/3 steps.
TINY_KERNEL = 1e-250  # K(x, x): products of smaller values, and quotients by them, underflow or overflow.
DIAGONAL_SHIFT = 1e-6  # Relative to the mean diagonal, in the test for definiteness: allows for matrices in float32.


class Formulation(NamedTuple):
    """The arrays of one formulation; `start` is a feasible β."""

    kind: str
    row: np.ndarray
    t: np.ndarray
    q: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    group: np.ndarray
    sums: np.ndarray
    start: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """The labels ±1 of a C-SVC."""
        return -self.q

    def members(self, g: int) -> Any:
        """Return an index of the variables of group g."""
        return slice(None) if len(self.sums) == 1 else self.group == g

    @property
    def width(self) -> np.ndarray:
        """The width hi − lo of each box; C_i for a C-SVC."""
        return np.asarray(self.hi - self.lo)


@dataclass(frozen=True, eq=False)
class KernelProblem(InMemory):
    """A formulation with its examples and kernel; `cache` limits the bytes of the kernel matrix in memory."""

    rows: Rows
    kernel: Kernel
    formulation: Formulation
    cache: float | None = None
    threads: int = field(default=1, kw_only=True)
    name: str = field(default="", kw_only=True)
    part_of: Callable[[], np.ndarray] | None = field(default=None, kw_only=True)  # takes K from one that is known

    def offer(self, point: Any) -> Any:
        """Return an Offer, which certifies the point on demand."""
        from maxmargin.problems import kernel_certificate  # it imports this module

        return Offer(kernel_certificate.certify_kernel, self, point)

    def tightened(self, point: Any, found: Any) -> Any:
        """Certify a point again, with a smaller rounding bound if there is one for the kernel."""
        from maxmargin.problems import kernel_certificate  # it imports this module

        tight = isinstance(self.kernel, Gaussian)
        return kernel_certificate.certify_kernel(self, point, tight=True) if tight else found

    @property
    def convex(self) -> bool:
        """Whether the problem is convex, so that a lower objective is better: not if the kernel is indefinite."""
        return self.bounded

    @property
    def kind(self) -> str:
        """The name of the formulation."""
        return self.formulation.kind

    @property
    def bias(self) -> str:
        """Return "free" or "none"."""
        return "free" if len(self.formulation.sums) else "none"

    @lazy
    def bounded(self) -> bool:
        """Whether points have finite certificates: only if the kernel is positive semidefinite."""
        known = self.kernel.definite
        return seems_definite(self) if known is None else known

    @property
    def zero_is_feasible(self) -> bool:
        """Whether β = 0 is feasible with D(0) = 0: all sums must be 0 and the problem convex."""
        return self.bounded and not np.any(self.formulation.sums)

    @property
    def nnz(self) -> int:
        """The cost of an epoch in numbers: a row of the kernel for each example, at least the cost of a batch."""
        return max(count_stored(self.rows), self.n * self.n, BATCH_COST)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that identify the problem among those with the same rows."""
        return self.formulation[1:]

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers and names that identify the problem."""
        return {"n": self.n, "d": self.d, "formulation": self.kind, "bias": self.bias, "kernel": repr(self.kernel)}

    @lazy
    def one_a_row(self) -> bool:
        """Whether variable i belongs to row i, for all i."""
        return self.plain or np.array_equal(self.formulation.row, np.arange(self.n))

    @lazy
    def plain(self) -> bool:
        """Whether variable i is the coefficient of row i, for all i."""
        return self.kind in ("C-SVC", "one-class")

    @lazy
    def points(self) -> Points:
        """The examples in the type of the held kernel rows; centred for a Gaussian kernel."""
        if isinstance(self.kernel, Gaussian):
            return centred(self.around(), self.dtype, self.threads)
        return self.points_of(None, self.dtype)

    def around(self) -> Points:
        """Return the examples before centring. An array far from the origin stays dense, so that it can be centred."""
        assert isinstance(self.kernel, Gaussian)
        far = self.kernel.gamma * np.max(self.squared_norms) > DENSE_FROM
        return points_of(self.rows, threads=self.threads, dense=bool(far))

    def points_of(self, chosen: np.ndarray | None, dtype: type = np.float64) -> Points:
        """Return some or all examples in the form that the kernel needs."""
        as_given = not self.kernel.by_products
        return points_of(self.rows, chosen, dtype=dtype, threads=self.threads, as_given=as_given)

    @lazy
    def dtype(self) -> type:
        """The type of the held kernel rows: float64 for a small matrix or if float32 is too imprecise, else float32."""
        small = self.n * self.n <= EXACT
        return (
            np.float64 if small or np.max(np.abs(self.diagonal)) > LARGE_FOR_FLOAT32 or self.far_apart() else np.float32
        )

    def far_apart(self) -> bool:
        """Whether float32 loses the distances in a Gaussian kernel, even after centring."""
        kernel = self.kernel
        if not isinstance(kernel, Gaussian) or kernel.gamma * np.max(self.squared_norms) <= FAR_FOR_FLOAT32:
            return False
        return bool(kernel.gamma * np.max(centred(self.around()).squares) > FAR_FOR_FLOAT32)

    @lazy
    def held(self) -> KernelRows:
        """The cache of kernel rows."""
        budget = 0.25 * free_memory() if self.cache is None else self.cache
        return KernelRows(self.kernel, self.points, self.dtype, budget, self.threads)

    @lazy
    def matrix(self) -> np.ndarray:
        """K of all rows, in float64. Only for small problems: it takes n² numbers."""
        if self.part_of is not None:
            return self.part_of()
        points = self.points_of(None)
        if isinstance(points.rows, Dense) and self.kernel.by_products:
            return symmetric_matrix(self.kernel, points, self.threads)
        K = np.empty((self.n, self.n))
        rows_of_kernel(self.kernel, points, points, K, self.threads)
        return K

    @lazy
    def signed_matrix(self) -> np.ndarray:
        """K′ of all variables."""
        formulation = self.formulation
        if not self.one_a_row:
            at = np.ix_(formulation.row, formulation.row)
            return np.asarray(self.matrix[at] * np.outer(formulation.t, formulation.t))
        return self.matrix if self.plain else self.matrix * np.outer(formulation.t, formulation.t)

    @lazy
    def scale(self) -> float:
        """The least denominator of the relative gap.

        It is 0 for C-SVC. For one-class and ν-SVC it is ½ Σ β_i² K_ii at the start, the value of ½‖w‖² if the examples
        were orthogonal. For regression it is 1e-9 of the loss of the targets at w = 0.
        """
        formulation = self.formulation
        if formulation.kind == "C-SVC":
            return 0.0
        if np.any(formulation.q):
            return TARGET_SCALE * float(np.sum(formulation.width * np.abs(formulation.q)))
        return 0.5 * float(np.sum(np.square(formulation.start) * self.diagonal))

    @lazy
    def diagonal(self) -> np.ndarray:
        """K′_ii of every variable."""
        return self.row_diagonal if self.plain else np.asarray(self.row_diagonal[self.formulation.row])

    @lazy
    def row_diagonal(self) -> np.ndarray:
        """K_ii of every row; raises if one is not finite."""
        every = Points(self.rows, self.squared_norms, np.arange(self.n))
        found = self.kernel.diagonal(every)
        if not np.all(np.isfinite(found)):
            place = int(np.argmin(np.isfinite(found)))
            raise DataError(
                f"the kernel of row {place} (counted from 0) with itself is {found[place]}: scale the features, or "
                "take a smaller gamma or degree"
            )
        if 0.0 < np.max(found, initial=0.0) < TINY_KERNEL:
            raise DataError(f"the kernel of every row with itself is below {TINY_KERNEL:g}: scale the features up")
        return found

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """Return the coefficient of each row in the scores: Σ t_i β_i over its variables."""
        formulation = self.formulation
        if self.plain:
            return beta.copy()
        return np.bincount(formulation.row, formulation.t * beta, self.n)

    def forces(self, f: np.ndarray) -> np.ndarray:
        """Return F of every variable, from the scores f of the rows."""
        formulation = self.formulation
        if self.plain:
            return np.asarray(-f - formulation.q)
        return np.asarray(-formulation.t * f[formulation.row] - formulation.q)

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """Return the scores of all rows, in float64."""
        return self.sums(self.coefficients(beta))

    @property
    def has_matrix(self) -> bool:
        """Whether the whole kernel matrix is known."""
        return "matrix" in self.__dict__

    def score_errors(self, coefficients: np.ndarray, tight: bool = False) -> np.ndarray:
        """Return bounds on the rounding errors of all scores, of the kernel values and of the sum.

        They are relative to Σ_j |c_j K(x_i, x_j)|. Its bound by Cauchy and Schwarz takes no time. With `tight`, the sum
        itself is computed for a kernel with positive values.
        """
        c = np.abs(coefficients)
        if tight and isinstance(self.kernel, Gaussian):
            sizes = 1.1 * self.sums(c)
        else:
            roots = np.sqrt(np.maximum(self.row_diagonal, 0.0))
            sizes = roots * float(c @ roots)
        errors = self.kernel.error(self.norms, self.norms, c, sizes, self.longest)
        count = int(np.count_nonzero(c))
        count = count if self.has_matrix else additions(self.kernel, count)
        return np.asarray(errors + gamma(count + 4) * sizes)

    def sums(self, coefficients: np.ndarray) -> np.ndarray:
        """Return Σ_j c_j K(x_i, x_j) for every row i, one block of K at a time."""
        some = np.flatnonzero(coefficients)
        if self.has_matrix:
            if len(some) * FEW_ROWS < self.n and self.kernel.by_products:
                return sum_of_rows(self.matrix, some, coefficients[some])
            return np.asarray(self.matrix.dot(coefficients))
        found = np.zeros(self.n)
        support = no_points(some) if isinstance(self.kernel, Precomputed) else self.points_of(some)
        for part, many in parts_of(self.rows, self.threads, as_given=not self.kernel.by_products):
            found[part] = combination(self.kernel, many, support, coefficients[some, None], self.threads)[:, 0]
        return found


def seems_definite(problem: KernelProblem) -> bool:
    """Test whether the kernel is positive semidefinite up to rounding, on at most MOST_TESTED examples."""
    if problem.has_matrix:
        K = problem.matrix
    else:
        chosen = np.unique(np.linspace(0, problem.n - 1, min(problem.n, MOST_TESTED)).astype(np.intp))
        points, K = problem.points_of(chosen), np.empty((len(chosen), len(chosen)))
        rows_of_kernel(problem.kernel, points, points, K, problem.threads)
    return is_definite(K)


def is_definite(K: np.ndarray) -> bool:
    """Test whether a matrix is positive semidefinite up to rounding."""
    K = 0.5 * (K + K.T)
    K[np.diag_indices(len(K))] += DIAGONAL_SHIFT * np.mean(np.abs(np.diag(K))) + np.finfo(float).tiny
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


def best_offsets(formulation: Formulation, F: np.ndarray) -> np.ndarray:
    """Return the b_g that minimise P for given F.

    The slope of P in b_g rises by hi_i − lo_i at each F_i. The minimum is where it is 0; if it is 0 between two F_i, it
    is their mean.
    """
    offsets = np.zeros(len(formulation.sums))
    for g, c in enumerate(formulation.sums.tolist()):
        own = slice(None) if len(offsets) == 1 else np.flatnonzero(formulation.group == g)
        hi, kinks = formulation.hi[own], F[own]
        order = kinks.argsort()
        passed = (hi - formulation.lo[own])[order].cumsum()
        target, rounding, last = float(hi.sum()) - c, ZERO_SLOPE * float(passed[-1]), len(order) - 1
        left, right = passed.searchsorted(target - rounding), passed.searchsorted(target + rounding, "right")
        offsets[g] = 0.5 * float(kinks[order[min(left, last)]] + kinks[order[min(right, last)]])
    return offsets


def residuals(formulation: Formulation, F: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return R = F − b."""
    if len(offsets) == 1:
        return np.asarray(F - offsets[0])
    return np.asarray(F - offsets[formulation.group]) if len(offsets) else F


def bias_and_width(offsets: np.ndarray) -> tuple[float, float]:
    """Return the bias b and, with two groups, −ρ or ε."""
    if len(offsets) < 2:
        return float(np.sum(offsets)), 0.0
    return 0.5 * float(offsets[0] - offsets[1]), 0.5 * float(offsets[0] + offsets[1])
