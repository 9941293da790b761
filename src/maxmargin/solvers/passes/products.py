"""Newton steps by conjugate gradients over passes: one pass for each product with the Hessian.

The preconditioner is M = 0.99 I + 0.01 diag(H), as in LIBLINEAR 2.20 and later.

After    Hsia, Chiang, Lin, ACML 2018 (preconditioned conjugate gradients in trust region Newton methods)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.passes import combination_of_squares
from maxmargin.data.reduction import Part, Totals
from maxmargin.data.rows import axpy, dot
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import Evaluated
from maxmargin.system.compiled import compiled

PRODUCTS = 30  # most products in one step
RESIDUAL = 0.1  # relative residual at which conjugate gradients stop
IDENTITY_SHARE = 0.99  # of the preconditioner; the rest is the diagonal of the matrix


@dataclass(frozen=True, eq=False)
class Product:
    """The pass that computes Σ h_i ⟨z_i, s⟩ z_i, with the vector `curvatures` as h."""

    s: np.ndarray
    curvatures: str

    @property
    def vectors(self) -> tuple[str, ...]:
        """The curvatures."""
        return (self.curvatures,)

    def totals(self) -> Totals:
        """Return zeros: the product."""
        return (np.zeros(len(self.s)),)

    def add(self, part: Part, totals: Totals) -> None:
        """Add the product of one part of the rows."""
        multiply(part.rows, part.vectors[self.curvatures], self.s, totals[0])


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The pass that computes the diagonal Σ h_i z_ik², with the vector `curvatures` as h, of `size` entries."""

    size: int
    curvatures: str

    @property
    def vectors(self) -> tuple[str, ...]:
        """The curvatures."""
        return (self.curvatures,)

    def totals(self) -> Totals:
        """Return zeros: the diagonal."""
        return (np.zeros(self.size),)

    def add(self, part: Part, totals: Totals) -> None:
        """Add the diagonal of one part of the rows."""
        h = part.vectors[self.curvatures]
        totals[0][:-1] += combination_of_squares(part.rows, self.size - 1, h)
        totals[0][-1] += np.sum(h)


def newton_step_by_products(problem: PassProblem, at: Evaluated, curvatures: str) -> tuple[np.ndarray, int]:
    """Return an approximate Newton step and the number of passes it took."""
    r, some = problem.regulariser.r, problem.regulariser.free
    diagonal = r + problem.run(Diagonal(len(at.v), curvatures))[0]
    M = IDENTITY_SHARE + (1.0 - IDENTITY_SHARE) * diagonal
    residual = -problem.gradient(at)
    s, enough, products = np.zeros_like(at.v), RESIDUAL * float(np.linalg.norm(residual)), 1
    direction = z = masked(residual / M, some)
    rho = float(residual @ z)
    while products < PRODUCTS and rho > 0.0 and float(np.linalg.norm(residual)) > enough:
        product = masked(r * direction + problem.run(Product(direction, curvatures))[0], some)
        products += 1
        curvature = float(direction @ product)
        if curvature <= 0.0:
            break
        length = rho / curvature
        s, residual = s + length * direction, residual - length * product
        z = masked(residual / M, some)
        before, rho = rho, float(residual @ z)
        direction = z + (rho / before) * direction
    return s, products


def masked(vector: np.ndarray, some: slice) -> np.ndarray:
    """Return the vector with 0 outside `some`."""
    vector[some.stop :] = 0.0
    return vector


@compiled
def multiply(rows, h, s, total):
    """Add Σ h_i ⟨z_i, s⟩ z_i to `total`, where z_i = (x_i, 1)."""
    b = s[-1]
    for i in range(h.size):
        if h[i] != 0.0:
            force = h[i] * (dot(rows, i, s) + b)
            axpy(rows, i, force, total)
            total[-1] += force
