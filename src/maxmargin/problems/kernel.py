"""The problem of every kernel machine, in one form.

    dual     max_β  D(β) = −½ βᵀK′β − qᵀβ,        lo_i ≤ β_i ≤ hi_i,     Σ_{i in group g} β_i = c_g
    primal   min_b  P(β, b) = ½ βᵀK′β + Σ hi_i (R_i)₊ − lo_i (−R_i)₊ + Σ_g c_g b_g,    R_i = F_i − b_g(i),  F = −K′β − q

with K′_ij = t_i t_j K(x_r(i), x_r(j)), t = ±1: variable i stands for row r(i). What a machine is, it is by its numbers:

    machine      variables                       t      q            [lo, hi]              groups: sums
    C-SVC        β_i = α_i y_i                   1      −y_i         [0, C_i] y_i          all: 0
    ε-SVR        two a row                       1      ε − z, −ε − z   [0, C], [−C, 0]    all: 0
    one-class    one a row                       1      0            [0, s_i]              all: ν Σ s
    ν-SVC        β_i = α_i                       y_i    0            [0, s_i]              either class: ½ ν Σ s
    ν-SVR        two a row                       1, −1  −z, z        [0, C]                either: ½ ν Σ C

Without a bias C-SVC and ε-SVR have no group, and b = 0. The scores are f = Σ t_i β_i K(x_r(i), ·), so the machine is a
coefficient for each row; b is b_1, or ½(b_1 − b_2) where there are two groups, and ½(b_1 + b_2) is then −ρ or ε.

The optimum of one-class, ν-SVC and ν-SVR can be 0 (the origin inside the data), and so can that of ε-SVR (targets that
are all the same): a gap relative to it would mean nothing. `scale` is what such a gap is measured against instead.

For any (β, b),   P(β, b) − D(β) = Σ (hi_i − β_i)(R_i)₊ + (β_i − lo_i)(−R_i)₊ ≥ 0,   and it bounds P − P* if K is
positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.passes import squared_norms
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored, longest_row
from maxmargin.errors import DataError
from maxmargin.kernels.functions import Gaussian, Kernel, Precomputed
from maxmargin.kernels.held_rows import KernelRows
from maxmargin.kernels.points import Points, centred, no_points, parts_of, points_of
from maxmargin.kernels.tiles import additions, combination, rows_of_kernel
from maxmargin.system.rounding import UNDERFLOW, gamma
from maxmargin.system.threads import free_memory

BATCH_COST = 1 << 16  # numbers that could be visited while a batch is set up
EXACT = 1 << 20  # numbers of a kernel matrix that is held in float64
LARGE = 1e30
FAR = 1e4  # γ‖x‖², of which float32 keeps three digits behind the point;
NEAR = 10.0  # of this it keeps six
FLAT = 1e-12
FLAT_TARGETS = 1e-9  # of Σ C |z|
LOOKED_AT = 2000  # examples
TINY_KERNEL = 1e-250  # K(x, x) of all rows: products of smaller ones, and what is divided by them, leave float64
ROUNDING = 1e-6  # of the diagonal


class Formulation(NamedTuple):
    """The numbers of one machine; `start` meets the constraints."""

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
        """The y of a C-SVC, ±1."""
        return -self.q

    @property
    def width(self) -> np.ndarray:
        """How much room each variable has: of a C-SVC, C_i."""
        return np.asarray(self.hi - self.lo)


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """A machine, its examples and their kernel; `cache` is how many bytes of the kernel may be held."""

    rows: Rows
    kernel: Kernel
    formulation: Formulation
    cache: float | None = None
    threads: int = field(default=1, kw_only=True)
    name: str = field(default="", kw_only=True)

    @property
    def kind(self) -> str:
        """What kind of problem it is."""
        return self.formulation.kind

    @property
    def bias(self) -> str:
        """Whether there is one."""
        return "free" if len(self.formulation.sums) else "none"

    @cached_property
    def bounded(self) -> bool:
        """Whether every point has a finite certificate: where the kernel is not positive semidefinite none has."""
        known = self.kernel.definite
        return seems_definite(self) if known is None else known

    @property
    def zero_is_feasible(self) -> bool:
        """Whether β = 0 is feasible, with D(0) = 0: not where sums are prescribed, nor where nothing is convex."""
        return self.bounded and not np.any(self.formulation.sums)

    @property
    def n(self) -> int:
        """Examples."""
        return count_rows(self.rows)

    @property
    def d(self) -> int:
        """Features."""
        return count_columns(self.rows)

    @property
    def nnz(self) -> int:
        """What a visit of every example costs: a row of the kernel each, and a batch is never free."""
        return max(count_stored(self.rows), self.n * self.n, BATCH_COST)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What tells it from another problem with the same rows."""
        return self.formulation[1:]

    @property
    def summary(self) -> dict[str, Any]:
        """The same in words."""
        return {"n": self.n, "d": self.d, "formulation": self.kind, "bias": self.bias, "kernel": repr(self.kernel)}

    @cached_property
    def one_a_row(self) -> bool:
        """Whether variable i stands for row i."""
        return np.array_equal(self.formulation.row, np.arange(self.n))

    @cached_property
    def points(self) -> Points:
        """The examples in the type in which the kernel is held; around their mean where only distances count."""
        if isinstance(self.kernel, Gaussian):
            return centred(self.around(), self.dtype, self.threads)
        return self.points_of(None, self.dtype)

    def around(self) -> Points:
        """The examples as they are to be centred: an array that is far from the origin does not become sparse rows."""
        assert isinstance(self.kernel, Gaussian)
        far = self.kernel.gamma * np.max(self.squared_norms) > NEAR
        return points_of(self.rows, threads=self.threads, dense=bool(far))

    def points_of(self, chosen: np.ndarray | None, dtype: type = np.float64) -> Points:
        """Some examples, or all, as the kernel wants them."""
        as_given = not self.kernel.by_products
        return points_of(self.rows, chosen, dtype=dtype, threads=self.threads, as_given=as_given)

    @cached_property
    def dtype(self) -> type:
        """float64 for a matrix that is small in any case, or that float32 cannot tell; else float32."""
        small = self.n * self.n <= EXACT
        return np.float64 if small or np.max(np.abs(self.diagonal)) > LARGE or self.far_apart() else np.float32

    def far_apart(self) -> bool:
        """Whether a Gaussian sees examples so long, even around their mean, that float32 loses their distances."""
        kernel = self.kernel
        if not isinstance(kernel, Gaussian) or kernel.gamma * np.max(self.squared_norms) <= FAR:
            return False
        return bool(kernel.gamma * np.max(centred(self.around()).squares) > FAR)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """‖x_i‖² of every row."""
        return squared_norms(self.rows, self.threads)

    @cached_property
    def held(self) -> KernelRows:
        """Rows of the kernel."""
        budget = 0.25 * free_memory() if self.cache is None else self.cache
        return KernelRows(self.kernel, self.points, self.dtype, budget, self.threads)

    @cached_property
    def norms(self) -> np.ndarray:
        """‖x_i‖ of every row, rounded up where squares are too small for float64."""
        return np.asarray(np.sqrt(self.squared_norms) + UNDERFLOW * self.longest)

    @cached_property
    def longest(self) -> int:
        """How many values a row stores at most."""
        return longest_row(self.rows)

    @cached_property
    def scale(self) -> float:
        """Of C-SVC 0; of one-class and ν-SVC ½ Σ β_i² K_ii at the start, the norm that unrelated examples would have.

        Of regressions a billionth of what the targets cost at w = 0: far above rounding, far below any fit.
        """
        formulation = self.formulation
        if formulation.kind == "C-SVC":
            return 0.0
        if np.any(formulation.q):
            return FLAT_TARGETS * float(np.sum(formulation.width * np.abs(formulation.q)))
        return 0.5 * float(np.sum(np.square(formulation.start) * self.diagonal))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K′_ii of every variable."""
        return np.asarray(self.row_diagonal[self.formulation.row])

    @cached_property
    def row_diagonal(self) -> np.ndarray:
        """K_ii of every row; they are finite, or nothing can be computed."""
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
        """What each row counts for in the scores: Σ t_i β_i over its variables."""
        formulation = self.formulation
        return np.bincount(formulation.row, formulation.t * beta, self.n)

    def forces(self, f: np.ndarray) -> np.ndarray:
        """F of every variable, from the scores of the rows."""
        formulation = self.formulation
        return np.asarray(-formulation.t * f[formulation.row] - formulation.q)

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """Scores of every row, in float64."""
        return np.asarray(self.sums(self.coefficients(beta)[:, None])[:, 0])

    def scores_and_errors(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of every row, and a bound on their rounding errors: of the kernel's values, and of their sum."""
        coefficients = self.coefficients(beta)
        some = np.flatnonzero(coefficients)
        c, roots = np.abs(coefficients[some]), np.sqrt(np.maximum(self.row_diagonal, 0.0))
        if isinstance(self.kernel, Gaussian):  # above 0, so that a second sum beside the first tells their size
            f, sizes = self.sums(np.column_stack([coefficients, np.abs(coefficients)])).T
            sizes = 1.1 * sizes
        else:
            f, sizes = self.scores(beta), roots * float(c @ roots[some])
        errors = self.kernel.error(self.norms, self.norms[some], c, sizes, self.longest)
        return f, np.asarray(errors + gamma(additions(self.kernel, len(some)) + 4) * sizes)

    def sums(self, coefficients: np.ndarray) -> np.ndarray:
        """Σ_j K(x_i, x_j) c_j for every row and each column of coefficients, a block of the kernel at a time."""
        found = np.zeros(coefficients.shape)
        some = np.flatnonzero(coefficients[:, 0])
        support = no_points(some) if isinstance(self.kernel, Precomputed) else self.points_of(some)
        for part, many in parts_of(self.rows, self.threads, as_given=not self.kernel.by_products):
            found[part] = combination(self.kernel, many, support, coefficients[some], self.threads)
        return found


def seems_definite(problem: KernelProblem) -> bool:
    """Whether the kernel is positive semidefinite, to rounding, on some examples: all, if they are not too many."""
    chosen = np.unique(np.linspace(0, problem.n - 1, min(problem.n, LOOKED_AT)).astype(np.intp))
    points, K = problem.points_of(chosen), np.empty((len(chosen), len(chosen)))
    rows_of_kernel(problem.kernel, points, points, K, problem.threads)
    K = 0.5 * (K + K.T)
    K[np.diag_indices(len(K))] += ROUNDING * np.mean(np.abs(np.diag(K))) + np.finfo(float).tiny
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


def best_offsets(formulation: Formulation, F: np.ndarray) -> np.ndarray:
    """The b_g that minimise P for given F: its slope in b_g rises by hi_i − lo_i at F_i, and b_g is where it is 0.

    Where it is 0 between two of them, the middle.
    """
    offsets = np.zeros(len(formulation.sums))
    for g, c in enumerate(formulation.sums):
        own = np.flatnonzero(formulation.group == g)
        order = own[np.argsort(F[own], kind="stable")]
        passed = np.cumsum(formulation.hi[order] - formulation.lo[order])
        target, rounding = float(np.sum(formulation.hi[own])) - c, FLAT * float(passed[-1])
        left, right = np.searchsorted(passed, target - rounding), np.searchsorted(passed, target + rounding, "right")
        ends = order[np.minimum([left, right], len(order) - 1)]
        offsets[g] = 0.5 * float(F[ends[0]] + F[ends[1]])
    return offsets


def residuals(formulation: Formulation, F: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """R = F − b."""
    return np.asarray(F - offsets[formulation.group]) if len(offsets) else F


def bias_and_width(offsets: np.ndarray) -> tuple[float, float]:
    """The b of the machine, and what else its two groups say: −ρ, or ε."""
    if len(offsets) < 2:
        return float(np.sum(offsets)), 0.0
    return 0.5 * float(offsets[0] - offsets[1]), 0.5 * float(offsets[0] + offsets[1])
