"""Sweeps over the active examples, in random order, with shrinking.

A sweep visits the active examples in a random order. The compiled loop moves the examples it keeps to the front
of `order` and counts them in `kept`; the next sweep visits only those. An example is dropped when it sits at a bound
and its violation lies outside [low, high], the range of violations in the previous sweep.

Dropping is a guess, and it is undone: every example is visited again as soon as the range of violations of the active
examples has fallen to a tenth of that in the last full sweep, or the shrunk sweeps have cost as much as a few full
ones. No run ends on a guess: it ends with a certificate, which is computed over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import rows_at_once
from maxmargin.system.compiled import compiled
from maxmargin.system.splitmix import draw_below

SAMPLINGS = ("shuffled", "uniform")
VIOLATIONS_LEFT = 0.1  # range of violations, relative to the last full sweep, at which all examples become active
SHRUNK_SWEEPS = 5  # visits in shrunk sweeps, in full sweeps, after which all examples become active


@dataclass
class Sweeps:
    """The state: α, w(α), b, and the progress of the current sweep."""

    alpha: np.ndarray
    w: np.ndarray
    b: float = 0.0
    visited: int = 0
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    position: int = 0
    kept: int = 0
    low: float = np.inf
    high: float = -np.inf
    drop_below: float = -np.inf
    drop_above: float = np.inf
    target: float = np.inf
    full: bool = True
    shrunk_visits: int = 0

    def open(self, problem: Problem, rng: np.random.Generator, uniform: bool = False) -> tuple[int, int]:
        """Return the part of `order` to visit now. A new sweep draws a new order: a permutation, or uniform draws."""
        if self.position == 0:
            self.order = self.draw(problem, rng) if uniform else self.permute(problem, rng)
            self.begin()
        return self.position, min(self.position + rows_at_once(problem), len(self.order))

    def begin(self) -> None:
        """Reset the statistics of the last sweep."""
        self.kept, self.low, self.high = 0, np.inf, -np.inf

    def permute(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        """Return a random permutation of the active examples."""
        order = problem.counted.copy() if self.full else self.order[: self.kept]
        shuffle(order, rng.integers(1 << 63))
        return order

    def draw(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        """Return n draws with replacement from all n examples; none is dropped."""
        self.full, self.drop_below, self.drop_above = True, -np.inf, np.inf
        return rng.choice(problem.counted, len(problem.counted))

    def close(self, start: int, stop: int) -> bool:
        """Count the visits; at the end of a sweep choose the next active examples. Return whether it has ended."""
        self.visited += stop - start
        self.position = stop
        if stop < len(self.order):
            return False
        self.position = 0
        spread = self.high - self.low
        if self.full:
            self.target, self.shrunk_visits = VIOLATIONS_LEFT * spread, 0
        else:
            self.shrunk_visits += len(self.order)
        done = spread <= self.target or self.shrunk_visits >= SHRUNK_SWEEPS * len(self.alpha)
        self.full = self.kept == 0 or (not self.full and done)
        self.drop_below = -np.inf if self.full else self.low
        self.drop_above = np.inf if self.full else self.high
        return True


def check_sampling(sampling: str) -> None:
    """Raise ParameterError if `sampling` is not known."""
    if sampling not in SAMPLINGS:
        raise ParameterError(f"sampling={sampling!r} is not known: choose one of {', '.join(SAMPLINGS)}")


@compiled
def shuffle(order, seed):
    """Shuffle `order` in place (Fisher–Yates)."""
    state = np.uint64(seed)
    for k in range(order.size - 1, 0, -1):
        state, j = draw_below(state, k + 1)
        order[k], order[j] = order[j], order[k]
