"""The losses, one in each file, and their registry `LOSSES`.

A new loss is one file with one subclass of `Loss`, and one call of `register`. See docs/extending.md.
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
HARD_MARGIN = HardMargin()  # not in LOSSES: it is selected by C = ∞


def register(loss: Loss) -> Loss:
    """Register a loss under its name, after checking that it is complete. The same class replaces its old entry."""
    check_whole(loss)
    known = {HARD_MARGIN.name: HARD_MARGIN, **LOSSES}.get(loss.name)
    if known is not None and not same_class(type(known), type(loss)):
        raise ParameterError(f"loss {loss.name} is taken by {type(known).__qualname__}: give yours another name")
    LOSSES[loss.name] = loss
    return loss


def find_loss(name: str) -> Loss:
    """Return the loss of that name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ParameterError(f"loss={name!r} is not known: choose one of {', '.join(LOSSES)}")
    return LOSSES[name]


def losses_with_probabilities() -> list[str]:
    """Return the names of the losses whose models give probabilities."""
    return [name for name, loss in LOSSES.items() if loss.probabilities]


for _loss in (Hinge(), SquaredHinge(), Logistic()):
    register(_loss)
