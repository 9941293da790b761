"""Pair steps of `small_smo` on a part of the variables, whose part of K is copied together.

Variables at a bound that form no violating pair are left out for a while, as in `smo`. A pair step on the others reads
short rows, which stay in the processor's cache. When their gap has reached the target, F of all variables is computed.
This is for problems with one sum, those with a free bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.kernels.row_sums import sum_of_rows
from maxmargin.solvers.parts.kernel_updates import gather

LEAST_ROWS = 500  # variables from which on copies of a part of K pay
STEPS = 0.5  # pair steps before the next search for variables to leave out, for each variable
PART = 0.7  # a copy is made if at most this part of the variables remains

Moved = Callable[[Any, Any, int], tuple[float, int]]


def moved_in_parts(arrays: Any, state: Any, most: int, moved: Moved) -> tuple[float, int]:
    """Take at most so many pair steps; return the relative gap and how many were taken."""
    n, taken = len(state.beta), 0
    if n < LEAST_ROWS or arrays.groups != 1:
        return moved(arrays, state, most)
    while True:
        gap, steps = moved(arrays, state, min(most - taken, int(STEPS * n)))
        taken += steps
        if gap <= state.target or taken >= most:
            return gap, taken
        own = remaining(arrays, state)
        if not 0 < len(own) <= PART * n:
            continue
        part = replace(state, beta=state.beta[own], F=state.F[own], exact=False)
        taken += moved_in_parts(part_of(arrays, own), part, most - taken, moved)[1]
        write_back(arrays.K, state, part.beta, own)


def remaining(arrays: Any, state: Any) -> np.ndarray:
    """Return the free variables, and those at a bound that could form a violating pair."""
    beta, F, lo, hi = state.beta, state.F, arrays.lo, arrays.hi
    grows, falls = beta < hi, beta > lo
    if not (np.any(grows) and np.any(falls)):
        return np.zeros(0, dtype=np.intp)
    highest, lowest = np.max(F[grows]), np.min(F[falls])
    return np.flatnonzero(grows & falls | grows & (lowest < F) | falls & (highest > F))


def part_of(arrays: Any, own: np.ndarray) -> Any:
    """Return the problem of some variables, with the others fixed: F, which holds their effect, stays as it is."""
    K = np.empty((len(own), len(own)))
    gather(arrays.K, own, own, np.ones(len(own)), 0, len(own), K)
    return arrays._replace(K=K, lo=arrays.lo[own], hi=arrays.hi[own], q=arrays.q[own], group=arrays.group[own])


def write_back(K: np.ndarray, state: Any, beta: np.ndarray, own: np.ndarray) -> None:
    """Take over the new values of some variables, and update F of all."""
    change = beta - state.beta[own]
    some = change != 0.0
    state.beta[own] = beta
    state.F -= sum_of_rows(K, own[some], change[some])
