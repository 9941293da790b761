"""Cholesky factors of small matrices, in compiled code.

LAPACK through NumPy would cost more time to call than a matrix of a few columns takes, and more time to compile.
"""

from __future__ import annotations

from maxmargin.system.compiled import compiled, kernel, summing

LEAST_PIVOT = 1e-13  # Relative to the diagonal: a smaller pivot is a rounding error, and its variable does not move.
INFINITE_PIVOT = 1e150  # Takes the place of such a pivot.


@compiled
def factorise(H, size):
    """Overwrite the lower triangle of the leading `size` × `size` part of H with its Cholesky factor."""
    for j in range(size):
        row = H[j]
        own = row[j]
        for i in range(j):
            other = H[i]
            row[i] = (row[i] - product(row, other, i)) / other[i]
        pivot = own - product(row, row, j)
        row[j] = pivot**0.5 if pivot > LEAST_PIVOT * own else INFINITE_PIVOT


@compiled
def solve_factored(L, size, x):
    """Overwrite x with the solution of L Lᵀ x = x."""
    for i in range(size):
        x[i] = (x[i] - product(L[i], x, i)) / L[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@summing
def product(x, z, size):
    """Return the sum of the first `size` products."""
    total = 0.0
    for k in range(size):
        total += x[k] * z[k]
    return total


@kernel
def add_example(a, force, bend, g, H):
    """Add an example to the gradient g and to the lower triangle of the matrix H."""
    for j in range(g.size):
        g[j] += force * a[j]
        scaled, row = bend * a[j], H[j]
        for k in range(j + 1):
            row[k] += scaled * a[k]
