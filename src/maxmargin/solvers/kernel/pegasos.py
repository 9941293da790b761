"""Kernel Pegasos: stochastic subgradient descent with the step 1/(λt), stored as the number of hits of each example.

Solves   min_w ½‖w‖² + Σ C_i max(0, 1 − y_i⟨w, φ(x_i)⟩),   ⟨φ(x), φ(z)⟩ = K(x, z)       (C-SVC, no bias)
Step     A_t = the next k examples;  w_t = (1/t) Σ a_i y_i φ(x_i), where a_i grows by N C_i (N batches an epoch) when
         i ∈ A_t has y_i⟨w_{t−1}, φ(x_i)⟩ < 1 (a hit). This is pegasos, as the product of all (1 − 1/t) is 1/t
Keeps    f_i = Σ a_j y_j K_ij for every example, so that a visit without a hit costs O(1)
Dual     α = a/t: feasible at the end of an epoch, as in pegasos, and w = w(α)
Costs    an epoch: O(n) time and a kernel row for each hit; memory O(n) and the cached kernel rows
After    Shalev-Shwartz, Singer, Srebro, Cotter, Mathematical Programming 2011, section 4
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.base import visits_at_once
from maxmargin.solvers.parts.stochastic_steps import Epochs
from maxmargin.solvers.stochastic.pegasos import check_batch
from maxmargin.solvers.takes import Takes
from maxmargin.system.compiled import compiled


@dataclass
class Hits(Epochs):
    """The state: a, and f, the scores times t."""

    a: np.ndarray
    f: np.ndarray


@dataclass(frozen=True)
class PegasosKernel:
    """Kernel Pegasos: subgradient steps 1/(λt) on batches of examples."""

    name = "pegasos"
    state_type = Hits
    takes = Takes(biases=("none",), formulations=("C-SVC",))

    batch: int = 1

    def __post_init__(self) -> None:
        check_batch(self.batch)

    def start(self, problem: KernelProblem, warm: Point | None = None) -> Hits:
        """Start at w = 0; `warm` is ignored, as the first step multiplies any start by 0."""
        if self.batch > problem.n:
            raise ParameterError(f"batch={self.batch} must be from 1 to {problem.n}, the number of examples")
        return Hits(np.zeros(problem.n), np.zeros(problem.n))

    def advance(self, problem: KernelProblem, state: Hits, rng: np.random.Generator) -> None:
        """Make one epoch, or a part of it, in whole batches."""
        y, C = problem.formulation.labels, problem.formulation.width
        if state.position == 0:
            state.order = rng.permutation(np.flatnonzero(C))
        n, batches = len(state.order), max(1, visits_at_once(problem) // self.batch)
        start, stop = state.position, min(state.position + batches * self.batch, n)
        hit, first = np.zeros(self.batch, dtype=np.intp), start
        while first < stop:
            first, state.t, count = next_hits(y, state.f, state.order, first, stop, self.batch, state.t, hit)
            for i in hit[:count]:
                gain = -(-n // self.batch) * C[i]
                state.a[i] += gain
                state.f += gain * y[i] * problem.held.one(i)
        state.close(start, stop)

    def point(self, problem: KernelProblem, state: Hits) -> Point:
        """Return the dual point."""
        return Point(alpha=state.a / max(state.t, 1) * problem.formulation.labels)


@compiled
def next_hits(y, f, order, first, stop, k, t, hit):
    """Find the next batch with a hit. Return where the batch after it begins, t, and the number of hits in `hit`."""
    count = 0
    while first < stop and count == 0:
        t += 1
        for j in range(first, min(first + k, stop)):
            i = order[j]
            if t == 1 or y[i] * f[i] < t - 1:
                hit[count] = i
                count += 1
        first += k
    return first, t, count
