"""What solvers of smooth primals share: which problems they take, and a state that is a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.certificate import Point
from maxmargin.problem import Problem
from maxmargin.solvers.base import dual_solver
from maxmargin.solvers.primal import Primal


@dataclass
class SmoothState:
    """A point of the primal."""

    v: np.ndarray
    visited: int = 0


class Smooth:
    """A solver that needs slopes without jumps."""

    name: str

    def refuses(self, problem: Problem) -> str | None:
        """Hinge has a kink."""
        if problem.loss.smooth:
            return None
        other = dual_solver(problem)
        needs = f"{self.name} needs a smooth loss; {problem.loss.name} is not"
        return f"{needs}: use loss='squared_hinge' or solver='{other}'"

    def point(self, problem: Problem, state: Any) -> Point:
        """A primal point: α follows from the margins."""
        return Primal(problem).point(state.v)
