"""The losses, a file each; `LOSSES` is the table by which they are found.

A new loss is one file with one subclass of `Loss`, and one `register`. See docs/extending.md.
"""

from __future__ import annotations

from maxmargin.errors import ParameterError
from maxmargin.problems.losses.base import Loss, check_whole
from maxmargin.problems.losses.hard_margin import HardMargin
from maxmargin.problems.losses.hinge import Hinge
from maxmargin.problems.losses.logistic import Logistic, sigmoid
from maxmargin.problems.losses.squared_hinge import SquaredHinge
from maxmargin.system.values import same_class

__all__ = [
    "HARD_MARGIN",
    "LOSSES",
    "HardMargin",
    "Hinge",
    "Logistic",
    "Loss",
    "SquaredHinge",
    "find_loss",
    "losses_with_probabilities",
    "register",
    "sigmoid",
]

LOSSES: dict[str, Loss] = {}
HARD_MARGIN = HardMargin()  # not in the table: C = ∞ asks for it


def register(loss: Loss) -> Loss:
    """Make a loss known by its name, after a check that no piece is missing; the same again replaces it."""
    check_whole(loss)
    known = {HARD_MARGIN.name: HARD_MARGIN, **LOSSES}.get(loss.name)
    if known is not None and not same_class(type(known), type(loss)):
        raise ParameterError(f"loss {loss.name} is taken by {type(known).__qualname__}: give yours another name")
    LOSSES[loss.name] = loss
    return loss


def find_loss(name: str) -> Loss:
    """The loss of that name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ParameterError(f"loss={name!r} is not known: choose one of {', '.join(LOSSES)}")
    return LOSSES[name]


def losses_with_probabilities() -> list[str]:
    """The losses whose models have probabilities."""
    return [name for name, loss in LOSSES.items() if loss.probabilities]


for _loss in (Hinge(), SquaredHinge(), Logistic()):
    register(_loss)
