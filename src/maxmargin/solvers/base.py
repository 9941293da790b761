"""What a solver is: it knows how to start, how to advance, and where it stands. The loop in `solve` does the rest."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from maxmargin.certificate import Point
from maxmargin.problem import Problem


class State(Protocol):
    """A dataclass of plain arrays, numbers and truth values: written down, it is a checkpoint."""

    @property
    def visited(self) -> int:
        """Rows visited so far; n of them are an epoch."""


class Solver(Protocol):
    """One training algorithm."""

    name: str
    state_type: type

    def refuses(self, problem: Problem) -> str | None:
        """Why this solver cannot solve the problem, and which can; None if it can."""

    def start(self, problem: Problem, alpha: np.ndarray | None = None) -> Any:
        """The state before the first step, at `alpha` if given."""

    def advance(self, problem: Problem, state: Any, rng: np.random.Generator) -> None:
        """Change `state` by one sweep, or by as much of it as takes about half a second."""

    def point(self, problem: Problem, state: Any) -> Point:
        """Where the solver stands."""
