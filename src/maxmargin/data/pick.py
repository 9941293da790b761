"""Copies of chosen rows."""

from __future__ import annotations

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows, row_length
from maxmargin.data.take import read_only
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

NUMBERS_PER_TASK = 1 << 19  # Numbers that a thread copies at once.


def pick(rows: Rows, chosen: np.ndarray, threads: int = 1) -> Rows:
    """Return the chosen rows, in that order. They are read-only like all rows, so that they share compiled code."""
    if isinstance(rows, Dense) and len(chosen) * rows.values.shape[1] <= NUMBERS_PER_TASK:
        return Dense(read_only(rows.values.take(chosen, axis=0)))
    step = max(1, int(NUMBERS_PER_TASK / max(row_length(rows), 1.0)))
    parts = [slice(start, start + step) for start in range(0, len(chosen), step)]
    if isinstance(rows, Dense):
        dense = np.empty((len(chosen), rows.values.shape[1]), dtype=rows.values.dtype)

        def copy(k: int) -> None:
            np.take(
                rows.values, chosen[parts[k]], axis=0, out=dense[parts[k]], mode="clip"
            )  # mode="clip" needs no buffer

        on_threads(threads, copy, range(len(parts)))
        return Dense(read_only(dense))
    lengths = rows.indptr[chosen + 1] - rows.indptr[chosen]
    indptr = np.zeros(len(chosen) + 1, dtype=rows.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    values = np.empty(int(indptr[-1]), dtype=rows.values.dtype)
    indices = np.empty(int(indptr[-1]), dtype=rows.indices.dtype)
    on_threads(
        threads,
        lambda k: copy_sparse(rows, chosen[parts[k]], values, indices, indptr[parts[k]]),
        range(len(parts)),
    )
    return Csr(read_only(values), read_only(indices), read_only(indptr), rows.d)


@compiled
def copy_sparse(rows, chosen, values, indices, indptr):
    """Copy values and indices of the chosen rows to the positions indptr."""
    for k in range(chosen.size):
        to = indptr[k]
        for p in range(rows.indptr[chosen[k]], rows.indptr[chosen[k] + 1]):
            values[to] = rows.values[p]
            indices[to] = rows.indices[p]
            to += 1
