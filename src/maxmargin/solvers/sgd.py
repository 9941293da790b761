"""Stochastic (sub)gradient descent.

Solves   min_w ½‖w‖² + Σ C_i ℓ(m_i)
Step     example i, the next of a shuffled epoch or one drawn at random:  w ← (1 − γ_t) w + γ_t n a_i y_i x_i,
         a_i = −C_i ℓ′(m_i);  a free bias takes the same step with a feature of size √κ, but is not shrunk
Rate     γ_t = 1/(t₀ + t), which is 1/(λt) in the λ-form. For hinge t₀ = 0; a smooth loss begins at the t₀ from
         which on a step does not overshoot its own example. Other schedules by name
Keeps    α_i = the mean of a_i over the visits: feasible for 1/t and shuffled epochs, and w = w(α)
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Bottou, COMPSTAT 2010
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.certificate import Point
from maxmargin.compiled import compiled
from maxmargin.dual_terms import answer
from maxmargin.problem import Problem
from maxmargin.rows.memory import axpy, dot
from maxmargin.solvers.stochastic import Walk, begin, check_schedule, stand, steps
from maxmargin.solvers.sweeps import check_sampling

KAPPA = 0.1  # the step of a free bias, as a part of the mean ‖x‖²


@dataclass(frozen=True)
class Sgd:
    """Subgradient steps, one example at a time."""

    name = "sgd"
    state_type = Walk

    schedule: str = "1/t"
    step: float = 1.0
    sampling: str = "shuffled"

    def __post_init__(self) -> None:
        check_schedule(self.schedule, self.step)
        check_sampling(self.sampling)

    def refuses(self, problem: Problem) -> str | None:
        """Nothing."""
        return None

    def start(self, problem: Problem, alpha: np.ndarray | None = None) -> Walk:
        """At w = 0, or at w(alpha)."""
        return begin(problem, alpha)

    def advance(self, problem: Problem, state: Walk, rng: np.random.Generator) -> None:
        """One epoch, or a part of it."""
        start, stop = state.open(problem, rng, 1, uniform=self.sampling == "uniform")
        t = state.t + np.arange(1, stop - start + 1)
        gamma = steps(self.schedule, self.step, float(np.mean(problem.C)), t + warm_up(problem))
        free = KAPPA * float(np.mean(problem.squared_norms)) if problem.bias == "free" else 0.0
        state.scale, state.s, state.b = walk(
            problem.rows, problem.y, problem.dual_term, problem.bias_square, free,
            state.v, state.a, state.scale, state.s, state.b, state.order, start, stop, gamma,
        )  # fmt: skip
        state.t = int(t[-1])
        state.fold()
        state.close(start, stop)

    def point(self, problem: Problem, state: Walk) -> Point:
        """A dual point, with w = w(α)."""
        return stand(problem, state)


def warm_up(problem: Problem) -> float:
    """t₀: the number of steps after which γ n times the largest curvature of a loss along its row is at most 1."""
    if not problem.loss.smooth:
        return 0.0
    bend = float(np.max(problem.loss.curvature(np.zeros(1))))
    return problem.n * bend * float(np.max(problem.C * (problem.squared_norms + problem.bias_square)))


@compiled
def walk(rows, y, term, B2, free, v, a, scale, s, b, order, start, stop, gamma):
    """Visit order[start:stop] with the steps gamma."""
    n = order.size
    for j in range(stop - start):
        i = order[start + j]
        m = y[i] * (scale * (dot(rows, i, v) + B2 * s) + b)
        given = gamma[j] * n * answer(term, i, m)
        if gamma[j] < 1.0:
            scale *= 1.0 - gamma[j]
        else:
            v[:], a[:], s, scale = 0.0, 0.0, 0.0, 1.0
        if given > 0.0:
            axpy(rows, i, given / scale * y[i], v)
            a[i] += given / scale
            s += given / scale * y[i]
            b += free * given * y[i]
    return scale, s, b
