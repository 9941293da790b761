"""The pass of `cocoa`: the certificate of (v, α), then sweeps of dual coordinate descent on each part of the rows.

First α ← clip(α + t Δ), with t and Δ of the round before, and the objectives are summed at v and α, as in `Evaluate`.
Then coordinate descent on the rows of the part alone finds the next Δ. It begins at clip(α + β Δ), and at the w of
α + β Δ plus σ times the changes of earlier parts: all parts of an executor are one local problem of CoCoA+. Totals
beside those of `Evaluate`:

    change   Σ δ_i y_i z_i, z_i = (x_i, 1), where δ is the change from α + β Δ
    sums     Σ_k ‖δw_k‖² + B² δs_k² over the local problems k, and Σ d_i at the middle and at the end of the next Δ

Vectors of the executor hold α_i y_i, Δ_i y_i and ‖x_i‖². In a partition that was lost they are 0 again, or what was
saved earlier. Clipping makes any such α feasible, and w(α) is summed afresh in every pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin.data.passes import squared_norms
from maxmargin.data.reduction import Part, Totals
from maxmargin.data.rows import axpy
from maxmargin.problems.dual_terms import sum_of_dual_values
from maxmargin.problems.evaluation import Evaluate, TwoClasses
from maxmargin.solvers.parts.coordinate_sweep import Examples, sweep
from maxmargin.solvers.parts.sweeps import shuffle
from maxmargin.system.compiled import compiled

APART, HALF, WHOLE = 0, 1, 2  # places in `sums`
EVERYTHING = (-np.inf, np.inf)  # a sweep that drops no example


class Names(NamedTuple):
    """The names of the vectors of α_i y_i, Δ_i y_i and ‖x_i‖²."""

    alpha: str
    step: str
    squares: str


@dataclass(frozen=True, eq=False)
class LocalSweeps:
    """The pass at v and α + t Δ, t = `length`; `fresh` begins at α = 0.

    `ahead` is (w, b) of α + (t + β) Δ, β = `beta`, where the `sweeps` begin. `bias_square` is B².
    """

    problem: TwoClasses
    v: np.ndarray
    ahead: np.ndarray
    names: Names
    length: float
    beta: float
    bias_square: float
    sigma: float
    sweeps: int
    seed: int
    fresh: bool = False

    in_order = True  # the parts of an executor are visited one after the other

    @property
    def vectors(self) -> tuple[str, ...]:
        """The vectors of α, of its change, and of squared norms."""
        return self.names

    @property
    def evaluate(self) -> Evaluate:
        """The pass that evaluates v and α."""
        return Evaluate(self.problem, self.v, multipliers=self.names.alpha, epsilon=np.inf)

    def totals(self) -> Totals:
        """Return zeros: those of `Evaluate`, the change of w and Σ α_i y_i, and the sums."""
        return *self.evaluate.totals(), np.zeros(len(self.v)), np.zeros(3)

    def add(self, part: Part, totals: Totals) -> None:
        """Evaluate the rows of a part, then find their next Δ."""
        *evaluated, change, sums = totals
        alpha, step, squares = (part.vectors[name] for name in self.names)
        if self.fresh:
            alpha[:], step[:] = 0.0, 0.0
        if not np.any(squares):
            squares[:] = squared_norms(part.rows)
        y, term = self.problem.signs(part.labels), self.problem.term(part)
        before = np.clip((alpha + self.length * step) * y, 0.0, term.U)
        np.multiply(before, y, out=alpha)
        self.evaluate.add(part, tuple(evaluated))
        after = before + self.beta * step * y
        self.improve(part, Examples(part.rows, y, term, squares, self.bias_square), after, change, sums)
        np.multiply(after - before, y, out=step)
        sums[HALF] += sum_of_dual_values(term, 0.5 * (before + after))
        sums[WHOLE] += sum_of_dual_values(term, after)

    def improve(self, part: Part, examples: Examples, alpha: np.ndarray, change: np.ndarray, sums: np.ndarray) -> None:
        """Clip α and improve it by sweeps; add the changes of w and Σ α_i y_i."""
        start, B2 = self.ahead[:-1] + self.sigma * change[:-1], self.bias_square
        w, centre = start.copy(), float(self.ahead[-1] + self.sigma * B2 * change[-1])
        s = float(clip(examples.rows, examples.y, examples.term.U, alpha, w, self.sigma))
        s = self.swept(part, examples, alpha, w, centre + self.sigma * B2 * s, s)
        sums[APART] -= squared(change, B2)
        change[:-1] += (w - start) / self.sigma
        change[-1] += s
        sums[APART] += squared(change, B2)

    def swept(self, part: Part, examples: Examples, alpha: np.ndarray, w: np.ndarray, b: float, s: float) -> float:
        """Improve α and w by sweeps, each of which leaves out the examples that the one before has dropped."""
        order, rng = np.flatnonzero(self.problem.strengths(part) > 0.0), np.random.default_rng([self.seed, part.first])
        kept, violations, drop = len(order), np.empty(len(order)), EVERYTHING
        for _ in range(self.sweeps):
            shuffle(order[:kept], int(rng.integers(1 << 62)))
            seen = b, s, 0, np.inf, -np.inf, 0.0
            b, s, kept, low, high, _ = sweep(
                tuple(examples), alpha, w, order, violations, 0, kept, drop, seen, self.sigma
            )
            if not kept:
                break
            drop = (low, high)
        return float(s)


def squared(change: np.ndarray, bias_square: float) -> float:
    """Return ‖w‖² + B² s² of a change (w, s)."""
    return float(change[:-1] @ change[:-1]) + bias_square * float(change[-1]) ** 2


@compiled
def clip(rows, y, U, alpha, w, sigma):
    """Clip α to its box and add σ times the change to w; return the change of Σ α_i y_i."""
    total = 0.0
    for i in range(alpha.size):
        inside = min(max(alpha[i], 0.0), U[i])
        if inside != alpha[i]:
            change = (inside - alpha[i]) * y[i]
            alpha[i] = inside
            axpy(rows, i, sigma * change, w)
            total += change
    return total
