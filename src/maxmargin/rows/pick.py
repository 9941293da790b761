"""Some of the rows, copied side by side."""

from __future__ import annotations

import numpy as np

from maxmargin.compiled import compiled
from maxmargin.rows.memory import Csr, Dense, Rows
from maxmargin.rows.take import read_only


def pick(rows: Rows, chosen: np.ndarray) -> Rows:
    """The chosen rows, in that order; read-only like all rows, so that the same machine code serves them."""
    if isinstance(rows, Dense):
        return Dense(read_only(np.take(rows.values, chosen, axis=0)))
    lengths = rows.indptr[chosen + 1] - rows.indptr[chosen]
    indptr = np.zeros(len(chosen) + 1, dtype=rows.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    values = np.empty(int(indptr[-1]), dtype=rows.values.dtype)
    indices = np.empty(int(indptr[-1]), dtype=rows.indices.dtype)
    copy_rows(rows, chosen, values, indices, indptr)
    return Csr(read_only(values), read_only(indices), read_only(indptr), rows.d)


@compiled
def copy_rows(rows, chosen, values, indices, indptr):
    """Copy values and indices of the chosen rows to where indptr says."""
    for k in range(chosen.size):
        to = indptr[k]
        for p in range(rows.indptr[chosen[k]], rows.indptr[chosen[k] + 1]):
            values[to] = rows.values[p]
            indices[to] = rows.indices[p]
            to += 1
