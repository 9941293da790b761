"""Products of a kernel matrix that is held in memory with a vector, over some of its rows."""

from __future__ import annotations

import numpy as np

from maxmargin.system.compiled import compiled, compiled_sums

COLUMNS_AT_ONCE = 1 << 11  # columns updated together: their sums take 16 KB and stay in the L1 cache


def sum_of_rows(K: np.ndarray, places: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return Σ_k c_k K_p(k) over the rows at these places."""
    found = np.zeros(K.shape[1])
    for start in range(0, len(found), COLUMNS_AT_ONCE):
        add_rows(K, places, coefficients, start, min(start + COLUMNS_AT_ONCE, len(found)), found)
    return found


@compiled
def add_rows(values, places, change, start, stop, moved):
    """Add kernel rows times their changes to `moved`, in float64; four at a time, so that sums stay in registers."""
    k = 0
    while k + 4 <= places.size:
        p, q, r, s = values[places[k]], values[places[k + 1]], values[places[k + 2]], values[places[k + 3]]
        e, f, g, h = change[k], change[k + 1], change[k + 2], change[k + 3]
        for c in range(start, stop):
            moved[c] += e * p[c] + f * q[c] + g * r[c] + h * s[c]
        k += 4
    while k < places.size:
        row, a = values[places[k]], change[k]
        for c in range(start, stop):
            moved[c] += a * row[c]
        k += 1


@compiled_sums
def products_of_rows(K, places, columns, coefficients, out):
    """Write Σ_k c_k K(i, column_k) to `out`, for the rows i at these places."""
    for a in range(places.size):
        row, total = K[places[a]], 0.0
        for k in range(columns.size):
            total += coefficients[k] * row[columns[k]]
        out[a] = total
