"""The slots of a row cache, for compiled code.

Each row has a slot, which stores the number of its example, its label ±1, ‖x‖² and α. Slots are numbered 0, 1, ...,
count − 1; when a row is removed, the last row moves to its slot. The values of sparse rows are in a pool, those of
dense rows in their slots. Five functions hide the difference:

    place(rows, coming, i, used, room)   a place for row i of the block `coming`, and the used size of the pool then
    copy_in(rows, k, coming, i, to)      copy row i of the block to that place, as row k
    leave(rows, k)                       free the place of row k
    relocate(rows, k, last)              move row `last` to slot k
    weight(rows, k)                      size of row k in bytes

The dual variables of the data set (see dual_variables) mark the cached examples, and store α of the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import Dense, Spans, square
from maxmargin.solvers.streaming.dual_variables import HELD, POSITIVE, get, put
from maxmargin.solvers.streaming.row_pool import NOWHERE, find_place, size_of, vacate
from maxmargin.system.compiled import compiled, holds, inlined, kernel
from maxmargin.system.splitmix import draw_below

SLOT = 64  # bytes of a row besides its values


class Slots(NamedTuple):
    """The arrays of the slots: row, example number, label, ‖x‖² and α.

    Compiled code must take a field that it writes to by its name: `slots.alpha[k] = a`, or `alpha = slots.alpha`.
    After `rows, ..., alpha = slots` Numba 0.68 does not see that `alpha` belongs to an argument, and in a function with
    inlined verbs it removes writes to it as dead code.
    """

    rows: Spans | Dense
    example: np.ndarray
    y: np.ndarray
    Q: np.ndarray
    alpha: np.ndarray


def place(rows: Any, coming: Any, i: int, used: int, room: int) -> tuple[int, int]:
    """Return a place for row i of a block, or NOWHERE, and the used size of the pool then, in compiled code."""
    raise NotImplementedError("place works inside compiled functions only")


def copy_in(rows: Any, k: int, coming: Any, i: int, to: int) -> None:
    """Copy row i of a block to its place, as row k, in compiled code."""
    raise NotImplementedError("copy_in works inside compiled functions only")


def leave(rows: Any, k: int) -> None:
    """Free the place of row k, in compiled code."""
    raise NotImplementedError("leave works inside compiled functions only")


def relocate(rows: Any, k: int, last: int) -> None:
    """Move row `last` to slot k, in compiled code."""
    raise NotImplementedError("relocate works inside compiled functions only")


def weight(rows: Any, k: int) -> int:
    """Return the size of row k in bytes, in compiled code."""
    raise NotImplementedError("weight works inside compiled functions only")


@inlined(place)
def _place(rows, coming, i, used, room):
    if holds(rows, Dense):
        return lambda rows, coming, i, used, room: (0, used)
    return lambda rows, coming, i, used, room: find_place(
        rows.indices, rows.free, coming.indptr[i + 1] - coming.indptr[i], used, room // width(rows.values, rows.indices)
    )


@inlined(copy_in)
def _copy_in(rows, k, coming, i, to):
    if holds(rows, Dense):
        return lambda rows, k, coming, i, to: copy_dense(rows.values[k], coming.values[i])

    def sparse(rows, k, coming, i, to):
        start, length = coming.indptr[i], coming.indptr[i + 1] - coming.indptr[i]
        for p in range(length):
            rows.values[to + p] = coming.values[start + p]
            rows.indices[to + p] = coming.indices[start + p]
        rows.start[k], rows.stop[k] = to, to + length

    return sparse


@inlined(leave)
def _leave(rows, k):
    if holds(rows, Dense):
        return lambda rows, k: None
    return lambda rows, k: vacate(rows.indices, rows.free, rows.start[k], rows.stop[k])


@inlined(relocate)
def _relocate(rows, k, last):
    if holds(rows, Dense):
        return lambda rows, k, last: copy_dense(rows.values[k], rows.values[last])
    return lambda rows, k, last: set_span(rows.start, rows.stop, k, rows.start[last], rows.stop[last])


@inlined(weight)
def _weight(rows, k):
    if holds(rows, Dense):
        return lambda rows, k: SLOT + rows.values.shape[1] * rows.values.itemsize
    return lambda rows, k: SLOT + size_of(rows.stop[k] - rows.start[k])[0] * width(rows.values, rows.indices)


@kernel
def width(values, indices):
    """Return the bytes of a value and its index."""
    return values.itemsize + indices.itemsize


@kernel
def copy_dense(x, z):
    """Copy a dense row."""
    for j in range(x.size):
        x[j] = z[j]


@kernel
def set_span(starts, stops, k, start, stop):
    """Store the start and stop of a sparse row."""
    starts[k], stops[k] = start, stop


@compiled
def hold(slots, variables, fill, limit, block, wanted, begin):
    """Cache the wanted rows of a block that are not cached yet, from row `begin` on.

    Return the new fill, and the first row for which there is no place, or the number of rows.
    """
    count, used, live = fill
    rows = slots.rows
    coming = block.rows
    for k in range(begin, block.y.size):
        i = block.first + k
        if block.y[k] > 0.0:
            variables.marks[i] |= POSITIVE
        if variables.marks[i] & HELD or not wanted[k]:
            continue
        to, used = place(rows, coming, k, used, limit - (count + 1) * SLOT)
        if to == NOWHERE:
            return (count, used, live), k
        copy_in(rows, count, coming, k, to)
        variables.marks[i] |= HELD
        slots.example[count], slots.y[count] = i, block.y[k]
        slots.Q[count], slots.alpha[count] = square(coming, k), get(variables, i)
        count, live = count + 1, live + weight(rows, count)
    return (count, used, live), block.y.size


@compiled
def drop(slots, variables, k, count):
    """Remove the row in slot k: store its α in `variables`, move the last row to its slot, return the new count."""
    i, last = slots.example[k], count - 1
    put(variables, i, slots.alpha[k])
    variables.marks[i] &= ~HELD
    leave(slots.rows, k)
    if k != last:
        relocate(slots.rows, k, last)
        slots.example[k], slots.y[k] = slots.example[last], slots.y[last]
        slots.Q[k], slots.alpha[k] = slots.Q[last], slots.alpha[last]
    return last


@compiled
def drop_any(slots, variables, count, live, room, seed):
    """Remove random rows until the others take at most `room` bytes."""
    state = np.uint64(seed)
    while count > 0 and live > room:
        state, k = draw_below(state, count)
        live -= weight(slots.rows, k)
        count = drop(slots, variables, k, count)
    return count, live


@compiled
def drop_others(slots, variables, count, live, wanted):
    """Remove the rows that are not wanted, last row first, so that a row that moves has already been checked."""
    for k in range(count - 1, -1, -1):
        if not wanted[k]:
            live -= weight(slots.rows, k)
            count = drop(slots, variables, k, count)
    return count, live
