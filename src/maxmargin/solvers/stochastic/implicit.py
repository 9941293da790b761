"""Implicit (proximal) stochastic updates: each step minimises the loss of its example with a proximal term.

Solves   min_w ½‖w‖² + Σ C_i max(0, 1 − y_i⟨w, x_i⟩)
Step     w ← argmin_w  ½‖w − w_t‖² + η J_t(w),   J_t = λ/2 ‖w‖² + the loss of example i. The solution is
         w ← (w + η g p_i y_i x_i) / (1 + ηλ),   g = clip((1 + ηλ − y_i⟨w, x_i⟩) / (η p_i ‖x_i‖²), 0, 1),  p_i = n λ C_i
         so g = 0 (the margin is large enough), g = 1 (the whole subgradient), or the g that brings the margin to 1
Rate     η_t = 1/(λt) by default, or another schedule; with γ = ηλ/(1 + ηλ) the step has the form of
         parts/stochastic_steps
Keeps    α_i = the mean of g C_i over the visits: feasible for 1/(λt), and w = w(α)
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Kulis, Bartlett, ICML 2010
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.rows import axpy, dot
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.stochastic_steps import TINY_SCALE, Walk, begin, check_schedule, stand, steps
from maxmargin.solvers.takes import Takes
from maxmargin.system.compiled import compiled


@dataclass(frozen=True)
class Implicit:
    """Stochastic proximal steps, one example at a time."""

    name = "implicit"
    state_type = Walk
    takes = Takes(("hinge",), ("none", "regularised"))

    schedule: str = "1/t"
    step: float = 1.0

    def __post_init__(self) -> None:
        check_schedule(self.schedule, self.step)

    def start(self, problem: Problem, warm: Point | None = None) -> Walk:
        """Start at w = 0, or at w(α) of `warm`."""
        return begin(problem, warm)

    def advance(self, problem: Problem, state: Walk, rng: np.random.Generator) -> None:
        """Make one epoch, or a part of it."""
        start, stop = state.open(problem, rng, 1, uniform=False)
        t = state.t + np.arange(1, stop - start + 1)
        eta = steps(self.schedule, self.step, problem.mean_C, t)
        done, state.scale, state.s = walk(
            problem.rows, problem.y, problem.C, problem.squared_norms, problem.bias_square,
            state.v, state.a, state.scale, state.s, state.order, start, stop, eta / (1.0 + eta),
        )  # fmt: skip
        state.t += done
        state.fold()
        state.close(start, start + done)

    def point(self, problem: Problem, state: Walk) -> Point:
        """Return the dual point α, with w = w(α)."""
        return stand(problem, state)


@compiled
def walk(rows, y, C, Q, B2, v, a, scale, s, order, start, stop, gamma):
    """Visit order[start:stop] with the steps gamma, while scale ≥ TINY_SCALE; return the number of visits, scale, s."""
    n = order.size
    for j in range(stop - start):
        if scale < TINY_SCALE:
            return j, scale, s
        i, keep = order[start + j], 1.0 - gamma[j]
        m = y[i] * scale * (dot(rows, i, v) + B2 * s)
        most = gamma[j] * n * C[i]
        needed, bend = 1.0 - keep * m, most * (Q[i] + B2)
        g = min(max(needed / bend, 0.0), 1.0) if bend > 0.0 else 1.0 * (needed > 0.0)
        scale *= keep
        step = g * most / scale
        if step > 0.0:
            axpy(rows, i, step * y[i], v)
            a[i] += step
            s += step * y[i]
    return stop - start, scale, s
