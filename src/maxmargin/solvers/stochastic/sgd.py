"""Stochastic (sub)gradient descent.

Solves   min_w ½‖w‖² + Σ C_i ℓ(m_i)
Step     example i, the next of a shuffled epoch or one drawn at random:  w ← (1 − γ_t) w + γ_t n a_i y_i x_i,
         a_i = −C_i ℓ′(m_i);  a free bias takes the same step as the weight of a feature with value √κ, but is not
         shrunk, and moves by less than 1 a step: after a large first step of b, w needs many epochs to recover
Rate     γ_t = 1/(t₀ + t), which is 1/(λt) in the λ-form. For hinge t₀ = 0; for a smooth loss t₀ is the
         smallest value for which a step does not overshoot its own example. Other schedules are selected by name
Output   the last w; the average of all; or a suffix average, over the epochs since their number was last a power of two
Keeps    α_i = the mean of a_i over the visits: feasible for 1/t and shuffled epochs, and w = w(α);
         averaged along with w
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Bottou, COMPSTAT 2010; Rakhlin, Shamir, Sridharan, ICML 2012 (suffix averages)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.rows import axpy, dot
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.dual_terms import best_response
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.stochastic_steps import (
    SMALL_SCALE,
    TINY_SCALE,
    AveragedWalk,
    Walk,
    begin,
    check_schedule,
    curvature_bound,
    stand,
    steps,
)
from maxmargin.solvers.parts.sweeps import check_sampling
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.system.compiled import compiled

OUTPUTS = ("last", "average", "suffix")
KAPPA = 0.1  # κ, the squared constant feature whose weight is the free bias, as a fraction of mean ‖x‖²


@dataclass(frozen=True)
class Sgd:
    """Stochastic (sub)gradient descent, one example at a time."""

    name = "sgd"
    state_type = AveragedWalk
    takes = Takes(EVERY_LOSS)

    schedule: str = "1/t"
    step: float = 1.0
    sampling: str = "shuffled"
    output: str = "last"

    def __post_init__(self) -> None:
        check_schedule(self.schedule, self.step)
        check_sampling(self.sampling)
        if self.output not in OUTPUTS:
            raise ParameterError(f"output={self.output!r} is not known: choose one of {', '.join(OUTPUTS)}")

    def start(self, problem: Problem, warm: Point | None = None) -> AveragedWalk:
        """Start at w = 0, or at w(α) of `warm`."""
        walk = begin(problem, warm)
        return AveragedWalk(walk.v, walk.a, s=walk.s)

    def advance(self, problem: Problem, state: AveragedWalk, rng: np.random.Generator) -> None:
        """Make one epoch, or a part of it."""
        start, stop = state.open(problem, rng, 1, uniform=self.sampling == "uniform")
        averaging = self.output != "last"
        if averaging and start == 0 and (state.t == 0 or (self.output == "suffix" and doubled(state, problem))):
            state.forget()
        t = state.t + np.arange(1, stop - start + 1)
        gamma = steps(self.schedule, self.step, problem.mean_C, t + warm_up(problem))
        free = KAPPA * problem.mean_square if problem.bias == "free" else 0.0
        done, state.scale, state.s, state.b, state.weight = walk(
            problem.rows, problem.y, problem.dual_term, problem.bias_square, free, free * problem.n * problem.mean_C,
            state.v, state.a, state.scale, state.s, state.b, state.order, start, stop, gamma,
            averaging, state.weight, state.lag, state.lag_a, SMALL_SCALE if averaging else TINY_SCALE,
        )  # fmt: skip
        state.t += done
        state.count += done * averaging
        state.fold()
        state.close(start, start + done)

    def point(self, problem: Problem, state: AveragedWalk) -> Point:
        """Return the last dual point, or the mean of the summed ones, with w = w(α)."""
        if not state.count:
            return stand(problem, state)
        w, alpha = state.sums()
        return stand(problem, Walk(w / state.count, alpha / state.count, s=float(alpha @ problem.y) / state.count))


def warm_up(problem: Problem) -> float:
    """Return t₀, the number of steps after which γ n times the largest curvature of a loss along its row is ≤ 1."""
    if not problem.loss.smooth:
        return 0.0
    bend = curvature_bound(problem.loss)
    return problem.n * bend * float(np.max(problem.C * (problem.squared_norms + problem.bias_square)))


def doubled(state: AveragedWalk, problem: Problem) -> bool:
    """Return whether the number of epochs is a power of two. A suffix begins then, so it covers ≥ half the run."""
    epochs = state.t // len(problem.counted)
    return epochs & (epochs - 1) == 0


@compiled
def walk(
    rows, y, term, B2, free, reach, v, a, scale, s, b, order, start, stop, gamma, averaging, weight, lag, lag_a, least
):
    """Visit order[start:stop] with the steps gamma, while scale ≥ least; return the number of visits and the state."""
    n = order.size
    for j in range(stop - start):
        if scale < least:
            return j, scale, s, b, weight
        i = order[start + j]
        m = y[i] * (scale * (dot(rows, i, v) + B2 * s) + b)
        given = gamma[j] * n * best_response(term, i, m)
        if gamma[j] < 1.0:
            scale *= 1.0 - gamma[j]
        else:
            v[:], a[:], s, scale = 0.0, 0.0, 0.0, 1.0  # γ = 1: the w before has weight 0
            lag[:], lag_a[:], weight = 0.0, 0.0, 0.0
        if given > 0.0:
            axpy(rows, i, given / scale * y[i], v)
            a[i] += given / scale
            s += given / scale * y[i]
            b += free * given / (1.0 + reach * gamma[j]) * y[i]
            if averaging:
                axpy(rows, i, weight * given / scale * y[i], lag)
                lag_a[i] += weight * given / scale
        weight += scale
    return stop - start, scale, s, b, weight
