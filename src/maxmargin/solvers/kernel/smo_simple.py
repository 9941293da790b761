"""Simplified sequential minimal optimisation (SMO), as taught in lectures, with a kernel.

Solves   max_α  Σ α_i − ½ Σ α_i α_j y_i y_j K_ij,   0 ≤ α_i ≤ C_i,  Σ α_i y_i = 0        (C-SVC, free bias)
Step     as in dual/smo_simple, with K in place of the inner products and the scores f_i = Σ α_j y_j K_ij in place of
         w: E_i = f_i + b − y_i. When α_j changes by δ and α_i by −y_i y_j δ, f changes by y_j δ (K_j − K_i)
Costs    a visit without a step: O(1); a step: two kernel rows; memory O(n) and the cached kernel rows
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
    """The state of the kernel version, which also has the scores f."""

    f: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class SmoSimpleKernel(SmoRule):
    """Simplified SMO with a kernel: each step optimises two dual variables, the second chosen at random."""

    name = "smo_simple"
    state_type = KernelSmoState
    takes = Takes(biases=("free",), formulations=("C-SVC",))

    def start(self, problem: KernelProblem, warm: Point | None = None) -> KernelSmoState:
        """Start at α = 0, or at the `alpha` of `warm`, which holds β = αy."""
        beta = np.zeros(problem.n) if warm is None or warm.alpha is None else warm.alpha
        f = problem.scores(beta) if np.any(beta) else np.zeros(problem.n)
        return KernelSmoState(np.abs(beta), self.tolerance, f=f)

    def advance(self, problem: KernelProblem, state: KernelSmoState, rng: np.random.Generator) -> Status | None:
        """Make one sweep, or a part of it."""
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
        """Solve for α_i and α_j exactly; return whether they changed."""
        y, f, Q = problem.formulation.labels, state.f, problem.diagonal
        of_i, of_j = problem.held.one(i).copy(), problem.held.one(j)
        E, E_other = (f[k] + state.b - y[k] for k in (i, j))
        state.b, moved = step(y, problem.formulation.width, Q[i], Q[j], of_i[j], state.alpha, state.b, i, j, E, E_other)
        if moved == 0.0:
            return False
        f += y[j] * moved * (of_j - of_i)
        return True

    def learn(self, problem: KernelProblem, state: KernelSmoState, found: Certified) -> None:
        """Copy the scores of a certificate, which are exact."""
        assert found.scores is not None
        state.f = found.scores.copy()

    def point(self, problem: KernelProblem, state: KernelSmoState) -> Point:
        """Return the dual point; the certificate computes the best b."""
        return Point(alpha=state.alpha * problem.formulation.labels)


@compiled
def first_violation(y, C, alpha, f, b, chosen, others, tau, k):
    """Return the first index from k on in `chosen` whose example violates the optimality conditions."""
    while k < chosen.size:
        i = chosen[k]
        if i != others[k] and violates(y[i], alpha[i], C[i], f[i] + b - y[i], tau):
            return k
        k += 1
    return k
