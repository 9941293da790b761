"""The functions ("verbs") that compiled code calls on a dual term, and the registry of its shapes.

    dual_value(term, i, α)                 d_i(α)
    slope(term, i, α)                      d_i′(α)
    best_response(term, i, m)              the optimal α for margin m: −C_i ℓ′(m)
    response(term, i, m)                   C_i ℓ(m), −C_i ℓ′(m) and C_i ℓ″(m)
    softened(term, i, m, α, ε)             the q that maximises  d_i(q) − q m − ½ ε (q−α)², and −dq/dm
    fenchel_young_gap(term, i, α, m)       C_i ℓ(m) − d_i(α) + α m ≥ 0: the part of the gap due to example i
    distance_from_bound(term, i, α, m)     how far the margin is from letting α leave its bound; negative if it can
    best(term, i, α, g, q)                 the z that maximises  d_i(z) − g (z−α) − ½ q (z−α)²
    best_pair(term, i, j, αᵢ, αⱼ, sᵢ, sⱼ, g, q)   the δ ≥ 0 that maximises
                                           d_i(αᵢ + sᵢδ) + d_j(αⱼ − sⱼδ) − g δ − ½ q δ²,  with s = ±1

A shape is a NamedTuple of arrays, one of which is U, the upper bounds of α. Each shape has its own version ("form") of
each verb. Numba selects it by the type of the term when it compiles a solver, so the choice costs nothing at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, Protocol

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.system.compiled import compiled, inlined

LossBounds = Callable[[Any, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class DualTerm(Protocol):
    """The dual terms of all examples, as data: a NamedTuple of one of the shapes."""

    @property
    def U(self) -> np.ndarray:
        """The upper bound of each α."""

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterate over the arrays."""


class Shape(NamedTuple):
    """The compiled form of each verb, and `loss_bounds` if NumPy is faster than compiled code for many examples.

    loss_bounds(term, m, e) returns C_i ℓ(m_i) and an upper bound of C_i ℓ(m_i − e_i), for the examples of `term`.
    """

    forms: dict[str, Callable[..., Any]]
    loss_bounds: LossBounds | None = None


VERBS: dict[str, Callable[..., Any]] = {}
SHAPES: dict[type, Shape] = {}


def verb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a verb with the name and arguments of `function`; compiled code calls the form of the term's shape."""
    name = function.__name__

    @wraps(function)
    def outside(*_: Any) -> Any:
        raise NotImplementedError(f"{name} works inside compiled functions only")

    def form(term: Any, *_: Any) -> Callable[..., Any]:
        return shape_of(getattr(term, "instance_class", type(term))).forms[name]

    arguments = signature(function).parameters.values()
    form.__signature__ = Signature([one.replace(annotation=Parameter.empty) for one in arguments])  # type: ignore[attr-defined]
    inlined(outside)(form)
    VERBS[name] = outside
    return outside


def shape_of(kind: type) -> Shape:
    """Return the registered shape of that type; raise ParameterError if there is none."""
    if kind not in SHAPES:
        known = ", ".join(shape.__name__ for shape in SHAPES)
        raise ParameterError(
            f"{kind.__name__} is not a known shape of a dual term ({known} are): "
            "give its compiled forms to maxmargin.problems.dual_terms.register"
        )
    return SHAPES[kind]


def register(kind: type, *, loss_bounds: LossBounds | None = None, **forms: Callable[..., Any]) -> None:
    """Register a shape with its form of every verb: a function, such as a lambda, with the arguments of the verb.

    A form reads values from the term and calls compiled functions of arrays and numbers.
    """
    name = kind.__name__
    if "U" not in getattr(kind, "_fields", ()):
        raise ParameterError(f"dual term {name} lacks U: it must be a NamedTuple with the upper end of each box as U")
    for missing in (verb for verb in VERBS if verb not in forms):
        arguments = ", ".join(signature(VERBS[missing]).parameters)
        raise ParameterError(f"dual term {name} lacks {missing}: give {missing}=lambda {arguments}: ...")
    for given, form in forms.items():
        if given not in VERBS:
            raise ParameterError(f"dual term {name} has {given}, which is not a verb: {', '.join(VERBS)} are")
        wanted = list(signature(VERBS[given]).parameters)
        if list(signature(form).parameters) != wanted:
            raise ParameterError(f"dual term {name}: {given} must take ({', '.join(wanted)}), in these names")
    SHAPES[kind] = Shape(forms, loss_bounds)


@verb
def dual_value(term: Any, i: int, alpha: float) -> float:
    """d_i(α)."""
    raise NotImplementedError


@verb
def slope(term: Any, i: int, alpha: float) -> float:
    """d_i′(α)."""
    raise NotImplementedError


@verb
def best_response(term: Any, i: int, m: float) -> float:
    """−C_i ℓ′(m)."""
    raise NotImplementedError


@verb
def response(term: Any, i: int, m: float) -> tuple[float, float, float]:
    """C_i ℓ(m), −C_i ℓ′(m) and C_i ℓ″(m)."""
    raise NotImplementedError


@verb
def softened(term: Any, i: int, m: float, alpha: float, epsilon: float) -> tuple[float, float]:
    """Return the q that maximises d_i(q) − q m − ½ ε (q−α)², and −dq/dm; ε = 0 for smooth losses."""
    raise NotImplementedError


@verb
def fenchel_young_gap(term: Any, i: int, alpha: float, m: float) -> float:
    """C_i ℓ(m) − d_i(α) + α m."""
    raise NotImplementedError


@verb
def distance_from_bound(term: Any, i: int, alpha: float, m: float) -> float:
    """Return how far the margin is from letting α leave its bound; negative if it can."""
    raise NotImplementedError


@verb
def best(term: Any, i: int, alpha: float, g: float, q: float) -> float:
    """Return the best value of one dual variable: the z of the table above."""
    raise NotImplementedError


@verb
def best_pair(term: Any, i: int, j: int, ai: float, aj: float, si: float, sj: float, g: float, q: float) -> float:
    """Return the best step δ of two dual variables along αᵢ + sᵢδ, αⱼ − sⱼδ."""
    raise NotImplementedError


@compiled
def room(s, a, U):
    """Return how far α can move in direction s = ±1 inside [0, U]."""
    return U - a if s > 0 else a


@compiled
def sum_of_dual_values(term, alpha):
    """Return Σ d_i(α_i)."""
    total = 0.0
    for i in range(alpha.size):
        total += dual_value(term, i, alpha[i])
    return total
