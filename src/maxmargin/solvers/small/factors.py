"""Linear algebra of small matrices in compiled code: weighted products of features, Cholesky factors, margins.

Calling BLAS or LAPACK would take longer than the work on a matrix of a few columns, and compiling such a call longer
still.
"""

from __future__ import annotations

from maxmargin.system.compiled import compiled_sums, summing

LEAST_PIVOT = 1e-13  # Relative to the diagonal: a smaller pivot is a rounding error, and its variable does not move.
INFINITE_PIVOT = 1e150  # Takes the place of such a pivot.


@summing
def weighted_products(B, weights, size, scaled, H):
    """Write Σ_q weights_q B_jq B_kq, over the first `size` columns of B, to the lower triangle of H."""
    for j in range(B.shape[0]):
        for q in range(size):
            scaled[q] = weights[q] * B[j, q]
        for k in range(j + 1):
            total = 0.0
            for q in range(size):
                total += scaled[q] * B[k, q]
            H[j, k] = total


@summing
def margins(A, y, v, m):
    """Write y_i ⟨a_i, v⟩ to m, for the columns a_i of A."""
    for i in range(m.size):
        m[i] = 0.0
    for j in range(v.size):
        for i in range(m.size):
            m[i] += v[j] * A[j, i]
    for i in range(m.size):
        m[i] *= y[i]


@compiled_sums
def factorise(H, size):
    """Overwrite the lower triangle of the leading `size` × `size` part of H with its Cholesky factor."""
    for j in range(size):
        for i in range(j + 1):
            rest = H[j, i]
            for k in range(i):
                rest -= H[j, k] * H[i, k]
            if i < j:
                H[j, i] = rest / H[i, i]
            else:
                H[j, j] = rest**0.5 if rest > LEAST_PIVOT * H[j, j] else INFINITE_PIVOT


@compiled_sums
def solve_factored(L, size, x):
    """Overwrite x with the solution of L Lᵀ x = x."""
    for i in range(size):
        rest = x[i]
        for k in range(i):
            rest -= L[i, k] * x[k]
        x[i] = rest / L[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
