"""Minimise an augmented Lagrangian by Newton steps on a band: the rows whose force q may still change.

The q of most rows is at a bound of its box and far from leaving it. The band holds the other rows, copied to contiguous
memory. The Lagrangian is minimised over the band; the length of the step to that minimum is then found on all rows. If
it is short, the next band is wider.
"""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.parts.augmented_lagrangian import Lagrangian, Place
from maxmargin.solvers.parts.primal_objective import gap_of_gradient
from maxmargin.system.compiled import compiled

# benchmarks/results/linear.md was measured with these values.
BAND_WIDTH = 2.0  # a q may still change if its unclipped value is at most this many mean boxes outside its box
BAND_PART = 20  # a band holds at least one row in twenty
ROWS_PER_FEATURE = 50  # fewest rows per feature in a band, and in the sample of the first rounds
ROWS_LOOKED_AT = 1 << 15  # approximate number of rows from which the width of the smallest band is computed
WIDENING = 4.0  # factor of the width after a step whose length on all rows was at most one half
STEPS = 40  # most Newton steps in a round
STEP_VISITS = 2  # most visits of each row in one step


def minimise(part: Lagrangian, here: Place, most: float) -> tuple[Place, int]:
    """Take Newton steps until L is minimised accurately enough for its ε, or `most` visits are used up.

    Returns the place and the number of rows visited.
    """
    visits = len(part.y)
    first = gap_of_gradient(part.ridge, here.gradient)
    for _ in range(STEPS):
        if part.solved(here, first) or visits + STEP_VISITS * len(part.y) > most:
            break
        here, _, visited = part.go(here, part.newton_step(here))
        visits += visited
    return here, visits


def minimise_by_bands(whole: Lagrangian, v: np.ndarray, most: float) -> tuple[Place, int, int, bool]:
    """Minimise L over all rows, by bands.

    Returns the place, the number of rows visited, the number of steps, and whether `most` visits were too few.
    """
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
    """Return the step to the minimum over the band, the rows visited, and the steps counted: one per two passes."""
    part = whole.restricted(band, here)
    there, visited = minimise(part, part.with_margins(here.v, here.margins[band]), most)
    return there.v - here.v, visited, max(1, visited // (2 * len(band)))


def rows_in_band(part: Lagrangian, margins: np.ndarray, wider: float) -> np.ndarray:
    """Return the rows whose q is inside its box, or whose margin is close to the range where it is."""
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
    """Return the distance of each margin from the range where q is inside its box; negative if it is inside."""
    outside = np.empty_like(margins)
    for i in range(margins.size):
        short = 1.0 - margins[i]
        outside[i] = max(-epsilon * alpha[i] - short, short - epsilon * (U[i] - alpha[i]))
    return outside
