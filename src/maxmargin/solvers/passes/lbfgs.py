"""L-BFGS for rows on disk or on a cluster: a quasi-Newton method, one pass for each step.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic
Step     Δ = −H ∇P, where H is built from the last m changes of v and ∇P by the two-loop recursion
Pass     one pass at v + Δ gives P, ∇P, the certificate, and P along the step
Costs    an iteration: one pass, or two if the whole step does not lower P; memory O(m d)
After    Nocedal, Mathematics of Computation 1980; Liu, Nocedal, Mathematical Programming 1989
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.problems.by_passes import PassProblem
from maxmargin.solvers.passes.base import PassSolver, PassState
from maxmargin.solvers.primal.lbfgs import check_memory, remember, two_loops
from maxmargin.solvers.takes import SMOOTH_LOSSES, Takes
from maxmargin.status import Status

NONE = np.zeros((0, 0))


@dataclass
class PassLbfgsState(PassState):
    """The point, and the last changes of v and of its gradient: the first `pairs` rows of S and Y, oldest first."""

    S: np.ndarray = field(default_factory=lambda: NONE)
    Y: np.ndarray = field(default_factory=lambda: NONE)
    pairs: int = 0


@dataclass(frozen=True)
class PassLbfgs(PassSolver):
    """L-BFGS, one pass for each step."""

    name = "lbfgs"
    state_type = PassLbfgsState
    takes = Takes(SMOOTH_LOSSES)

    memory: int = 10

    def __post_init__(self) -> None:
        check_memory(self.memory)

    def advance(self, problem: PassProblem, state: PassLbfgsState, rng: np.random.Generator) -> Status | None:
        """Take one step; the first call evaluates the start."""
        if state.at is None:
            self.arrive(problem, state, rng)
            return None
        if not len(state.S):
            state.S, state.Y = (np.zeros((self.memory, problem.d + 1)) for _ in range(2))
        gradient, v = problem.gradient(state.at), state.v
        step = -two_loops(gradient, state.S[: state.pairs], state.Y[: state.pairs])
        if not gradient @ step < 0.0:
            state.pairs, step = 0, -gradient
        if not state.pairs:
            step = step / max(1.0, float(np.linalg.norm(step)))
        ended = self.move(problem, state, step)
        if ended is None:
            remember(state, state.v - v, problem.gradient(state.at) - gradient)
        return ended

    def saved(self, problem: PassProblem, state: PassState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the point and the remembered pairs."""
        assert isinstance(state, PassLbfgsState)
        arrays, numbers = super().saved(problem, state)
        return {**arrays, "S": state.S[: state.pairs], "Y": state.Y[: state.pairs]}, numbers

    def restored(self, problem: PassProblem, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> PassState:
        """Return the saved state with its pairs."""
        state = super().restored(problem, arrays, numbers)
        assert isinstance(state, PassLbfgsState)
        S, Y = arrays["S"], arrays["Y"]
        wanted = (len(S), problem.d + 1) if len(S) else S.shape
        if len(S) > self.memory or S.shape != Y.shape or S.shape != wanted or S.dtype != np.float64:
            raise ValueError(f"S has the shape {S.shape} and Y {Y.shape}")
        state.S, state.Y = (np.zeros((self.memory, problem.d + 1)) for _ in range(2))
        state.S[: len(S)], state.Y[: len(Y)], state.pairs = S, Y, len(S)
        return state
