"""The dual variables of all examples: for each a mark in memory, and a number that may be in a file.

The mark says whether the row is cached (so that no row is cached twice, with two values of α), whether its label is
positive, and whether α is at a bound of its box. If it is, the number is not read. Most evicted rows are at a bound,
so few of them access a page of the file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.system.compiled import compiled, kernel

HELD, POSITIVE, AT_ZERO, AT_TOP = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
AT_ONCE = 1 << 16  # marks that are looked at at once
ENDS = np.uint8(AT_ZERO | AT_TOP)


class Variables(NamedTuple):
    """Marks, numbers, the upper bound of the box, and the count of numbers written in random order."""

    marks: np.ndarray
    numbers: np.ndarray
    top: float
    written: np.ndarray


def variables_of(marks: np.ndarray, numbers: np.ndarray, top: float) -> Variables:
    """Return Variables with no writes counted."""
    return Variables(marks, numbers, float(top), np.zeros(1, dtype=np.int64))


def spelt_out(variables: Variables, part: slice) -> np.ndarray:
    """Return the α of a part of the examples."""
    marks, alpha = variables.marks[part], variables.numbers[part].copy()
    alpha[marks & AT_ZERO > 0] = 0.0
    alpha[marks & AT_TOP > 0] = variables.top
    return alpha


def count_positive(marks: np.ndarray) -> int:
    """Return the number of examples with a positive label."""
    pieces = (marks[start : start + AT_ONCE] for start in range(0, len(marks), AT_ONCE))
    return sum(int(np.count_nonzero(piece & POSITIVE)) for piece in pieces)


@kernel
def get(variables, i):
    """Return α of example i."""
    mark = variables.marks[i]
    if mark & AT_ZERO:
        return 0.0
    return variables.top if mark & AT_TOP else variables.numbers[i]


@kernel
def put(variables, i, alpha):
    """Set α of example i."""
    mark = variables.marks[i] & ~ENDS
    if alpha == 0.0:
        variables.marks[i] = mark | AT_ZERO
    elif alpha == variables.top:
        variables.marks[i] = mark | AT_TOP
    else:
        variables.marks[i] = mark
        variables.numbers[i] = alpha
        variables.written[0] += 1


@compiled
def put_all(variables, examples, alpha):
    """Set α of several examples."""
    for k in range(examples.size):
        put(variables, examples[k], alpha[k])
