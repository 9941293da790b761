"""One fit of a search: a model trained without one fold, reduced to what the scorer and the next fit need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.examples import Examples, weights_of_classes
from maxmargin.loop.outcome import Outcome
from maxmargin.problems.certificate import summed
from maxmargin.results import worst
from maxmargin.status import Status
from maxmargin.tuning.splits import Fold

LOOSENED = 10.0  # Folds are fitted to this many times the tolerance: a gap of 0.001 hardly changes a score.


STOPPED = (Status.TIME_LIMIT, Status.INTERRUPTED)  # how a fit ends that does not end by itself


class Fit(NamedTuple):
    """A fit with its C, the estimator that knows the decision values of the held-out rows, and the outcomes."""

    C: float
    estimator: Any
    parts: Sequence[Outcome]
    gap: float
    seconds: float
    status: Status

    @property
    def is_complete(self) -> bool:
        """Whether the fit ended by itself, and not at a time limit or an interrupt."""
        return self.status not in STOPPED


def weights_without(fold: Fold, data: Examples, weights: np.ndarray, class_weight: Any) -> np.ndarray:
    """Return the weight of each example in a fit without a fold: 0 in the fold. Classes are counted without it."""
    found, own, codes = np.zeros(data.n), fold.train, data.codes
    found[own] = weights[own]
    if class_weight is not None:
        found[own] *= weights_of_classes(class_weight, data.classes, codes[own])[codes[own]]
    return found


def fit_of(C: float, estimator: Any, parts: Sequence[Outcome]) -> Fit:
    """Return a fit of these outcomes; with none of them, nothing was left to train."""
    gap = summed(part.certificate for part in parts).relative_gap if parts else 0.0
    status = worst(parts) if parts else Status.CONVERGED
    return Fit(C, estimator, parts, gap, sum(part.seconds for part in parts), status)
