"""What compiled code may ask of a dual term, and the table of shapes that answer.

    dual_value(term, i, α)                 d_i(α)
    slope(term, i, α)                      d_i′(α)
    best_response(term, i, m)              the α that belongs to margin m: −C_i ℓ′(m)
    response(term, i, m)                   C_i ℓ(m), −C_i ℓ′(m) and C_i ℓ″(m)
    softened(term, i, m, α, ε)             the q that maximises  d_i(q) − q m − ½ ε (q−α)², and −dq/dm
    fenchel_young_gap(term, i, α, m)       C_i ℓ(m) − d_i(α) + α m ≥ 0: what the example adds to the gap
    distance_from_bound(term, i, α, m)     how far the margin is from where α could leave its bound; below 0 if it can
    best(term, i, α, g, q)                 the z that maximises  d_i(z) − g (z−α) − ½ q (z−α)²
    best_pair(term, i, j, αᵢ, αⱼ, sᵢ, sⱼ, g, q)   the δ ≥ 0 that maximises
                                           d_i(αᵢ + sᵢδ) + d_j(αⱼ − sⱼδ) − g δ − ½ q δ²,  with s = ±1

A shape is a NamedTuple of arrays, U among them, the upper ends of the boxes, and has a form of each verb. Numba picks
the form by the type of the term when it compiles a solver, so the choice costs nothing at run time.
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
        """The upper end of the box of each α."""

    def __iter__(self) -> Iterator[np.ndarray]:
        """The arrays, one after the other."""


class Shape(NamedTuple):
    """The compiled form of each verb, and `loss_bounds` if NumPy is faster than compiled code for many examples.

    loss_bounds(term, m, e) returns C_i ℓ(m_i) and an upper bound of C_i ℓ(m_i − e_i), for the examples of `term`.
    """

    forms: dict[str, Callable[..., Any]]
    loss_bounds: LossBounds | None = None


VERBS: dict[str, Callable[..., Any]] = {}
SHAPES: dict[type, Shape] = {}


def verb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make `function` a verb: its name and arguments count; in compiled code the form of the term's shape is called."""
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
    """The shape of that name, or an error that says how to make it known."""
    if kind not in SHAPES:
        known = ", ".join(shape.__name__ for shape in SHAPES)
        raise ParameterError(
            f"{kind.__name__} is not a known shape of a dual term ({known} are): "
            "give its compiled forms to maxmargin.problems.dual_terms.register"
        )
    return SHAPES[kind]


def register(kind: type, *, loss_bounds: LossBounds | None = None, **forms: Callable[..., Any]) -> None:
    """Make a shape known by its form of every verb: functions with the arguments of the verb, such as lambdas.

    A form takes what it needs out of the term and calls compiled functions of arrays and numbers.
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
    """The q that maximises d_i(q) − q m − ½ ε (q−α)², and −dq/dm; a smooth loss is asked with ε = 0 only."""
    raise NotImplementedError


@verb
def fenchel_young_gap(term: Any, i: int, alpha: float, m: float) -> float:
    """C_i ℓ(m) − d_i(α) + α m."""
    raise NotImplementedError


@verb
def distance_from_bound(term: Any, i: int, alpha: float, m: float) -> float:
    """How far the margin is beyond where α could move again."""
    raise NotImplementedError


@verb
def best(term: Any, i: int, alpha: float, g: float, q: float) -> float:
    """The best value of one dual variable."""
    raise NotImplementedError


@verb
def best_pair(term: Any, i: int, j: int, ai: float, aj: float, si: float, sj: float, g: float, q: float) -> float:
    """The best step of two dual variables along αᵢ + sᵢδ, αⱼ − sⱼδ."""
    raise NotImplementedError


@compiled
def room(s, a, U):
    """How far α may go in direction s = ±1 before it leaves [0, U]."""
    return U - a if s > 0 else a


@compiled
def sum_of_dual_values(term, alpha):
    """Σ d_i(α_i)."""
    total = 0.0
    for i in range(alpha.size):
        total += dual_value(term, i, alpha[i])
    return total
