"""The working set of SMO: select the next batch, drop variables (shrinking), and estimate the gap.

At the optimum, in each group, no variable with β < hi has a larger F than any variable with β > lo. The violation is
the largest F among β < hi minus the smallest F among β > lo.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.problems.kernel import KernelProblem
from maxmargin.system.compiled import compiled

SHRUNK_PART = 0.8  # variables are dropped only if at most this fraction of the active ones remains
INFINITE = 1e300  # larger than every F; finite, because searches are compiled with the assumption of finite numbers


@dataclass
class Batches:
    """The state: β, F, the last batch, the active variables, and the largest and smallest F of each group, if known."""

    beta: np.ndarray
    F: np.ndarray
    batch: np.ndarray
    active: np.ndarray
    round: int = 0
    visited: int = 0
    estimate: float = np.inf
    highest: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lowest: np.ndarray = field(default_factory=lambda: np.zeros(0))


def select_batch(problem: KernelProblem, state: Batches, size: int) -> tuple[float, np.ndarray]:
    """Return the largest violation among active variables, and the next batch: half of the last and the worst."""
    formulation, F = problem.formulation, state.F
    highest, lowest = (state.highest, state.lowest) if len(state.highest) else ends_of_F(problem, state)
    violation = float(np.max(highest - lowest)) if len(formulation.sums) else float(max(highest[0], -lowest[0]))
    ends = zip(lowest, highest, strict=True) if len(formulation.sums) else ((0.0, 0.0),)
    kept = state.batch[max(len(state.batch) // 2, len(state.batch) - size // 2) :]
    busy = np.zeros(len(F), dtype=bool)
    busy[kept] = True
    share = max(1, (size - len(kept)) // (2 * len(highest)))
    picked = []
    for g, (above, below) in enumerate(ends):
        up, down = violating(
            F, state.beta, formulation.lo, formulation.hi, formulation.group, g, state.active, busy, above, below
        )
        picked += [largest(F, up, share), largest(-F, down, share)]
    return max(violation, 0.0), np.concatenate([kept, np.unique(np.concatenate(picked))])


def ends_of_F(problem: KernelProblem, state: Batches) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each group, the largest F of active variables with β < hi and the smallest F of those with β > lo."""
    formulation, count = problem.formulation, max(len(problem.formulation.sums), 1)
    highest, lowest = np.full(count, -INFINITE), np.full(count, INFINITE)
    find_ends(state.F, state.beta, formulation.lo, formulation.hi, formulation.group, state.active, highest, lowest)
    return highest, lowest


def largest(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` entries of `places` with the largest values."""
    if len(places) <= count:
        return places
    return np.asarray(places[np.argpartition(-values[places], count - 1)[:count]])


def shrink(problem: KernelProblem, state: Batches) -> None:
    """Drop variables at a bound that form no violating pair, with their columns of the kernel, if these are enough."""
    formulation, active = problem.formulation, state.active
    if len(formulation.sums) != 1:
        return
    highest, lowest = ends_of_F(problem, state)
    F, beta = state.F[active], state.beta[active]
    idle = (beta <= formulation.lo[active]) & (lowest[0] > F) | (beta >= formulation.hi[active]) & (highest[0] < F)
    idle[np.searchsorted(active, state.batch)] = False
    if np.count_nonzero(~idle) > SHRUNK_PART * len(active):
        return
    state.active = active[~idle]
    problem.held.narrow(np.unique(formulation.row[state.active]))


def estimate(problem: KernelProblem, state: Batches) -> float:
    """Return the relative gap of the active variables, with b in the middle between the largest and smallest F."""
    formulation, (highest, lowest) = problem.formulation, ends_of_F(problem, state)
    state.highest, state.lowest = highest, lowest
    offsets = 0.5 * (highest + lowest) if len(formulation.sums) else np.zeros(1)
    gap = gap_of(state.F, state.beta, formulation.lo, formulation.hi, formulation.group, state.active, offsets)
    if gap == 0.0:
        return 0.0
    dual = 0.5 * float(np.sum(state.beta * (state.F - formulation.q)))  # F is out of date for inactive β at 0 or at C
    measure = max(abs(dual + gap), problem.scale)
    return gap / measure if measure != 0.0 else np.inf


@compiled
def find_ends(F, beta, lo, hi, group, active, highest, lowest):
    """Write the largest F among β < hi and the smallest among β > lo of each group to `highest` and `lowest`."""
    for k in range(active.size):
        i = active[k]
        g = group[i]
        if beta[i] < hi[i]:
            highest[g] = max(highest[g], F[i])
        if beta[i] > lo[i]:
            lowest[g] = min(lowest[g], F[i])


@compiled
def violating(F, beta, lo, hi, group, g, active, busy, above, below):
    """Return the variables of group g with β < hi and F > above, and with β > lo and F < below, except busy ones."""
    up, down = np.empty(active.size, np.intp), np.empty(active.size, np.intp)
    ups, downs = 0, 0
    for k in range(active.size):
        i = active[k]
        if group[i] == g and not busy[i]:
            if beta[i] < hi[i] and F[i] > above:
                up[ups] = i
                ups += 1
            if beta[i] > lo[i] and F[i] < below:
                down[downs] = i
                downs += 1
    return up[:ups], down[:downs]


@compiled
def gap_of(F, beta, lo, hi, group, active, offsets):
    """Return Σ (hi − β) (F − b)₊ + (β − lo) (b − F)₊ over the active variables."""
    total = 0.0
    for k in range(active.size):
        i = active[k]
        R = F[i] - offsets[group[i]]
        total += (hi[i] - beta[i]) * R if R > 0.0 else (lo[i] - beta[i]) * R
    return total
