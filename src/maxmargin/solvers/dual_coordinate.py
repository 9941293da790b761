"""Dual coordinate descent.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),   α in its box,   w = Σ α_i y_i x_i,  b = B² Σ α_i y_i
Step     α_i ← the best value of α_i alone;  for hinge and squared hinge  clip(α_i − G_i / (‖x_i‖² + B² + D_i)),
         G_i = y_i(⟨w, x_i⟩ + b) − d_i′(α_i);  for logistic a Newton iteration in one dimension
Keeps    w and b, after every step
Order    shuffled epochs with shrinking, or examples drawn at random (SDCA)
Bias     none (B = 0) or regularised; a free bias ties the α's together: see dual_pairs
Costs    one epoch: O(nnz) time, O(n + d) memory
After    Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008; Yu, Huang, Lin, Machine Learning 2011 (logistic);
         Shalev-Shwartz, Zhang, JMLR 2013 (SDCA)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.certificate import Point
from maxmargin.compiled import compiled
from maxmargin.dual_terms import best, slope
from maxmargin.problem import Problem
from maxmargin.rows.memory import axpy, dot
from maxmargin.solvers.base import dual_start
from maxmargin.solvers.sweeps import Sweeps, check_sampling


@dataclass(frozen=True)
class DualCoordinate:
    """One coordinate of the dual at a time."""

    name = "dual_coordinate"
    state_type = Sweeps

    sampling: str = "shuffled"

    def __post_init__(self) -> None:
        check_sampling(self.sampling)

    def start(self, problem: Problem, alpha: np.ndarray | None = None) -> Sweeps:
        """At α = 0, or at `alpha`."""
        return Sweeps(*dual_start(problem, alpha))

    def advance(self, problem: Problem, state: Sweeps, rng: np.random.Generator) -> None:
        """One sweep, or a part of it."""
        start, stop = state.open(problem, rng, uniform=self.sampling == "uniform")
        state.b, state.kept, state.low, state.high = sweep(
            problem.rows, problem.y, problem.dual_term, problem.squared_norms, problem.bias_square,
            state.alpha, state.w, state.b,
            state.order, start, stop, state.kept, state.low, state.high, state.drop_below, state.drop_above,
        )  # fmt: skip
        state.close(start, stop)

    def point(self, problem: Problem, state: Sweeps) -> Point:
        """A dual point: w and b follow from α."""
        return Point(alpha=state.alpha)


@compiled
def sweep(rows, y, term, Q, B2, alpha, w, b, order, start, stop, kept, low, high, drop_below, drop_above):
    """Visit order[start:stop]; keep what may still move, and the range [low, high] of the violations."""
    for k in range(start, stop):
        i = order[k]
        m = y[i] * (dot(rows, i, w) + b)
        G = m - slope(term, i, alpha[i])
        if alpha[i] == 0.0:
            if max(drop_above, 0.0) < G:
                continue
            G = min(G, 0.0)
        elif alpha[i] == term.U[i]:
            if min(drop_below, 0.0) > G:
                continue
            G = max(G, 0.0)
        order[kept] = i
        kept += 1
        low, high = min(low, G), max(high, G)
        if G != 0.0:
            new = best(term, i, alpha[i], m, Q[i] + B2)
            change = (new - alpha[i]) * y[i]
            alpha[i] = new
            axpy(rows, i, change, w)
            b += B2 * change
    return b, kept, low, high
