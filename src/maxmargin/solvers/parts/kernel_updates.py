"""The computations of SMO with kernel rows: K′ among the variables of a batch, and the update of F."""

from __future__ import annotations

import numpy as np

from maxmargin.kernels.row_sums import COLUMNS_AT_ONCE, add_rows
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.parts.working_set import Batches
from maxmargin.system.buffers import room
from maxmargin.system.compiled import compiled
from maxmargin.system.threads import on_threads

LARGEST_FOR_ONE_THREAD = 192  # variables: K′ of a batch with no more is gathered by one thread


def kernel_of_batch(
    values: np.ndarray, places: np.ndarray, columns: np.ndarray, t: np.ndarray, threads: int
) -> np.ndarray:
    """Return K′ among the variables of a batch: their rows and columns of the kernel, times their signs t."""
    K = room("square of a batch", (len(places), len(columns)), values.dtype)
    step = -(-len(places) // (threads if len(places) > LARGEST_FOR_ONE_THREAD else 1))
    signs = t.astype(values.dtype)
    on_threads(threads, lambda k: gather(values, places, columns, signs, k, min(k + step, len(places)), K),
               range(0, len(places), step))  # fmt: skip
    return K


@compiled
def gather(values, places, columns, t, start, stop, K):
    """Fill rows `start` to `stop` of K′ among the variables of a batch."""
    for a in range(start, stop):
        row = values[places[a]]
        for b in range(columns.size):
            K[a, b] = t[a] * t[b] * row[np.uintp(columns[b])]


def update_F(problem: KernelProblem, state: Batches, places: np.ndarray, change: np.ndarray) -> None:
    """Update F of the active variables after the coefficients of the kernel rows in `places` have changed."""
    held, formulation = problem.held, problem.formulation
    moved = np.zeros(len(held.columns))

    def add(start: int) -> None:
        add_rows(held.values, places, change, start, min(start + COLUMNS_AT_ONCE, len(moved)), moved)

    on_threads(problem.threads, add, range(0, len(moved), COLUMNS_AT_ONCE))
    active = state.active
    if problem.one_a_row and len(active) == len(moved) == len(state.F):
        state.F -= formulation.t * moved
    else:
        state.F[active] -= formulation.t[active] * moved[held.column(formulation.row[active])]
