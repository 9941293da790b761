"""Minimise an augmented Lagrangian by Newton steps on a band: the rows whose force may still change.

Most rows are far from where their q would leave an end of its box. A band holds the others, copied side by side. The
Lagrangian is minimised over the band; the step to that minimum is taken as far as all rows agree. If that is not far,
the next band is wider.
"""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.parts.augmented_lagrangian import Lagrangian, Place
from maxmargin.solvers.parts.primal_objective import gap_of_gradient
from maxmargin.system.compiled import compiled

# benchmarks/results/linear.md was measured with these values.
BAND_WIDTH = 2.0  # boxes outside its own at which a q may still change
BAND_PART = 20  # a band holds at least one row of twenty
ROWS_PER_FEATURE = 50  # a band, and the sample of the first rounds, hold at least these
ROWS_LOOKED_AT = 1 << 15  # rows, nearly, whose distances tell how wide a band of that size is
WIDENING = 4.0  # of the band after a step that all rows shortened to less than half
STEPS = 40  # Newton steps in a round, at most
STEP_VISITS = 2  # of each row in one step, at most


def minimise(part: Lagrangian, here: Place, most: float) -> tuple[Place, int]:
    """Newton steps until L is minimised as exactly as ε deserves, or `most` visits are used: place, rows visited."""
    visits = len(part.y)
    first = gap_of_gradient(part.ridge, here.gradient)
    for _ in range(STEPS):
        if part.solved(here, first) or visits + STEP_VISITS * len(part.y) > most:
            break
        here, _, visited = part.go(here, part.newton_step(here))
        visits += visited
    return here, visits


def minimise_by_bands(whole: Lagrangian, v: np.ndarray, most: float) -> tuple[Place, int, int, bool]:
    """The same over all rows, by bands: place, rows visited, steps, and whether `most` visits were too few."""
    here, n = whole.at(v), len(whole.y)
    visits, steps, wider, first = n, 0, 1.0, gap_of_gradient(whole.ridge, here.gradient)
    while True:
        if whole.solved(here, first) or steps >= STEPS:
            return here, visits, steps, False
        if visits + STEP_VISITS * n > most:
            return here, visits, steps, True
        band = rows_in_band(whole, here.margins, wider)
        if 2 * len(band) > n:
            step, visited, taken = whole.newton_step(here), 0, 1
        else:
            step, visited, taken = step_on_band(whole, band, here, most - visits - STEP_VISITS * n)
        steps += taken
        here, length, more = whole.go(here, step)
        visits += visited + more
        wider = 1.0 if length > 0.5 else WIDENING * wider


def step_on_band(whole: Lagrangian, band: np.ndarray, here: Place, most: float) -> tuple[np.ndarray, int, int]:
    """The step to the minimum over the band, the rows visited, and how many steps that counts as: two are one."""
    part = whole.restricted(band, here)
    there, visited = minimise(part, part.with_margins(here.v, here.margins[band]), most)
    return there.v - here.v, visited, max(1, visited // (2 * len(band)))


def rows_in_band(part: Lagrangian, margins: np.ndarray, wider: float) -> np.ndarray:
    """The rows whose q is inside its box, or whose margin is not far from where that begins."""
    n, epsilon = len(margins), part.epsilon
    if not epsilon:
        return np.arange(n)
    outside = distance_outside(part.term.U, margins, part.alpha, epsilon)
    least = min(max(n // BAND_PART, ROWS_PER_FEATURE * len(part.ridge)), n - 1)
    stride = max(1, n // ROWS_LOOKED_AT)
    near = float(np.partition(outside[::stride], least // stride)[least // stride])
    width = max(BAND_WIDTH * epsilon * float(np.mean(part.term.U)), near)
    return np.flatnonzero(outside <= wider * width)


@compiled
def distance_outside(U, margins, alpha, epsilon):
    """How far margins are from where q is inside its box; below 0 if it is."""
    outside = np.empty_like(margins)
    for i in range(margins.size):
        short = 1.0 - margins[i]
        outside[i] = max(-epsilon * alpha[i] - short, short - epsilon * (U[i] - alpha[i]))
    return outside
