"""L-BFGS: a quasi-Newton method with limited memory.

Solves   min_v P(v)  for a smooth loss: squared hinge, logistic
Step     Δ = −H ∇P, where H is built from the last m changes s of v and y of ∇P by the two-loop recursion;
         v ← v + t Δ, t by backtracking
Keeps    m pairs (s, y) with sᵀy > 0
Costs    an iteration: three passes over the rows and O(m d) time; memory O(n + m d)
After    Nocedal, Mathematics of Computation 1980; Liu, Nocedal, Mathematical Programming 1989
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.takes import SMOOTH_LOSSES, Takes
from maxmargin.system.values import is_whole


@dataclass
class LbfgsState:
    """A point, its gradient, and their last changes: the first `pairs` rows of S and Y, oldest first."""

    v: np.ndarray
    gradient: np.ndarray
    S: np.ndarray
    Y: np.ndarray
    pairs: int = 0
    visited: int = 0


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS: quasi-Newton steps on the primal objective."""

    name = "lbfgs"
    state_type = LbfgsState
    takes = Takes(SMOOTH_LOSSES, unregularised=True)

    memory: int = 10

    def __post_init__(self) -> None:
        check_memory(self.memory)

    def start(self, problem: Problem, warm: Point | None = None) -> LbfgsState:
        """Start at w = 0, or at the point `warm`, without stored pairs."""
        primal = Primal(problem)
        v = primal.start(warm)
        nothing = np.zeros((self.memory, len(v)))
        return LbfgsState(v, primal.gradient(v, primal.scores(v)), nothing, nothing.copy())

    def advance(self, problem: Problem, state: LbfgsState, rng: np.random.Generator) -> None:
        """Take one step."""
        primal = Primal(problem)
        step = -two_loops(state.gradient, state.S[: state.pairs], state.Y[: state.pairs])
        slope = float(state.gradient @ step)
        if not slope < 0.0:
            state.pairs, step = 0, -state.gradient
            slope = float(state.gradient @ step)
        first = 1.0 if state.pairs else 1.0 / max(1.0, float(np.linalg.norm(step)))
        v, f, length = primal.backtrack(state.v, primal.scores(state.v), step, slope, first)
        gradient = primal.gradient(v, f)
        if length:
            remember(state, v - state.v, gradient - state.gradient)
        else:
            state.pairs = 0
        state.v, state.gradient = v, gradient
        state.visited += 3 * problem.n

    def point(self, problem: Problem, state: LbfgsState) -> Point:
        """Return the primal point: α follows from the margins."""
        return Primal(problem).point(state.v)


def check_memory(memory: int) -> None:
    """Raise ParameterError if the number of pairs to remember is not a positive integer."""
    if not (is_whole(memory) and memory >= 1):
        raise ParameterError(f"memory={memory!r} must be a whole number, 1 or above: pairs to remember")


def two_loops(gradient: np.ndarray, S: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return H ∇P, computed from the stored changes S and Y."""
    q, a = gradient.copy(), np.zeros(len(S))
    for k in reversed(range(len(S))):
        a[k] = S[k] @ q / (S[k] @ Y[k])
        q -= a[k] * Y[k]
    if len(S):
        q *= (S[-1] @ Y[-1]) / (Y[-1] @ Y[-1])
    for k in range(len(S)):
        q += (a[k] - Y[k] @ q / (S[k] @ Y[k])) * S[k]
    return q


def remember(state: Any, s: np.ndarray, y: np.ndarray) -> None:
    """Store a pair with positive curvature sᵀy in S and Y, and drop the oldest pair if the memory is full."""
    if not s @ y > 1e-14 * np.linalg.norm(s) * np.linalg.norm(y):
        return
    if state.pairs == len(state.S):
        state.S[:-1], state.Y[:-1] = state.S[1:].copy(), state.Y[1:].copy()
        state.pairs -= 1
    state.S[state.pairs], state.Y[state.pairs] = s, y
    state.pairs += 1
