"""Preconditioned conjugate gradients.

Solves   A s = g,   A symmetric and positive semidefinite, given by its products with vectors;  M ≈ A the preconditioner
Step     s ← s + a p,  r ← r − a A p,  a = rᵀM⁻¹r / pᵀA p;    p ← M⁻¹r + β p,  β the new rᵀM⁻¹r over the old one
Costs    one product a step; for the matrix of a Newton step that is one pass over the rows
After    Hestenes, Stiefel, Journal of Research of the National Bureau of Standards 1952
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Solve = Callable[[np.ndarray], np.ndarray]
Product = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Iterate(NamedTuple):
    """s, its residual r = g − A s, the scores of s, and the progress of the iteration.

    `square` is rᵀM⁻¹r, and `first` its value at s = 0. `gain` is the decrease of ½ sᵀA s − gᵀs in the last step, and
    `lowered` the decrease in all steps.
    """

    s: np.ndarray
    residual: np.ndarray
    scores: np.ndarray
    first: float
    square: float
    products: int = 0
    gain: float = 0.0
    lowered: float = 0.0


def conjugate_gradients(
    product: Product, g: np.ndarray, scores: np.ndarray, inverse: Solve | None, most: int, enough: Callable[..., bool]
) -> Iterate:
    """Take steps until enough(iterate), or `most` products are used up, or pᵀA p = 0.

    product(p) returns A p and the scores of p. `scores` are the scores of s = 0, and change in place. `inverse` is M⁻¹.
    """
    residual = g.copy()
    ahead = inverse(residual) if inverse else residual
    p = ahead.copy()
    first = float(residual @ ahead)
    at = Iterate(np.zeros_like(g), residual, scores, first, first)
    while at.products < most and not enough(at):
        Ap, f = product(p)
        curvature = float(p @ Ap)
        if curvature <= 0.0:
            return at._replace(products=at.products + 1)
        a = at.square / curvature
        at.s[:] += a * p
        at.scores[:] += a * f
        residual -= a * Ap
        ahead = inverse(residual) if inverse else residual
        gain, square = 0.5 * a * at.square, float(residual @ ahead)
        p = ahead + (square / at.square) * p
        at = at._replace(square=square, products=at.products + 1, gain=gain, lowered=at.lowered + gain)
    return at
