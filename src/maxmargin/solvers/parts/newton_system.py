"""The linear system of a Newton step, and the cheapest method to solve it.

    (diag(r) + Σ h_i z_i z_iᵀ) s = −g,   z_i = (x_i, 1), or x_i without a bias;  rows with h_i > 0 are active

few features           Cholesky factors of the matrix, with its diagonal scaled to 1 so that the units of the features
                       do not matter
few active rows        Cholesky factors of the matrix of their inner products (Woodbury), with b eliminated
neither                conjugate gradients with the diagonal as preconditioner
long rows              if the matrix of all rows costs too much: conjugate gradients, preconditioned by Cholesky factors
                       of the matrix of a sample, drawn in proportion to h
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.gram import suits_blas, weighted_gram
from maxmargin.data.passes import combination, combination_of_squares, curved, scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Rows, matrix_of, row_length
from maxmargin.solvers.parts.conjugate_gradients import Solve, conjugate_gradients
from maxmargin.system.buffers import scratch
from maxmargin.system.threads import blas_on

LARGEST_MATRIX = 4000  # most features or rows for which a matrix is built: 128 MB of float64
SMALL_MATRIX = 300  # up to these features the matrix is built even if fewer rows are active
BLAS_THREADS_FROM = 1500  # rows of a matrix from which on several BLAS threads are faster than one
MOST_PRODUCTS = 200  # most matrix products of conjugate gradients in one solution
RESIDUAL = 1e-2  # relative residual at which conjugate gradients stop: accurate enough for a Newton step
SAMPLE_ROWS_PER_FEATURE = 12  # rows drawn for the matrix of a sample, per feature
SAMPLE_SAVES = 3  # a sample is drawn if there are at least this many times more active rows than draws
LONG_ROW = 100  # values per row from which on building the matrix of all rows costs more than many products
JITTER = 1e-14  # times the size of the matrix, added to its unit diagonal before the first factorisation
SINGULAR = 1e-12  # smallest relative curvature of b, and smallest diagonal entry relative to the largest


@dataclass(frozen=True, eq=False)
class System:
    """The system: rows, ridge r (with one entry more than features if there is a bias), and weights h."""

    rows: Rows
    d: int
    ridge: np.ndarray
    h: np.ndarray
    threads: int = 1

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Return the step s."""
        return self.solver()(-gradient)

    def solver(self) -> Solve:
        """Return a function that solves the system for any right-hand side; the matrix is factored once."""
        active, size = int(np.count_nonzero(self.h)), len(self.ridge)
        if size <= LARGEST_MATRIX and (size <= active or size <= SMALL_MATRIX):
            return self.by_factors()
        if active <= LARGEST_MATRIX:
            return self.by_inner_products()
        return self.by_conjugate_gradients()

    @property
    def with_bias(self) -> bool:
        """Whether the last entry of s is the step of b."""
        return len(self.ridge) > self.d

    def by_factors(self) -> Solve:
        """Solve by Cholesky factors of the matrix."""
        H = scratch("matrix of a Newton step", (len(self.ridge), len(self.ridge)))
        weighted_gram(self.rows, self.d, self.h, H, self.threads)
        H[np.diag_indices_from(H)] += self.ridge
        return by_cholesky(H, self.threads)

    def by_sample(self) -> Solve | None:
        """Solve by Cholesky factors of the matrix of a sample of the rows; None if that would not be much cheaper.

        The diagonal is at least that of all rows, since a rare feature may be in none of the drawn rows.
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
        """Solve by A⁻¹ g = g/r − Xᵀ(h⁻¹ + X r⁻¹ Xᵀ)⁻¹ X g / r² over the active rows; r is the same for all features."""
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
        """Solve by conjugate gradients with the diagonal of the matrix as preconditioner."""
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
        """Return the matrix times s, in one pass over the rows, and the scores ⟨z_i, s⟩ where h_i > 0."""
        product, f = curved(self.rows, self.d, self.h, s, self.threads)
        return np.asarray(self.ridge * s + product), f


def drawn_by(h: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw `count` rows in proportion to h by systematic sampling; return the rows and how often each is drawn."""
    sums = np.cumsum(h)
    places = (np.arange(count) + 0.5) * (sums[-1] / count)
    return np.unique(np.searchsorted(sums, places), return_counts=True)


def by_cholesky(H: np.ndarray, threads: int = 1) -> Solve:
    """Return a function that solves H s = right. Only the lower triangle of H is read; H is overwritten."""
    from scipy.linalg import cho_solve

    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    H *= scale[:, None]
    H *= scale
    with blas_on(threads if len(H) >= BLAS_THREADS_FROM else 1):
        factors = factored(H)
    return lambda right: np.asarray(scale * cho_solve(factors, scale * right, check_finite=False))


def factored(H: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return Cholesky factors of a matrix with a unit diagonal, which is increased if rounding has made it indefinite.

    Only the lower triangle is read. The factors are a copy.
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
    """Return ⟨x_i, x_j⟩ for all pairs of rows."""
    X = matrix_of(rows._replace(values=rows.values.astype(np.float64, copy=False)))
    if isinstance(rows, Csr):
        if not suits_blas(rows, rows.d):
            return np.asarray((X @ X.T).toarray())
        X = X.toarray()
    with blas_on(threads if len(X) >= BLAS_THREADS_FROM else 1):
        return np.asarray(X @ X.T)


def squares(rows: Rows, d: int, h: np.ndarray, size: int, threads: int = 1) -> np.ndarray:
    """Return Σ h_i z_ik² for every k."""
    total = combination_of_squares(rows, d, h, threads)
    return np.append(total, np.sum(h)) if size > d else total
