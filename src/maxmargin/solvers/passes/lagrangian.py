"""The pass that evaluates an augmented Lagrangian at v, and the one of the next round at the same v.

    L(v) = ½ Σ r_k v_k² + Σ_i max_q  q (1 − m_i) − ½ ε (q − α_i)²,   0 ≤ q ≤ C_i      (see parts/augmented_lagrangian)

If v minimises L well enough, the next round has the multipliers q and a smaller ε. Its gradient and matrix at v are
summed in the same pass, so that every pass is followed by a Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.gram import weighted_gram
from maxmargin.data.reduction import Part, Totals
from maxmargin.data.rows import axpy
from maxmargin.problems.dual_terms import softened
from maxmargin.problems.evaluation import AtRows, Evaluate
from maxmargin.solvers.passes.band import Band
from maxmargin.system.compiled import compiled


@dataclass(frozen=True, eq=False)
class EvaluateLagrangian(Evaluate):
    """Evaluates L with the multipliers α and ε, and with the multipliers q and `next_epsilon`.

    The totals are those of `Evaluate`, then Σ q_i y_i z_i and the matrix of the next round. If there is a `band`, the
    rows whose q may still change are collected; the pass must then run in this process.
    """

    next_epsilon: float = 0.0
    band: Band | None = None

    @property
    def in_order(self) -> bool:
        """Whether parts must be added in the order of the rows."""
        return self.band is not None

    def totals(self) -> Totals:
        """Return zeros."""
        size = len(self.v)
        return (*super().totals(), np.zeros(size), np.zeros((size, size)))

    def add(self, part: Part, totals: Totals) -> None:
        """Add the sums of one part of the rows."""
        at = self.add_rows(part, totals)
        self.add_next(part, at, totals)
        if self.band is not None:
            self.band.collect(part, at, self.epsilon)

    def add_next(self, part: Part, at: AtRows, totals: Totals) -> None:
        """Add the sums of the next round."""
        force, h = np.zeros(len(self.v)), np.empty(len(at.y))
        respond_next(part.rows, at.y, at.term, at.margins, at.q, self.next_epsilon, h, force)
        np.add(totals[4], force, out=totals[4])
        weighted_gram(part.rows, len(self.v) - 1, h, totals[5])


@compiled
def respond_next(rows, y, term, margins, alpha, epsilon, h, force):
    """Compute h of the augmented Lagrangian with the multipliers α, and add Σ q_i y_i z_i to `force`."""
    for i in range(y.size):
        q, h[i] = softened(term, i, margins[i], alpha[i], epsilon)
        if q != 0.0:
            axpy(rows, i, q * y[i], force)
            force[-1] += q * y[i]
