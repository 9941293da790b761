"""A memory pool of sparse rows. Any row can be removed at any time, and its memory is reused for other rows.

A row takes one place for each value, rounded up: to a multiple of four for short rows, by at most an eighth for long
ones. So there are few sizes, and a freed place is reused by the next row of the same size. The free places of a size
form a linked list: `free` holds the first, divided by four, and the first index of each holds the next. The pool is
compacted only if no free place has the right size and the end of the pool is reached.
"""

from __future__ import annotations

import numpy as np

from maxmargin.data.rows import Spans
from maxmargin.system.buffers import reserved
from maxmargin.system.compiled import compiled, kernel

NONE = -1
FOUR = 4
SHORT = 64  # values
SIZES = 256
NOWHERE = -1


def empty_pool(places: int, rows: int, values: type, indices: type, huge: bool = False) -> Spans:
    """Return an empty pool for `places` values and `rows` rows."""
    start, stop = (reserved(rows, np.int64, huge) for _ in range(2))
    free = np.full(SIZES, NONE, dtype=np.int64)
    return Spans(reserved(places, values, huge), reserved(places, indices, huge), start, stop, free)


@compiled
def size_of(length):
    """Return the number of places of a row of that length, and the index of this size."""
    if length <= SHORT:
        fours = (length + FOUR - 1) // FOUR
        return fours * FOUR, fours
    part, shift = length, 0
    while part > 15:
        part, shift = (part + 1) >> 1, shift + 1
    return part << shift, SHORT // FOUR + 1 + 8 * shift + part - 8


@compiled
def places_of(lengths):
    """Return the number of places of rows of these lengths."""
    places = np.empty(lengths.size, dtype=np.int64)
    for i in range(lengths.size):
        places[i] = size_of(lengths[i])[0]
    return places


@kernel
def find_place(indices, free, length, used, most):
    """Return a place for a row of that length, or NOWHERE, and the used size of the pool then, at most `most`."""
    places, size = size_of(length)
    first = free[size]
    if first != NONE and used <= most:
        free[size] = indices[FOUR * first]
        return FOUR * first, used
    return (used, used + places) if used + places <= most else (NOWHERE, used)


@kernel
def vacate(indices, free, start, stop):
    """Add the place of a removed row to the free list of its size."""
    if start < stop:
        size = size_of(stop - start)[1]
        indices[start] = free[size]
        free[size] = start // FOUR


@compiled
def close_holes(pool, order):
    """Compact the pool, with rows in `order` of their position; return the used size."""
    to = 0
    for k in order:
        start, length = pool.start[k], pool.stop[k] - pool.start[k]
        if start != to:
            for p in range(length):
                pool.values[to + p] = pool.values[start + p]
                pool.indices[to + p] = pool.indices[start + p]
        pool.start[k], pool.stop[k] = to, to + length
        to += size_of(length)[0]
    pool.free[:] = NONE
    return to
