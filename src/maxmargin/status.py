"""How a run ended. A status is a value with advice, not an exception."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Why training stopped."""

    CONVERGED = "converged"
    TIME_LIMIT = "time limit"
    EPOCH_LIMIT = "epoch limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    ROUNDING = "rounding"
    DIVERGED = "diverged"
    SEPARATED = "separated"
    SETTLED = "settled"
    NOT_SEPARABLE = "not separable"
    NO_MINIMISER = "no minimiser"

    @property
    def advice(self) -> str:
        """What the status means and what to do."""
        return ADVICE[self]


ADVICE = {
    Status.CONVERGED: "The certificate is within the tolerance.",
    Status.TIME_LIMIT: "Stopped at the time limit with the best model so far; its certificate says how good it is. "
    "Give more time, loosen tol, or lower C; with a checkpoint, resume.",
    Status.EPOCH_LIMIT: "Stopped at the epoch limit with the best model so far; its certificate says how good it is. "
    "Raise max_epochs, loosen tol, or lower C; with a checkpoint, resume.",
    Status.INTERRUPTED: "Stopped on request with the best model so far; its certificate says how good it is. "
    "With a checkpoint, resume.",
    Status.STALLED: "The gap no longer shrinks: the solver does not come closer. Scale the features, loosen tol, "
    "or take another solver.",
    Status.ROUNDING: "Rounding errors of float64 alone may be larger than the tolerance, so that nothing closer can be "
    "proved; the certificate says what is. Subtract the mean of features far from 0, scale the features, lower C, or "
    "loosen tol.",
    Status.DIVERGED: "The steps grew beyond all bounds; this is the best model before they did. "
    "Take smaller steps, scale the features, or take another solver.",
    Status.SEPARATED: "Every example is on its side, and the perceptron learns from mistakes only; the certificate "
    "says how far from the optimum it is. For the widest margin take another solver.",
    Status.SETTLED: "The solver's own rule ended it; the certificate says how good the model is. "
    "Tighten that rule or take another solver for more.",
    Status.NOT_SEPARABLE: "No hyperplane separates the classes, so there is no hard margin, and this model claims "
    "nothing: alpha holds weights under which the means of both classes coincide. Take a finite C.",
    Status.NO_MINIMISER: "The classes can be separated, so that ever larger weights make the losses ever smaller: "
    "logistic without regularisation has no minimiser. Take a finite C.",
}

# From best to worst. The status of several runs together is the worst of theirs.
SEVERITY = [
    Status.CONVERGED,
    Status.SEPARATED,
    Status.SETTLED,
    Status.ROUNDING,
    Status.STALLED,
    Status.EPOCH_LIMIT,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
    Status.NO_MINIMISER,
    Status.NOT_SEPARABLE,
    Status.DIVERGED,
]
