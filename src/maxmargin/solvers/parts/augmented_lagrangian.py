"""The augmented Lagrangian of a problem over v = (w, b), whose gradient is continuous, so that Newton steps exist.

    L(v) = ½ Σ r_k v_k² − ⟨g, v⟩ + Σ_i max_q  q (1 − m_i) − ½ ε (q − α_i)²,   0 ≤ q ≤ C_i
    q_i  = clip(α_i + (1 − m_i)/ε),      h_i = −dq_i/dm_i = 1/ε inside the box, 0 at its bounds
    ∇L   = r v − g − Σ q_i y_i z_i,      z_i = (x_i, 1)

for hinge. Squared hinge and logistic need no ε: q = −C ℓ′(m), h = C ℓ″(m). The sum may run over some of the rows. Then
the q_i of the other rows are fixed at a bound of their box, and g = Σ q_i y_i z_i over them is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from maxmargin.data.passes import combination_with_bias, sum_of_chunks
from maxmargin.data.pick import pick
from maxmargin.data.rows import Rows, axpy, dot
from maxmargin.problems.dual_terms import DualTerm, fenchel_young_gap, softened
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.line_search import FLAT, find_flat
from maxmargin.solvers.parts.newton_system import System
from maxmargin.solvers.parts.primal_objective import EVALUATION_CHUNK, Primal, gap_of_gradient
from maxmargin.system.compiled import compiled

ROWS_AT_ONCE = 64  # rows processed together: margins first, then forces, while the rows are still in cache
FREE_RIDGE = 0.01  # ridge of a free bias, relative to its gradient: limits the change of b to 100 in a step
SOLVED_PART = 0.1  # L is minimised if the gradient adds less than this fraction to the gap due to ε
GRADIENT_ROUNDING = 1e-16  # smallest required gap of the gradient, relative to that of the forces: rounding error


class Place(NamedTuple):
    """v, its margins, the forces q, h = −dq/dm, ∇L, and slack = Σ C ℓ(m) − q (1 − m), the gap except for ∇L."""

    v: np.ndarray
    margins: np.ndarray
    q: np.ndarray
    h: np.ndarray
    gradient: np.ndarray
    slack: float


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The augmented Lagrangian on some rows of a problem, with multipliers α, ε, and the constant g of other rows."""

    rows: Rows
    y: np.ndarray
    term: DualTerm
    ridge: np.ndarray
    constant: np.ndarray
    d: int
    threads: int
    alpha: np.ndarray
    epsilon: float

    @classmethod
    def of(cls, problem: Problem, alpha: np.ndarray, epsilon: float) -> Lagrangian:
        """Return the augmented Lagrangian on all rows."""
        ridge, term = Primal(problem).ridge, problem.dual_term
        zero = np.zeros_like(ridge)
        return cls(problem.rows, problem.y, term, ridge, zero, problem.d, problem.threads, alpha, epsilon)

    def restricted(self, some: np.ndarray, here: Place) -> Lagrangian:
        """Return the augmented Lagrangian on the rows `some`; the other rows keep their q."""
        rows, y = pick(self.rows, some, self.threads), self.y[some]
        term = type(self.term)(*(array[some] for array in self.term))
        own = combination_with_bias(rows, self.d, here.q[some] * y, len(self.ridge), self.threads)
        constant = self.ridge * here.v - here.gradient - own
        return replace(self, rows=rows, y=y, term=term, constant=constant, alpha=self.alpha[some])

    def newton_step(self, here: Place) -> np.ndarray:
        """Return the Newton step; a free bias, which has no ridge, gets one proportional to its gradient."""
        ridge = np.where(self.ridge > 0.0, self.ridge, FREE_RIDGE * np.abs(here.gradient))
        return System(self.rows, self.d, ridge, here.h, self.threads).solve(here.gradient)

    def at(self, v: np.ndarray) -> Place:
        """Evaluate L at v: one pass over the rows."""
        return self.after(np.zeros_like(v), np.zeros(len(self.y)), v)[0]

    def with_margins(self, v: np.ndarray, margins: np.ndarray) -> Place:
        """Evaluate L at v, whose margins are known: one pass over the rows."""
        q, h = np.empty_like(margins), np.empty_like(margins)

        def add(start: int, stop: int, total: np.ndarray) -> None:
            respond(self.rows, self.y, self.term, margins, self.alpha, self.epsilon, start, stop, q, h, total)

        return self.place(v, margins, q, h, add)

    def after(self, v: np.ndarray, before: np.ndarray, step: np.ndarray) -> tuple[Place, np.ndarray]:
        """Evaluate L at v + step; return it with the change of the margins `before` of v: one pass over the rows."""
        change, margins, q, h = (np.empty_like(before) for _ in range(4))
        b = float(step[-1]) if len(step) > self.d else 0.0

        def add(start: int, stop: int, total: np.ndarray) -> None:
            rows, y, term, alpha, epsilon = self.rows, self.y, self.term, self.alpha, self.epsilon
            proceed(rows, y, term, step, b, before, alpha, epsilon, start, stop, change, margins, q, h, total)

        return self.place(v + step, margins, q, h, add), change

    def place(
        self, v: np.ndarray, margins: np.ndarray, q: np.ndarray, h: np.ndarray,
        add: Callable[[int, int, np.ndarray], None],
    ) -> Place:  # fmt: skip
        """Evaluate L at v, where `add` sums over rows and fills margins, q and h."""
        total = sum_of_chunks(self.rows, self.d + 2, self.threads, add, EVALUATION_CHUNK)
        gradient = self.ridge * v - self.constant - total[: len(self.ridge)]
        return Place(v, margins, q, h, gradient, float(total[-1]))

    def go(self, here: Place, step: np.ndarray) -> tuple[Place, float, int]:
        """Take the whole step if the slope of L is small after it, else search a length.

        Returns the place, the length, and the number of rows visited.
        """
        there, change = self.after(here.v, here.margins, step)
        slope = float(there.gradient @ step)
        if abs(slope) <= FLAT * abs(float(here.gradient @ step)):
            return there, 1.0, len(self.y)
        length = find_flat(self.slope_along(here, step, change), float(here.gradient @ step), slope)
        return self.with_margins(here.v + length * step, here.margins + length * change), length, 2 * len(self.y)

    def slope_along(self, here: Place, step: np.ndarray, change: np.ndarray) -> Callable[[float], float]:
        """Return the slope of L along the step as a function of the length, without a pass over the rows."""
        line, bend = float(here.gradient @ step), float(np.sum(self.ridge * step * step))

        def slope(t: float) -> float:
            forces = force_along(self.term, here.margins, self.alpha, self.epsilon, here.q, change, t)
            return line + t * bend - float(forces)

        return slope

    def solved(self, here: Place, first: float) -> bool:
        """Return whether the gradient adds little to the gap due to ε; without ε, compared with its gap `first`."""
        enough = SOLVED_PART * (here.slack if self.epsilon else first)
        force = self.ridge * here.v - here.gradient
        least = GRADIENT_ROUNDING * gap_of_gradient(self.ridge, force)
        return gap_of_gradient(self.ridge, here.gradient) <= max(enough, least)


@compiled
def respond(rows, y, term, margins, alpha, epsilon, start, stop, q, h, total):
    """Compute q and h of the rows; add Σ q y (x, 1) to `total`, and the gap Σ C ℓ(m) − q (1 − m) to its last entry."""
    forces, slack = 0.0, 0.0
    for i in range(start, stop):
        q[i], h[i] = softened(term, i, margins[i], alpha[i], epsilon)
        if epsilon > 0.0:
            slack += fenchel_young_gap(term, i, q[i], margins[i])
        if q[i] != 0.0:
            forces += q[i] * y[i]
            axpy(rows, i, q[i] * y[i], total)
    total[-2] += forces
    total[-1] += slack


@compiled
def proceed(rows, y, term, step, b, before, alpha, epsilon, start, stop, change, margins, q, h, total):
    """Compute margins after a step, then q and h, a few rows at a time, so that each row is read from memory once."""
    for first in range(start, stop, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, stop)
        for i in range(first, last):
            change[i] = y[i] * (dot(rows, i, step) + b)
            margins[i] = before[i] + change[i]
        respond(rows, y, term, margins, alpha, epsilon, first, last, q, h, total)


@compiled
def force_along(term, margins, alpha, epsilon, q, change, t):
    """Return Σ (q(m + t change) − q) change, the part of the slope along a step that is due to the forces."""
    total = 0.0
    for i in range(margins.size):
        total += (softened(term, i, margins[i] + t * change[i], alpha[i], epsilon)[0] - q[i]) * change[i]
    return total
