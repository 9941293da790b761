"""The status of a run: why it ended. It is a value with advice, not an exception."""

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
    Status.STALLED: "The gap no longer shrinks. Scale the features, loosen tol, or use another solver.",
    Status.ROUNDING: "Float64 rounding errors may be larger than the tolerance, so no smaller gap can be "
    "proven; the certificate is still valid. Subtract the mean of features far from 0, scale the features, lower C, or "
    "loosen tol.",
    Status.DIVERGED: "The steps grew without bound; this is the best model before that. "
    "Take smaller steps, scale the features, or use another solver.",
    Status.SEPARATED: "Every example is on its side of the hyperplane, so the perceptron has nothing to learn; "
    "the certificate bounds the distance from the optimum. For the maximum margin use another solver.",
    Status.SETTLED: "The solver's own stopping rule ended the run; the certificate says how good the model is. "
    "For more accuracy tighten that rule or use another solver.",
    Status.NOT_SEPARABLE: "No hyperplane separates the classes, so there is no hard margin, and nothing is certified: "
    "alpha holds weights that give both classes the same mean. Use a finite C.",
    Status.NO_MINIMISER: "The classes are separable, so larger weights always give smaller losses: "
    "logistic regression without regularisation has no minimiser. Use a finite C.",
}

# From best to worst. The status of several runs together is the worst one.
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
