"""Simplified sequential minimal optimisation (SMO), as taught in lectures.

Solves   max_α  Σ α_i − ½‖w‖²,   0 ≤ α_i ≤ C_i,  Σ α_i y_i = 0,   w = Σ α_i y_i x_i   (hinge, free bias)
Sweep    i = 1 … n with E_i = ⟨w, x_i⟩ + b − y_i. Where the optimality conditions fail by more than the tolerance,
         (y_i E_i < −τ and α_i < C_i) or (y_i E_i > τ and α_i > 0), take a random j ≠ i and solve for α_i and α_j
Step     y_i ≠ y_j:  L = max(0, α_j − α_i),        H = min(C_j, C_i + α_j − α_i)
         y_i = y_j:  L = max(0, α_i + α_j − C_i),  H = min(C_j, α_i + α_j)
         η = 2⟨x_i, x_j⟩ − ‖x_i‖² − ‖x_j‖² < 0,  α_j ← clip(α_j − y_j (E_i − E_j)/η, L, H),  α_i moves so that
         Σ α_i y_i stays 0;  b = b₁ if α_i ends inside its box, b₂ if α_j does, else their mean
Stops    with refine=False, as in the lectures, after `passes` sweeps without a change; by default τ is then divided by
         ten, and the sweeps continue until the gap is small enough
Costs    one sweep: O(nnz) time, O(n + d) memory
After    Platt 1998, in the simplified form of the lectures
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.rows import axpy, dot, inner
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import dual_start, rows_at_once
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status
from maxmargin.system.compiled import compiled
from maxmargin.system.values import is_number, is_whole


@dataclass
class SmoPlace:
    """The state that both versions share: α, τ, b, and `quiet`, the number of consecutive sweeps without a change."""

    alpha: np.ndarray
    tau: float
    b: float = 0.0
    position: int = 0
    changed: int = 0
    quiet: int = 0
    visited: int = 0


@dataclass
class SmoState(SmoPlace):
    """The state of the linear version, which also has w."""

    w: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class SmoRule:
    """The tolerance and the stopping rule, shared by the linear and the kernel version."""

    tolerance: float = 1e-3
    passes: int = 5
    refine: bool = True

    def __post_init__(self) -> None:
        if not (is_number(self.tolerance) and 0 < self.tolerance < np.inf):
            raise ParameterError(f"tolerance={self.tolerance!r} must be a positive number")
        if not (is_whole(self.passes) and self.passes >= 1):
            raise ParameterError(f"passes={self.passes!r} must be a whole number, 1 or above")
        if not isinstance(self.refine, bool):
            raise ParameterError(f"refine={self.refine!r} must be true or false")

    def close(self, state: SmoPlace, stop: int, n: int) -> Status | None:
        """Count the visits up to position `stop` of n; at the end of a sweep, apply the stopping rule."""
        state.visited += stop - state.position
        state.position = stop % n
        return self.end_sweep(state) if state.position == 0 else None

    def end_sweep(self, state: SmoPlace) -> Status | None:
        """After enough sweeps without a change, divide τ by ten, or stop."""
        state.quiet = 0 if state.changed else state.quiet + 1
        state.changed = 0
        if state.quiet < self.passes:
            return None
        if not self.refine:
            return Status.SETTLED
        state.quiet, state.tau = 0, state.tau / 10.0
        return None


@dataclass(frozen=True)
class SmoSimple(SmoRule):
    """Simplified SMO: each step optimises two dual variables, the second chosen at random."""

    name = "smo_simple"
    state_type = SmoState
    takes = Takes(("hinge",), ("free",))

    def start(self, problem: Problem, warm: Point | None = None) -> SmoState:
        """Start at α = 0, or at the α of `warm`."""
        alpha, w, _ = dual_start(problem, warm)
        return SmoState(alpha, self.tolerance, w=w)

    def advance(self, problem: Problem, state: SmoState, rng: np.random.Generator) -> Status | None:
        """Make one sweep, or a part of it."""
        n, start = len(problem.counted), state.position
        stop = min(n, start + rows_at_once(problem))
        others = partners(start, stop, n, rng)
        state.b, changed = sweep(
            problem.rows, problem.y, problem.C, problem.squared_norms, state.alpha, state.w, state.b,
            problem.counted[start:stop], problem.counted[others], state.tau,
        )  # fmt: skip
        state.changed += changed
        return self.close(state, stop, n)

    def point(self, problem: Problem, state: SmoState) -> Point:
        """Return the dual point; the certificate computes the best b."""
        return Point(alpha=state.alpha)


def partners(start: int, stop: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return, for each example from `start` to `stop`, a random other one of the n examples."""
    return np.asarray((np.arange(start, stop) + rng.integers(1, max(n, 2), stop - start)) % n)


@compiled
def sweep(rows, y, C, Q, alpha, w, b, chosen, others, tau):
    """Visit the `chosen` examples, each with its partner; return b and the number of steps taken."""
    changed = 0
    for k in range(chosen.size):
        i, j = chosen[k], others[k]
        E = dot(rows, i, w) + b - y[i]
        if i != j and violates(y[i], alpha[i], C[i], E, tau):
            E_other = dot(rows, j, w) + b - y[j]
            b, moved = step(y, C, Q[i], Q[j], inner(rows, i, j), alpha, b, i, j, E, E_other)
            if moved != 0.0:
                axpy(rows, j, y[j] * moved, w)
                axpy(rows, i, -y[j] * moved, w)
                changed += 1
    return b, changed


@compiled
def violates(y, alpha, C, E, tau):
    """Return whether moving α improves the dual: up if the margin is too small, down if it is too large."""
    return (y * E < -tau and alpha < C) or (y * E > tau and alpha > 0.0)


@compiled
def step(y, C, Qi, Qj, Qij, alpha, b, i, j, Ei, Ej):
    """Solve for α_i and α_j. Return the new b and the change of α_j; α_i changes by −y_i y_j times that."""
    ai, aj = alpha[i], alpha[j]
    if y[i] != y[j]:
        L, H = max(0.0, aj - ai), min(C[j], C[i] + aj - ai)
    else:
        L, H = max(0.0, ai + aj - C[i]), min(C[j], ai + aj)
    eta = 2.0 * Qij - Qi - Qj
    if L >= H or eta >= 0.0:
        return b, 0.0
    alpha[j] = min(max(aj - y[j] * (Ei - Ej) / eta, L), H)
    moved = alpha[j] - aj
    if abs(moved) <= 1e-12 * C[j]:
        alpha[j] = aj
        return b, 0.0
    alpha[i] = min(max(ai - y[i] * y[j] * moved, 0.0), C[i])
    b1 = b - Ei + y[j] * moved * (Qi - Qij)
    b2 = b - Ej + y[j] * moved * (Qij - Qj)
    if 0.0 < alpha[i] < C[i]:
        return b1, moved
    if 0.0 < alpha[j] < C[j]:
        return b2, moved
    return 0.5 * (b1 + b2), moved
