"""A pool of sparse rows, each of which may be given up at any time, so that another can have its place.

A row takes as many places as it has values, rounded up: to a multiple of four while it is short, by an eighth at most
where it is long. So there are few sizes, and what one row gives up serves the next of its size. The free places of a
size are chained: `free` has the first, in fours, and the first index of each names the next. Only where none has the
right size and the end of the pool is reached must the rows be pushed together.
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
    """Room for so many values and rows."""
    start, stop = (reserved(rows, np.int64, huge) for _ in range(2))
    free = np.full(SIZES, NONE, dtype=np.int64)
    return Spans(reserved(places, values, huge), reserved(places, indices, huge), start, stop, free)


@compiled
def size_of(length):
    """How many places a row of that length takes, and which of the sizes that is."""
    if length <= SHORT:
        fours = (length + FOUR - 1) // FOUR
        return fours * FOUR, fours
    part, shift = length, 0
    while part > 15:
        part, shift = (part + 1) >> 1, shift + 1
    return part << shift, SHORT // FOUR + 1 + 8 * shift + part - 8


@compiled
def places_of(lengths):
    """How many places rows of these lengths take."""
    places = np.empty(lengths.size, dtype=np.int64)
    for i in range(lengths.size):
        places[i] = size_of(lengths[i])[0]
    return places


@kernel
def find_place(indices, free, length, used, most):
    """Where a row of that length can go, and how much of the pool is used then, which must not be more than `most`."""
    places, size = size_of(length)
    first = free[size]
    if first != NONE and used <= most:
        free[size] = indices[FOUR * first]
        return FOUR * first, used
    return (used, used + places) if used + places <= most else (NOWHERE, used)


@kernel
def vacate(indices, free, start, stop):
    """Let others have the place of the row that was there."""
    if start < stop:
        size = size_of(stop - start)[1]
        indices[start] = free[size]
        free[size] = start // FOUR


@compiled
def close_holes(pool, order):
    """Push the rows together, in the order in which they lie; how much of the pool is used then."""
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
