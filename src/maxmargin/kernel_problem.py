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

For any (β, b),   P(β, b) − D(β) = Σ (hi_i − β_i)(R_i)₊ + (β_i − lo_i)(−R_i)₊ ≥ 0,   and it bounds P − P* if K is
positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.cores import free_memory
from maxmargin.kernel_blocks import combination
from maxmargin.kernel_rows import KernelRows
from maxmargin.kernels import Kernel
from maxmargin.points import Points, points_of
from maxmargin.rows.memory import Rows, count_columns, count_rows, count_stored

BATCH_COST = 1 << 16  # numbers that could be visited while a batch is set up
EXACT = 1 << 23  # numbers of a kernel matrix that is held in float64
BLOCK = 1 << 22  # numbers of the examples that are written out at once for a certificate


class Machine(NamedTuple):
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


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """A machine, its examples and their kernel; `cache` is how many bytes of the kernel may be held."""

    rows: Rows
    kernel: Kernel
    machine: Machine
    cache: float | None = None
    threads: int = field(default=1, kw_only=True)
    name: str = field(default="", kw_only=True)

    @property
    def kind(self) -> str:
        """What kind of problem it is."""
        return self.machine.kind

    @property
    def bias(self) -> str:
        """Whether there is one."""
        return "free" if len(self.machine.sums) else "none"

    @property
    def bounded(self) -> bool:
        """Whether every point has a finite certificate: for a kernel that is not positive definite none has."""
        return self.kernel.definite is not False

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
    def numbers(self) -> tuple[np.ndarray, ...]:
        """What tells it from another problem with the same rows."""
        return self.machine[1:]

    @property
    def words(self) -> dict[str, Any]:
        """The same in words."""
        return {"n": self.n, "d": self.d, "machine": self.kind, "bias": self.bias, "kernel": repr(self.kernel)}

    @cached_property
    def points(self) -> Points:
        """The examples in the type in which the kernel is held."""
        return self.points_of(None, self.dtype)

    def points_of(self, chosen: np.ndarray | None, dtype: type = np.float64) -> Points:
        """Some examples, or all, as the kernel wants them."""
        as_given = not self.kernel.by_products
        return points_of(self.rows, chosen, dtype=dtype, threads=self.threads, as_given=as_given)

    @property
    def dtype(self) -> type:
        """float64 for a matrix that is small in any case, else float32."""
        return np.float64 if self.n * self.n <= EXACT else np.float32

    @cached_property
    def held(self) -> KernelRows:
        """Rows of the kernel."""
        budget = 0.25 * free_memory() if self.cache is None else self.cache
        return KernelRows(self.kernel, self.points, self.dtype, budget, self.threads)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K′_ii of every variable."""
        return np.asarray(self.kernel.diagonal(self.points)[self.machine.row])

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """What each row counts for in the scores: Σ t_i β_i over its variables."""
        machine = self.machine
        return np.bincount(machine.row, machine.t * beta, self.n)

    def forces(self, f: np.ndarray) -> np.ndarray:
        """F of every variable, from the scores of the rows."""
        machine = self.machine
        return np.asarray(-machine.t * f[machine.row] - machine.q)

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """Scores of every row, in float64, a block of the kernel at a time."""
        coefficients = self.coefficients(beta)
        some = np.flatnonzero(coefficients)
        support = self.points_of(some)
        f = np.zeros(self.n)
        step = max(1, BLOCK // max(self.d, 1))
        for start in range(0, self.n if len(some) else 0, step):
            chosen = np.arange(start, min(start + step, self.n))
            f[chosen] = combination(
                self.kernel, self.points_of(chosen), support, coefficients[some, None], self.threads
            )[:, 0]
        return f


def best_offsets(machine: Machine, F: np.ndarray) -> np.ndarray:
    """The b_g that minimise P for given F: its slope in b_g rises by hi_i − lo_i at F_i, and b_g is where it is 0."""
    offsets = np.zeros(len(machine.sums))
    for g, c in enumerate(machine.sums):
        own = np.flatnonzero(machine.group == g)
        order = own[np.argsort(F[own], kind="stable")]
        passed = np.cumsum(machine.hi[order] - machine.lo[order])
        place = int(np.searchsorted(passed, float(np.sum(machine.hi[own])) - c))
        offsets[g] = F[order[min(place, len(order) - 1)]]
    return offsets


def residuals(machine: Machine, F: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """R = F − b."""
    return np.asarray(F - offsets[machine.group]) if len(offsets) else F


def bias_and_width(offsets: np.ndarray) -> tuple[float, float]:
    """The b of the machine, and what else its two groups say: −ρ, or ε."""
    if len(offsets) < 2:
        return float(np.sum(offsets)), 0.0
    return 0.5 * float(offsets[0] - offsets[1]), 0.5 * float(offsets[0] + offsets[1])
