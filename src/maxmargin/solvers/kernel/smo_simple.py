"""Sequential minimal optimisation, as it is taught, on any kernel.

Solves   max_α  Σ α_i − ½ Σ α_i α_j y_i y_j K_ij,   0 ≤ α_i ≤ C_i,  Σ α_i y_i = 0        (C-SVC, free bias)
Step     that of smo_simple, where K takes the place of the inner product, and the scores f_i = Σ α_j y_j K_ij that of
         w: E_i = f_i + b − y_i, and when α_j moves by δ, and α_i against it, f changes by y_j δ (K_j − K_i)
Costs    a visit of an example that needs no step: O(1); a step: two rows of the kernel; memory O(n) and the rows held
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.problems.certificate import Certified, Point
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.base import visits_at_once
from maxmargin.solvers.dual.smo_simple import SmoPlace, SmoRule, partners, step, violates
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status
from maxmargin.system.compiled import compiled


@dataclass
class KernelSmoState(SmoPlace):
    """The same, with the scores."""

    f: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class SmoSimpleKernel(SmoRule):
    """Two dual variables at a time, the second one at random, with a kernel."""

    name = "smo_simple"
    state_type = KernelSmoState
    takes = Takes(biases=("free",), formulations=("C-SVC",))

    def start(self, problem: KernelProblem, warm: Point | None = None) -> KernelSmoState:
        """At α = 0, or at `alpha`, which is β = αy of the formulation."""
        beta = np.zeros(problem.n) if warm is None or warm.alpha is None else warm.alpha
        f = problem.scores(beta) if np.any(beta) else np.zeros(problem.n)
        return KernelSmoState(np.abs(beta), self.tolerance, f=f)

    def advance(self, problem: KernelProblem, state: KernelSmoState, rng: np.random.Generator) -> Status | None:
        """One sweep, or a part of it."""
        y, C = problem.formulation.labels, problem.formulation.width
        counted, start = np.flatnonzero(C), state.position
        n, stop = len(counted), min(len(counted), start + visits_at_once(problem))
        others = counted[partners(start, stop, n, rng)]
        chosen, k = counted[start:stop], 0
        while (k := first_violation(y, C, state.alpha, state.f, state.b, chosen, others, state.tau, k)) < len(chosen):
            state.changed += self.move(problem, state, int(chosen[k]), int(others[k]))
            k += 1
        return self.close(state, stop, n)

    def move(self, problem: KernelProblem, state: KernelSmoState, i: int, j: int) -> bool:
        """Solve for α_i and α_j exactly; whether they moved."""
        y, f, Q = problem.formulation.labels, state.f, problem.diagonal
        of_i, of_j = problem.held.one(i).copy(), problem.held.one(j)
        E, E_other = (f[k] + state.b - y[k] for k in (i, j))
        state.b, moved = step(y, problem.formulation.width, Q[i], Q[j], of_i[j], state.alpha, state.b, i, j, E, E_other)
        if moved == 0.0:
            return False
        f += y[j] * moved * (of_j - of_i)
        return True

    def learn(self, problem: KernelProblem, state: KernelSmoState, found: Certified) -> None:
        """A certificate has computed the scores anew."""
        assert found.scores is not None
        state.f = found.scores.copy()

    def point(self, problem: KernelProblem, state: KernelSmoState) -> Point:
        """A dual point; the certificate finds the best b."""
        return Point(alpha=state.alpha * problem.formulation.labels)


@compiled
def first_violation(y, C, alpha, f, b, chosen, others, tau, k):
    """The first of the chosen examples, from the k-th on, that violates the optimality conditions."""
    while k < chosen.size:
        i = chosen[k]
        if i != others[k] and violates(y[i], alpha[i], C[i], f[i] + b - y[i], tau):
            return k
        k += 1
    return k
