"""Gradient descent for rows on disk or on a cluster.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic;  v = (w, b)
Step     v ← v − t ∇P(v)
Length   tried is the t of the last step, doubled; the pass there also sums the slope along the step, which gives a
         better length where that one is too long or too short
Costs    an iteration: one pass, or two if the length changes; memory O(d). Raw columns need very many
After    Cauchy 1847
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problems.by_passes import PassProblem
from maxmargin.solvers.passes.base import PassSolver, PassState
from maxmargin.solvers.takes import SMOOTH_LOSSES, Takes
from maxmargin.status import Status

GROWTH = 2.0  # the length that is tried first, relative to the last one


@dataclass
class PassDescentState(PassState):
    """The point, and the length t of the last step; 0 before the first."""

    length: float = 0.0


@dataclass(frozen=True)
class PassGradientDescent(PassSolver):
    """Gradient descent, one or two passes for each step."""

    name = "gradient_descent"
    state_type = PassDescentState
    takes = Takes(SMOOTH_LOSSES)

    def advance(self, problem: PassProblem, state: PassState, rng: np.random.Generator) -> Status | None:
        """Take one step; the first call evaluates the start."""
        assert isinstance(state, PassDescentState)
        if state.at is None:
            self.arrive(problem, state, rng)
            return None
        gradient, v = problem.gradient(state.at), state.v
        size = float(np.linalg.norm(gradient))
        if size == 0.0:
            return Status.STALLED
        tried = GROWTH * state.length or 1.0 / max(1.0, size)
        ended = self.move(problem, state, -tried * gradient)
        if ended is None:
            state.length = float(np.linalg.norm(state.v - v)) / size
        return ended

    def saved(self, problem: PassProblem, state: PassState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the point and the length of the last step."""
        assert isinstance(state, PassDescentState)
        arrays, numbers = super().saved(problem, state)
        return arrays, {**numbers, "length": state.length}

    def restored(self, problem: PassProblem, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> PassState:
        """Return the saved state with its length."""
        state = super().restored(problem, arrays, numbers)
        assert isinstance(state, PassDescentState)
        state.length = float(numbers["length"])
        if not 0.0 <= state.length < np.inf:
            raise ValueError(f"length is {state.length}")
        return state
