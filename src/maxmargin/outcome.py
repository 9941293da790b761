"""How a run ended: a value with advice, not an exception."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from maxmargin.certificate import Certificate


class Status(StrEnum):
    """Why training stopped."""

    CONVERGED = "converged"
    TIME_LIMIT = "time limit"
    EPOCH_LIMIT = "epoch limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    DIVERGED = "diverged"

    @property
    def advice(self) -> str:
        """What to make of it."""
        return ADVICE[self]


ADVICE = {
    Status.CONVERGED: "The certificate is within the tolerance.",
    Status.TIME_LIMIT: "Stopped at the time limit with the best model so far; its certificate says how good it is. "
    "Give more time, loosen tol, or lower C; with a checkpoint, resume.",
    Status.EPOCH_LIMIT: "Stopped at the epoch limit with the best model so far; its certificate says how good it is. "
    "Raise max_epochs, loosen tol, or lower C; with a checkpoint, resume.",
    Status.INTERRUPTED: "Stopped on request with the best model so far; its certificate says how good it is. "
    "With a checkpoint, resume.",
    Status.STALLED: "The gap no longer shrinks: rounding stands in the way, because the tolerance is very fine or "
    "the features are of very different sizes. Scale or centre the features, or loosen tol.",
    Status.DIVERGED: "The steps grew beyond all bounds; this is the best model before they did. "
    "Take smaller steps, scale the features, or take another solver.",
}

# Worst last: the status of several runs taken together is the worst of them.
SEVERITY = [
    Status.CONVERGED,
    Status.STALLED,
    Status.EPOCH_LIMIT,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
    Status.DIVERGED,
]


@dataclass(frozen=True)
class Record:
    """One line of history: the certificate of the point at that moment, and the best one so far."""

    problem: str
    epochs: float
    seconds: float
    certificate: Certificate
    best: Certificate
