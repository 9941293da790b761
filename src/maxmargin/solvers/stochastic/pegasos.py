"""Pegasos: stochastic subgradient descent on batches, with the step 1/(λt).

Solves   min_w ½‖w‖² + Σ C_i max(0, 1 − y_i⟨w, x_i⟩)       (in the λ-form, λ = 1/Σ C_i)
Step     A_t = the next k examples;  w ← (1 − 1/t) w + (N/t) Σ_{i ∈ A_t, m_i < 1} C_i y_i x_i,  N batches an epoch,
         then, if project=True, w is projected onto the ball ‖w‖ ≤ √(Σ C_i), which contains the optimum
Batch    k = 1 is stochastic subgradient descent, k = n the subgradient method
Keeps    α_i = (N/t) C_i · (times i was in a batch with m_i < 1): feasible, and w = w(α)
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Shalev-Shwartz, Singer, Srebro, Cotter, Mathematical Programming 2011
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.rows import axpy, dot
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.stochastic_steps import Walk, begin, stand
from maxmargin.solvers.takes import Takes
from maxmargin.system.compiled import compiled
from maxmargin.system.values import is_whole


@dataclass(frozen=True)
class Pegasos:
    """Pegasos: subgradient steps 1/(λt) on batches of examples."""

    name = "pegasos"
    state_type = Walk
    takes = Takes(("hinge",), ("none", "regularised"))

    batch: int = 1
    project: bool = False

    def __post_init__(self) -> None:
        check_batch(self.batch)
        if not isinstance(self.project, bool):
            raise ParameterError(f"project={self.project!r} must be true or false")

    def start(self, problem: Problem, warm: Point | None = None) -> Walk:
        """Start at w = 0, or at w(α) of `warm`."""
        if self.batch > problem.n:
            raise ParameterError(f"batch={self.batch} must be from 1 to {problem.n}, the number of examples")
        return begin(problem, warm)

    def advance(self, problem: Problem, state: Walk, rng: np.random.Generator) -> None:
        """Make one epoch, or a part of it."""
        start, stop = state.open(problem, rng, self.batch, uniform=False)
        radius = float(np.sum(problem.C)) if self.project else np.inf
        state.scale, state.s, state.t = walk(
            problem.rows, problem.y, problem.C, problem.squared_norms, problem.bias_square,
            state.v, state.a, state.scale, state.s, state.t,
            state.order, start, stop, self.batch, np.zeros(self.batch, dtype=np.bool_), radius,
        )  # fmt: skip
        state.fold()
        state.close(start, stop)

    def point(self, problem: Problem, state: Walk) -> Point:
        """Return the dual point α, with w = w(α)."""
        return stand(problem, state)


def check_batch(batch: int) -> None:
    """Raise ParameterError if `batch` is not a positive integer."""
    if not (is_whole(batch) and batch >= 1):
        raise ParameterError(f"batch={batch!r} must be a whole number from 1 to the number of examples")


@compiled
def walk(rows, y, C, Q, B2, v, a, scale, s, t, order, start, stop, k, hit, radius):
    """Visit order[start:stop], k examples in each step; `radius` is the squared radius of the ball."""
    batches = -(-order.size // k)
    norm = 0.0
    if radius < np.inf:
        for j in range(v.size):
            norm += v[j] * v[j]
    for first in range(start, stop, k):
        t += 1
        size = min(k, stop - first)
        for j in range(size):
            i = order[first + j]
            hit[j] = y[i] * scale * (dot(rows, i, v) + B2 * s) < 1.0
        if t == 1:
            v[:], a[:], s, norm = 0.0, 0.0, 0.0, 0.0
            scale = 1.0
        else:
            scale *= 1.0 - 1.0 / t
        for j in range(size):
            if hit[j]:
                i = order[first + j]
                step = batches / t * C[i] / scale
                if radius < np.inf:
                    norm += step * (2.0 * y[i] * dot(rows, i, v) + step * Q[i])
                axpy(rows, i, step * y[i], v)
                a[i] += step
                s += step * y[i]
        square = scale * scale * (norm + B2 * s * s)
        if radius < np.inf and square > radius:
            scale *= np.sqrt(radius / square)
    return scale, s, t
