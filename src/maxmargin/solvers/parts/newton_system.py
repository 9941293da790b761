"""The linear system of a Newton step, solved in the cheapest way.

    (diag(r) + Σ h_i z_i z_iᵀ) s = −g,   z_i = (x_i, 1), or x_i where there is no bias;  rows with h_i = 0 take no part

few features           Cholesky factors of the matrix, its diagonal scaled to 1 so that the units of the features do
                       not matter
few rows take part     Cholesky factors of the matrix of their inner products (Woodbury), with b eliminated
neither                conjugate gradients with the diagonal as preconditioner
long rows              Cholesky factors of the matrix of a sample, drawn in proportion to h: a preconditioner for
                       conjugate gradients, where the matrix of all rows costs too much
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.gram import weighted_gram
from maxmargin.data.passes import combination, combination_of_squares, curved, scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Rows, matrix_of, row_length
from maxmargin.solvers.parts.conjugate_gradients import Solve, conjugate_gradients
from maxmargin.system.buffers import scratch
from maxmargin.system.threads import blas_on

LARGEST_MATRIX = 4000  # features or rows for which a matrix is written out: 128 MB of float64
SMALL_MATRIX = 300  # features up to which the matrix is written out even where fewer rows take part
BLAS_THREADS_FROM = 1500  # lines of a matrix for which the threads of BLAS are worth waking
MOST_PRODUCTS = 200  # of conjugate gradients in one solution
RESIDUAL = 1e-2  # of the right side, which conjugate gradients may leave: as exact as a Newton step deserves
SAMPLE_ROWS_PER_FEATURE = 12  # in the matrix of a sample
SAMPLE_SAVES = 3  # a sample is drawn where it leaves out two of three rows that take part, or more
LONG_ROW = 100  # values of a row from which the matrix of all rows costs more than many products with it
JITTER = 1e-14  # a line, added to the unit diagonal before the first try to factor
SINGULAR = 1e-12  # the smallest curvature of b, and the smallest diagonal, relative to the largest


@dataclass(frozen=True, eq=False)
class System:
    """The rows, the ridge r (one longer than the features where there is a bias), the weights h."""

    rows: Rows
    d: int
    ridge: np.ndarray
    h: np.ndarray
    threads: int = 1

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """The step s."""
        return self.solver()(-gradient)

    def solver(self) -> Solve:
        """A function that gives s for any right side; the matrix is factored once."""
        active, size = int(np.count_nonzero(self.h)), len(self.ridge)
        if size <= LARGEST_MATRIX and (size <= active or size <= SMALL_MATRIX):
            return self.by_factors()
        if active <= LARGEST_MATRIX:
            return self.by_inner_products()
        return self.by_conjugate_gradients()

    @property
    def with_bias(self) -> bool:
        """Whether s ends with the step of b."""
        return len(self.ridge) > self.d

    def by_factors(self) -> Solve:
        """Cholesky factors of the matrix."""
        H = scratch("matrix of a Newton step", (len(self.ridge), len(self.ridge)))
        weighted_gram(self.rows, self.d, self.h, H, self.threads)
        H[np.diag_indices_from(H)] += self.ridge
        return by_cholesky(H, self.threads)

    def by_sample(self) -> Solve | None:
        """Cholesky factors of the matrix of a sample of the rows; None if that would not be much cheaper.

        The diagonal is that of all rows: a feature that few rows have may be in none of those drawn.
        """
        size = len(self.ridge)
        drawn = SAMPLE_ROWS_PER_FEATURE * size
        if row_length(self.rows) < LONG_ROW or np.count_nonzero(self.h) < SAMPLE_SAVES * drawn:
            return None
        chosen, counts = drawn_by(self.h, drawn)
        weights = counts * (float(np.sum(self.h)) / drawn)
        H = scratch("matrix of a Newton step", (size, size))
        weighted_gram(pick(self.rows, chosen, self.threads), self.d, weights, H, self.threads)
        diagonal = np.diag_indices_from(H)
        H[diagonal] = np.maximum(H[diagonal], squares(self.rows, self.d, self.h, size, self.threads)) + self.ridge
        return by_cholesky(H, self.threads)

    def by_inner_products(self) -> Solve:
        """A⁻¹ g = g/r − Xᵀ(h⁻¹ + X r⁻¹ Xᵀ)⁻¹ X g / r² over the rows that take part; r is the same for all features."""
        active = np.flatnonzero(self.h)
        rows, h, r = pick(self.rows, active, self.threads), self.h[active], float(self.ridge[0])
        K = inner_products(rows, self.threads) / r
        K[np.diag_indices_from(K)] += 1.0 / h
        among_rows = by_cholesky(K, self.threads) if len(active) else None

        def inverse(g: np.ndarray) -> np.ndarray:
            if among_rows is None:
                return g / r
            return g / r - combination(rows, self.d, among_rows(scores(rows, g / r))) / r

        if not self.with_bias:
            return inverse
        c = combination(rows, self.d, h)
        along = inverse(c)
        bend = float(self.ridge[-1]) + float(np.sum(h)) - float(c @ along)

        def bordered(right: np.ndarray) -> np.ndarray:
            step = inverse(right[:-1])
            b = (float(right[-1]) - float(c @ step)) / max(bend, SINGULAR * (1.0 + float(np.sum(h))))
            return np.append(step - b * along, b)

        return bordered

    def by_conjugate_gradients(self) -> Solve:
        """Products with the matrix, with its diagonal as preconditioner."""
        diagonal = self.ridge + squares(self.rows, self.d, self.h, len(self.ridge), self.threads)
        diagonal = np.maximum(diagonal, SINGULAR * np.max(diagonal))

        def solve(right: np.ndarray) -> np.ndarray:
            enough = RESIDUAL * float(np.linalg.norm(right))
            return conjugate_gradients(
                self.times, right, np.zeros_like(self.h), lambda r: r / diagonal, MOST_PRODUCTS,
                lambda at: float(np.linalg.norm(at.residual)) <= enough,
            ).s  # fmt: skip

        return solve

    def times(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix times s, in one pass over the rows, and the scores ⟨z_i, s⟩ where h_i > 0."""
        product, f = curved(self.rows, self.d, self.h, s, self.threads)
        return np.asarray(self.ridge * s + product), f


def drawn_by(h: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows drawn in proportion to h by even strides, `count` in all: which rows, and how often each."""
    sums = np.cumsum(h)
    places = (np.arange(count) + 0.5) * (sums[-1] / count)
    return np.unique(np.searchsorted(sums, places), return_counts=True)


def by_cholesky(H: np.ndarray, threads: int = 1) -> Solve:
    """A function that solves H s = right. Only the lower half of H is read; H is overwritten, its diagonal set to 1."""
    from scipy.linalg import cho_solve

    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    H *= scale[:, None]
    H *= scale
    with blas_on(threads if len(H) >= BLAS_THREADS_FROM else 1):
        factors = factored(H)
    return lambda right: np.asarray(scale * cho_solve(factors, scale * right, check_finite=False))


def factored(H: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factors of a matrix with a unit diagonal; more is added to it where rounding has left it indefinite.

    Only the lower half is read, and the factors have memory of their own.
    """
    from scipy.linalg import LinAlgError, cho_factor

    more = JITTER * len(H)
    while True:
        H[np.diag_indices_from(H)] = 1.0 + more
        try:
            return cho_factor(H, lower=True, check_finite=False)  # type: ignore[no-any-return]
        except LinAlgError:
            more *= 100.0
            if more > 1.0:
                raise


def inner_products(rows: Rows, threads: int = 1) -> np.ndarray:
    """⟨x_i, x_j⟩ for all pairs of rows."""
    X = matrix_of(rows._replace(values=rows.values.astype(np.float64, copy=False)))
    if isinstance(rows, Csr):
        return np.asarray((X @ X.T).toarray())
    with blas_on(threads if len(X) >= BLAS_THREADS_FROM else 1):
        return np.asarray(X @ X.T)


def squares(rows: Rows, d: int, h: np.ndarray, size: int, threads: int = 1) -> np.ndarray:
    """Σ h_i z_ik² for every k."""
    total = combination_of_squares(rows, d, h, threads)
    return np.append(total, np.sum(h)) if size > d else total
