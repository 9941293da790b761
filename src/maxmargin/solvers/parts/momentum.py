"""Momentum between sweeps: before each sweep, extrapolate the change of the last one.

    α ← clip(α + β (α − α′)),     α′ = α at the end of the sweep before,     β = (t − 1)/t⁺,
    t⁺ = ½ + √(¼ + t²),           t = 1 at first, so β goes to 1 as long as the dual increases from sweep to sweep

t is reset to 1 when the dual has decreased, and for a free bias when Σ α_i y_i has changed its sign. w is extrapolated
too, since it is linear in α; only clipped examples cost a visit of their rows.

After    Nesterov 1983; O'Donoghue, Candès, Foundations of Computational Mathematics 2015 (restarts)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from maxmargin.data.rows import axpy
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.sweeps import Sweeps
from maxmargin.system.compiled import compiled


@dataclass
class Momentum(Sweeps):
    """The state of the sweeps, s = Σ α_i y_i (balance), the dual without its term in b (value), and t (pace).

    The fields `..._before` are the values at the end of the sweep before.
    """

    balance: float = 0.0
    value: float = -np.inf
    alpha_before: np.ndarray = field(default_factory=lambda: np.zeros(0))
    w_before: np.ndarray = field(default_factory=lambda: np.zeros(0))
    balance_before: float = 0.0
    value_before: float = -np.inf
    pace: float = 1.0


def extrapolate(problem: Problem, state: Momentum, centre: float, bias_curvature: float) -> None:
    """Extrapolate α and w after a sweep. Its bias had the penalty (b − centre)²/(2B²), B² = `bias_curvature`."""

    def height(value: float, balance: float) -> float:
        return value - centre * balance - 0.5 * bias_curvature * balance**2

    if not len(state.alpha_before):
        state.alpha_before, state.w_before, state.balance_before = state.alpha.copy(), state.w.copy(), state.balance
    swings = problem.bias == "free" and state.balance * state.balance_before < 0.0
    if swings or height(state.value, state.balance) < height(state.value_before, state.balance_before):
        state.pace = 1.0
    pace = 0.5 + sqrt(0.25 + state.pace**2)
    beta, balance = (state.pace - 1.0) / pace, state.balance
    state.balance += beta * (balance - state.balance_before) + extend(
        problem.rows, problem.y, problem.dual_term.U, beta, state.alpha, state.alpha_before, state.w, state.w_before
    )
    state.balance_before, state.value_before, state.pace = balance, state.value, pace


@compiled
def extend(rows, y, U, beta, alpha, before, w, w_before):
    """Extrapolate α and w, and store their old values. Return the change of Σ α_i y_i due to clipping."""
    for k in range(w.size):
        here = w[k]
        w[k] += beta * (here - w_before[k])
        w_before[k] = here
    total = 0.0
    for i in range(alpha.size):
        here = alpha[i]
        there = here + beta * (here - before[i])
        before[i] = here
        alpha[i] = min(max(there, 0.0), U[i])
        if alpha[i] != there:
            change = (alpha[i] - there) * y[i]
            axpy(rows, i, change, w)
            total += change
    return total
