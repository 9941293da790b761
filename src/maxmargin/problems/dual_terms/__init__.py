"""The dual term of a loss for compiled solvers: data of some shape, and nine functions of it (verbs).

    verbs       the functions that compiled solvers call on a dual term, and the registry of shapes
    quadratic   d_i(α) = α − ½ D_i α²: hinge, squared hinge, hard margin
    entropy     d_i(α) = U log U − α log α − (U−α) log(U−α): logistic

A new shape is one file, with a NamedTuple, its versions of the nine functions and a call of `register`, and one import
here.
"""

from maxmargin.problems.dual_terms.entropy import Entropy
from maxmargin.problems.dual_terms.quadratic import Quadratic
from maxmargin.problems.dual_terms.verbs import (
    SHAPES,
    VERBS,
    DualTerm,
    best,
    best_pair,
    best_response,
    distance_from_bound,
    dual_value,
    fenchel_young_gap,
    register,
    response,
    room,
    slope,
    softened,
    sum_of_dual_values,
)

__all__ = [
    "SHAPES",
    "VERBS",
    "DualTerm",
    "Entropy",
    "Quadratic",
    "best",
    "best_pair",
    "best_response",
    "distance_from_bound",
    "dual_value",
    "fenchel_young_gap",
    "register",
    "response",
    "room",
    "slope",
    "softened",
    "sum_of_dual_values",
]
