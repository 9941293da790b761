"""What batch solvers over passes share: the state, its checkpoint, and a step whose length lowers the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Point
from maxmargin.problems.evaluation import LENGTHS, Evaluated
from maxmargin.solvers.parts.line_search import FLAT
from maxmargin.solvers.parts.primal_objective import gap_of_gradient
from maxmargin.solvers.passes.sample import start_on_sample
from maxmargin.status import Status

VALUE_ROUNDING = 1e-13  # a relative change of P below this may be a rounding error


@dataclass
class PassState:
    """The start, the last evaluated point, and the number of visited rows."""

    v: np.ndarray
    at: Evaluated | None = None
    visited: int = 0
    estimate: float = np.inf


class PassSolver:
    """The base class of batch solvers over passes."""

    name: str
    state_type: type = PassState

    def start(self, problem: PassProblem, warm: Point | None = None) -> PassState:
        """Start at w = 0, or at the point `warm`; the first call of `advance` moves to the optimum of a sample."""
        v = np.zeros(problem.d + 1)
        if warm is not None and warm.w is not None:
            v[: len(warm.w)], v[-1] = warm.w, 0.0 if problem.bias == "none" else warm.b
        state: PassState = self.state_type(v)
        return state

    def evaluated(self, problem: PassProblem) -> dict[str, Any]:
        """Return what a pass computes besides the gradient: fields of `Evaluate`."""
        return {}

    def point(self, problem: PassProblem, state: PassState) -> Evaluated | None:
        """Return the last evaluated point."""
        return state.at

    def arrive(self, problem: PassProblem, state: PassState, rng: np.random.Generator) -> None:
        """Evaluate the start: the point of a warm start, or the optimum of a sample."""
        if not np.any(state.v):
            state.v = start_on_sample(problem, rng).v
        self.accept(problem, state, problem.evaluate(state.v, **self.evaluated(problem)))

    def accept(self, problem: PassProblem, state: PassState, at: Evaluated) -> None:
        """Move to an evaluated point."""
        state.at, state.v = at, at.v
        state.visited += problem.n
        gap = at.slack + gap_of_gradient(problem.regulariser.r, problem.gradient(at))
        state.estimate = gap / max(problem.value(at), 1e-300)

    def move(
        self, problem: PassProblem, state: PassState, step: np.ndarray, enough: float | None = None
    ) -> Status | None:
        """Take the step if the slope is small after it, else one of a better length. Returns STALLED if P rises.

        A step that is too long is also taken if P falls by the part `enough` of what the slope at its start promises:
        that saves a pass.
        """
        here = state.at
        assert here is not None
        before = problem.value(here)
        there = problem.evaluate(here.v + step, step=step, **self.evaluated(problem))
        length = better_length(problem, here.v, step, there)
        low = -np.inf if enough is None else before + enough * float(problem.gradient(here) @ step)
        if length > 1.0 or (length < 1.0 and problem.value(there) > low):
            state.visited += problem.n
            there = problem.evaluate(here.v + length * step, **self.evaluated(problem))
        if problem.value(there) > before * (1.0 + VALUE_ROUNDING):
            return Status.STALLED
        self.accept(problem, state, there)
        return None

    def saved(self, problem: PassProblem, state: PassState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what a checkpoint holds: the point. A pass evaluates it again."""
        return {"v": state.v}, {"visited": state.visited, "begun": state.at is not None}

    def restored(self, problem: PassProblem, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> PassState:
        """Return the saved state, evaluated again. Raises ValueError if it does not fit this problem."""
        v = arrays["v"]
        if v.dtype != np.float64 or v.shape != (problem.d + 1,) or not np.all(np.isfinite(v)):
            raise ValueError(f"v has the type {v.dtype} and the shape {v.shape}, or is not finite")
        if problem.bias == "none" and v[-1] != 0.0:
            raise ValueError(f"v has the bias {v[-1]}, and this problem has none")
        state: PassState = self.state_type(v)
        if numbers["begun"]:
            self.accept(problem, state, problem.evaluate(v, **self.evaluated(problem)))
        state.visited = int(numbers["visited"])
        return state


def better_length(problem: PassProblem, v: np.ndarray, step: np.ndarray, there: Evaluated) -> float:
    """Return the length of a step at which the objective is nearly flat: 1 if it is at v + step, where it is known."""
    end, r = float(problem.gradient(there) @ step), problem.regulariser.r
    line, bend = float(np.sum(r * v * step)), float(np.sum(r * step * step))
    slopes = {t: line + t * bend - force for t, force in zip(LENGTHS, there.along.tolist(), strict=True)}
    if abs(end) <= FLAT * abs(slopes[LENGTHS[0]]):
        return 1.0
    slopes[1.0] = end
    low = max((t for t in slopes if slopes[t] < 0.0), default=0.0)
    high = min((t for t in slopes if t > low), default=low)
    if low in (0.0, high):
        return float(low or high)
    return float(low + (high - low) * slopes[low] / (slopes[low] - slopes[high]))
