"""The protocol of a solver: start, advance, point. The loop in `loop/solve` does the rest.

The state of a solver is a dataclass of arrays, numbers and booleans, so that a checkpoint can store it. The loop reads
one field, `visited`, the number of rows visited so far. An epoch is n visits.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from maxmargin.data.passes import scores
from maxmargin.data.rows import row_length
from maxmargin.problems.best_bias import best_bias
from maxmargin.problems.certificate import Certified, Point, feasible, primal_of
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status

WORK = 10_000_000  # values visited in one call of `advance`: a few tenths of a second
ROW = 50  # fixed cost of visiting a row, in units of visited values


class Solver(Protocol):
    """One training algorithm."""

    @property
    def name(self) -> str:
        """The name by which users select the solver."""

    @property
    def state_type(self) -> type:
        """The dataclass of the solver's state."""

    @property
    def takes(self) -> Takes:
        """The problems that the solver can solve."""

    def start(self, problem: Any, warm: Point | None = None) -> Any:
        """Return the state before the first step, at the point `warm` if one is given."""

    def advance(self, problem: Any, state: Any, rng: np.random.Generator) -> Status | None:
        """Advance `state` by one sweep, or by about half a second of a longer sweep.

        Returning a status ends the run, even if the certificate has not reached its tolerance: the solver cannot
        improve the point any further.
        """

    def point(self, problem: Any, state: Any) -> Point:
        """Return the point to certify: (w, b), α, or both."""


@runtime_checkable
class Learns(Protocol):
    """A solver that copies results of a certificate into its state, because they are more exact than its own."""

    def learn(self, problem: Any, state: Any, found: Certified) -> None:
        """Update `state` with the results `found` by the certificate."""


@runtime_checkable
class Saves(Protocol):
    """A solver whose state has fields other than arrays and numbers, and that defines how to save and restore it."""

    def saved(self, problem: Any, state: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arrays and the numbers to store in a checkpoint."""

    def restored(self, problem: Any, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> Any:
        """Return the saved state. Raises ValueError if the saved values are inconsistent with the problem."""


@runtime_checkable
class Divisible(Protocol):
    """A solver with long steps that can be cut short at a limit of row visits."""

    def advance_within(self, problem: Any, state: Any, rng: np.random.Generator, visits: float) -> Status | None:
        """Advance with at most `visits` row visits. Returns EPOCH_LIMIT if the step was cut short."""


def rows_at_once(problem: Problem) -> int:
    """Return the largest number of rows that one call of `advance` visits."""
    return max(1, int(WORK / (row_length(problem.rows) + ROW)))


def visits_at_once(problem: KernelProblem) -> int:
    """Return the largest number of examples that one call of `advance` visits, if each may need a kernel row."""
    return max(1, WORK // problem.n)


def dual_start(problem: Problem, warm: Point | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Return a feasible start α with its w(α) and b: 0, or the α of `warm`, halved as long as that increases D."""
    if warm is None or warm.alpha is None:
        return np.zeros(problem.n), *primal_of(problem, np.zeros(problem.n))
    alpha = feasible(problem, warm.alpha)
    w, b = primal_of(problem, alpha)
    part, value = 1.0, problem.dual(alpha, w, b)
    while problem.bounded and (shorter := problem.dual(0.5 * part * alpha, 0.5 * part * w, 0.5 * part * b)) > value:
        part, value = 0.5 * part, shorter
    return (alpha, w, b) if part == 1.0 else (part * alpha, part * w, part * b)


def best_bias_at(problem: Problem, w: np.ndarray) -> float:
    """Return the free bias b that minimises the primal objective for this w."""
    f = scores(problem.rows, w, problem.threads)
    return best_bias(f, problem.y, problem.C, problem.loss, threads=problem.threads)
