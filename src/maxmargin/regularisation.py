"""The path over C: the same rows trained for one C after another, each from the answer to the one before.

From a small C to a large one: the dual variables of a smaller C are feasible for a larger, and w hardly moves. What
depends on the rows alone (the check of every value, the norms) is done once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.outcome import Status
from maxmargin.problem import is_number
from maxmargin.results import Result
from maxmargin.training import prepare, train

CS = tuple(float(C) for C in np.logspace(-2, 2, 9))


def path(X: Any, y: Any = None, *, Cs: Iterable[float] = CS, **options: Any) -> list[Result]:
    """Train for every C in `Cs`; results in the order of `Cs`, each certified like one of `train`.

    Parameters
    ----------
    X, y : as for `train`
    Cs : the values of C, in any order; by default nine from 0.01 to 100
    **options : whatever `train` takes besides C, lam, warm, checkpoint and resume; limits hold for each C

    An interrupt, or a callback that returns something true, ends the training under way; the larger C's go without,
    and the list is shorter.

    Examples
    --------
    >>> import maxmargin
    >>> results = maxmargin.path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], Cs=[0.1, 10.0])
    >>> [result.model.training["C"] for result in results]
    [0.1, 10.0]
    """
    for name in ("C", "lam", "warm", "checkpoint", "resume"):
        if name in options:
            raise ParameterError(f"path takes no {name}: it goes from one C to the next by itself; train takes it")
    values = checked(Cs)
    data = prepare(X, y, options.get("zero_based", False), options.get("threads"))
    found: dict[float, Result] = {}
    warm = None
    for C in sorted(set(values)):
        warm = found[C] = train(data, C=C, warm=warm, **options)
        if warm.status is Status.INTERRUPTED:
            break
    return [found[C] for C in values if C in found]


def checked(Cs: Any) -> list[float]:
    """The C's, at least one, each a positive number."""
    values = list(Cs) if np.iterable(Cs) and not isinstance(Cs, str) else [Cs]
    for C in values:
        if not (is_number(C) and 0 < C < np.inf):
            raise ParameterError(f"Cs holds {C!r}: each C must be a positive number")
    if not values:
        raise ParameterError("Cs is empty: give at least one C")
    return [float(C) for C in values]
