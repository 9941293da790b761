"""The linear system of a Newton step, solved where it is smallest.

    (diag(r) + Σ h_i z_i z_iᵀ) s = −g,   z_i = (x_i, 1), or x_i where there is no bias;  rows with h_i = 0 take no part

few features           the matrix itself and its Cholesky factors, its diagonal scaled to 1 so that the units of the
                       features do not matter
    long rows          or those of a sample of the rows, drawn by h, with the true diagonal: not the same, but good
                       enough to lead conjugate gradients
few rows take part     the matrix of their inner products instead (Woodbury), with b eliminated
neither                conjugate gradients with the diagonal as preconditioner
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxmargin.data.gram import weighted_gram
from maxmargin.data.passes import combination, combination_of_squares, curved, scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import Dense, Rows, row_length
from maxmargin.system.buffers import scratch
from maxmargin.system.threads import blas_on

FEW = 4000  # features or rows for which a matrix is written out
LARGE = 1500  # from here on all threads of BLAS are worth waking
PRODUCTS = 200
ROWS = 12  # a feature, of which a sample consists,
SPARED = 3  # if there are so many times more,
LONG = 100  # and so many values in a row that a matrix of all of them takes longer than many products
JITTER = 1e-14

Solve = Callable[[np.ndarray], np.ndarray]


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
        """What gives s for any right side; the matrix is factored once."""
        active, size = int(np.count_nonzero(self.h)), len(self.ridge)
        if size <= FEW and (size <= active or size <= 300):
            return self.by_factors()
        if active <= FEW:
            return self.by_inner_products()
        return self.by_conjugate_gradients()

    @property
    def with_bias(self) -> bool:
        """Whether s ends with the step of b."""
        return len(self.ridge) > self.d

    def by_factors(self) -> Solve:
        """Cholesky."""
        H = scratch("matrix of a Newton step", (len(self.ridge), len(self.ridge)))
        weighted_gram(self.rows, self.d, self.h, H, self.threads)
        H[np.diag_indices_from(H)] += self.ridge
        return by_cholesky(H, self.threads)

    def by_sample(self) -> Solve | None:
        """Cholesky factors of a matrix like this one, of a part of the rows; None if that would not be much cheaper.

        Its diagonal is the true one: a feature that few rows have may be in none of those drawn.
        """
        size = len(self.ridge)
        drawn = ROWS * size
        if row_length(self.rows) < LONG or np.count_nonzero(self.h) < SPARED * drawn:
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
            b = (float(right[-1]) - float(c @ step)) / max(bend, 1e-12 * (1.0 + float(np.sum(h))))
            return np.append(step - b * along, b)

        return bordered

    def by_conjugate_gradients(self) -> Solve:
        """As exactly as a step deserves."""
        from scipy.sparse.linalg import LinearOperator, cg

        diagonal = self.ridge + squares(self.rows, self.d, self.h, len(self.ridge), self.threads)
        diagonal = np.maximum(diagonal, 1e-12 * np.max(diagonal))
        shape = (len(self.ridge), len(self.ridge))
        product = LinearOperator(
            shape, matvec=lambda s: self.ridge * s + curved(self.rows, self.d, self.h, s, self.threads)[0]
        )
        inverse = LinearOperator(shape, matvec=lambda s: s / diagonal)
        return lambda right: np.asarray(cg(product, right, rtol=1e-2, maxiter=PRODUCTS, M=inverse)[0])


def drawn_by(h: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows as often as their h says, `count` in all, evenly along them: which, and how often."""
    sums = np.cumsum(h)
    places = (np.arange(count) + 0.5) * (sums[-1] / count)
    return np.unique(np.searchsorted(sums, places), return_counts=True)


def by_cholesky(H: np.ndarray, threads: int = 1) -> Solve:
    """What solves H s = right, H given by its lower half, which is lost; its diagonal is scaled to 1 first."""
    from scipy.linalg import cho_solve

    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    H *= scale[:, None]
    H *= scale
    with blas_on(threads if len(H) >= LARGE else 1):
        factors = factored(H)
    return lambda right: np.asarray(scale * cho_solve(factors, scale * right, check_finite=False))


def factored(H: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factors of a matrix whose diagonal is 1, or a little more where rounding has left it indefinite.

    Only its lower half is looked at, and the factors are in memory of their own.
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
    if isinstance(rows, Dense):
        X = rows.values.astype(np.float64, copy=False)
        with blas_on(threads if len(X) >= LARGE else 1):
            return np.asarray(X @ X.T)
    from scipy.sparse import csr_array

    X = csr_array(
        (rows.values.astype(np.float64, copy=False), rows.indices, rows.indptr), (len(rows.indptr) - 1, rows.d)
    )
    return np.asarray((X @ X.T).toarray())


def squares(rows: Rows, d: int, h: np.ndarray, size: int, threads: int = 1) -> np.ndarray:
    """Σ h_i z_ik² for every k."""
    total = combination_of_squares(rows, d, h, threads)
    return np.append(total, np.sum(h)) if size > d else total
