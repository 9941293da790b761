"""Reading of all rows of a source into memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows
from maxmargin.data.source import RowBlock, Source
from maxmargin.errors import DataError
from maxmargin.system.budget import Budget, too_many
from maxmargin.system.threads import free_memory


def collect(source: Source, budget: Budget | None = None) -> tuple[Rows, np.ndarray]:
    """Read all rows and labels; raise if the rows take more memory than allowed."""
    return collect_weighted(source, budget)[:2]


def collect_weighted(source: Source, budget: Budget | None = None) -> tuple[Rows, np.ndarray, np.ndarray | None]:
    """Read all rows and labels, and the weights if a column of a table holds them."""
    budget = budget or Budget(int(free_memory()))
    blocks, size = list[RowBlock](), 0
    for block in source.blocks():
        blocks.append(block)
        size += block.labels.nbytes + sum(part.nbytes for part in block.rows if isinstance(part, np.ndarray))
        if size > budget.rows:
            raise too_many(source.name, budget.rows)
    if len({block.labels.dtype.kind == "U" for block in blocks}) > 1:
        raise DataError(f"{source.name}: some labels are numbers and some are names: use one kind")
    labels = np.concatenate([block.labels for block in blocks])
    parts = [block.rows for block in blocks]
    if len({part.values.shape[1:] for part in parts}) > 1 or len({type(part) for part in parts}) > 1:
        raise DataError(f"{source.name}: the blocks have rows of different forms")
    weights = [block.weights for block in blocks if block.weights is not None]
    return stacked(parts), labels, np.concatenate(weights) if weights else None


def stacked(parts: Sequence[Rows], d: int = 0) -> Rows:
    """Return the rows of several parts of the same form as one; sparse rows get at least d columns."""
    if isinstance(parts[0], Dense):
        return Dense(np.concatenate([part.values for part in parts]))
    sparse = [part for part in parts if isinstance(part, Csr)]
    ends = np.cumsum([0, *(part.indptr[-1] for part in sparse)])
    d = max(d, *(part.d for part in sparse))
    kind = np.int32 if max(d, int(ends[-1])) < 2**31 else np.int64
    indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(sparse, ends[:-1], strict=True))])
    values = np.concatenate([part.values for part in sparse])
    indices = np.concatenate([part.indices for part in sparse])
    return Csr(values, indices.astype(kind, copy=False), indptr.astype(kind), d)
