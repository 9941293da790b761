"""The protocol of a solver: start, advance, point. The loop in `loop/solve` does the rest.

The state of a solver is a dataclass of arrays, numbers and truth values, so that a checkpoint can hold it. The loop
reads one field of it, `visited`: the number of rows visited; n of them are an epoch.
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
ROW = 50  # the fixed cost of visiting a row, in values


class Solver(Protocol):
    """One training algorithm."""

    @property
    def name(self) -> str:
        """The name users give."""

    @property
    def state_type(self) -> type:
        """The dataclass of its state."""

    @property
    def takes(self) -> Takes:
        """The problems that it takes."""

    def start(self, problem: Any, warm: Point | None = None) -> Any:
        """The state before the first step, at a point with alpha if given."""

    def advance(self, problem: Any, state: Any, rng: np.random.Generator) -> Status | None:
        """Change `state` by one sweep, or by as much of it as takes about half a second.

        A status ends the run: the solver has done all that it can, whatever the certificate says.
        """

    def point(self, problem: Any, state: Any) -> Point:
        """The point to certify: w, b, α, or a part of these."""


@runtime_checkable
class Learns(Protocol):
    """A solver that takes results of a certificate into its state, where they are more exact than its own."""

    def learn(self, problem: Any, state: Any, found: Certified) -> None:
        """Take it into `state`."""


@runtime_checkable
class Saves(Protocol):
    """A solver whose state is more than arrays and numbers, and that says what of it a checkpoint keeps."""

    def saved(self, problem: Any, state: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and numbers."""

    def restored(self, problem: Any, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> Any:
        """The state that was saved; a ValueError says what cannot be."""


@runtime_checkable
class Divisible(Protocol):
    """A solver whose first step is long, and can be cut short."""

    def advance_within(self, problem: Any, state: Any, rng: np.random.Generator, visits: float) -> Status | None:
        """Advance by visiting no more than `visits` rows; EPOCH_LIMIT if that cut the step short."""


def rows_at_once(problem: Problem) -> int:
    """The largest number of rows that one call of `advance` visits."""
    return max(1, int(WORK / (row_length(problem.rows) + ROW)))


def visits_at_once(problem: KernelProblem) -> int:
    """The largest number of examples that one call of `advance` visits, where each may need its row of the kernel."""
    return max(1, WORK // problem.n)


def dual_start(problem: Problem, warm: Point | None) -> tuple[np.ndarray, np.ndarray, float]:
    """A feasible α to start from, 0 if none is given, with its w(α) and b; halved as long as D rises."""
    if warm is None or warm.alpha is None:
        return np.zeros(problem.n), *primal_of(problem, np.zeros(problem.n))
    alpha = feasible(problem, warm.alpha)
    w, b = primal_of(problem, alpha)
    part, value = 1.0, problem.dual(alpha, w, b)
    while problem.bounded and (shorter := problem.dual(0.5 * part * alpha, 0.5 * part * w, 0.5 * part * b)) > value:
        part, value = 0.5 * part, shorter
    return (alpha, w, b) if part == 1.0 else (part * alpha, part * w, part * b)


def best_bias_at(problem: Problem, w: np.ndarray) -> float:
    """The best b for that w, where the bias is free."""
    f = scores(problem.rows, w, problem.threads)
    return best_bias(f, problem.y, problem.C, problem.loss, threads=problem.threads)
