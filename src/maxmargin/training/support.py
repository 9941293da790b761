"""The support vectors of a run whose dual variables may be in a file: their row numbers and α_i y_i."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from maxmargin.system.budget import Budget
from maxmargin.system.buffers import forget
from maxmargin.system.spill_file import in_file

AT_ONCE = 1 << 16  # examples processed at once


def support_of(
    signed: Callable[[slice], np.ndarray], n: int, budget: Budget | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of the support vectors of n examples, and their α_i y_i as a matrix with one row.

    `signed` returns α_i y_i of some examples. Both results are in files if they would take too much of the memory.
    """
    pieces = [slice(start, min(start + AT_ONCE, n)) for start in range(0, n, AT_ONCE)]
    count = sum(int(np.count_nonzero(signed(piece))) for piece in pieces)
    many = budget is not None and count > 0 and budget.too_many(count)
    make = partial(in_file, what="support vectors") if many else np.empty
    support, values, at = make(count, np.intp), make(count, np.float64), 0
    for piece in pieces:
        found = signed(piece)
        chosen = np.flatnonzero(found)
        here = slice(at, at + len(chosen))
        support[here], values[here] = chosen + piece.start, found[chosen]
        at = here.stop
        for array in (support, values):
            forget(array)
    return support, values[None, :]
