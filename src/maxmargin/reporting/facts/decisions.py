"""What decision values say: margins and probabilities; and labels as class numbers."""

from __future__ import annotations

import numpy as np

from maxmargin.data.labels import show
from maxmargin.models.kernel import KernelModel
from maxmargin.models.linear import LinearModel
from maxmargin.models.probabilities import pair_probabilities
from maxmargin.problems.losses import losses_with_probabilities, sigmoid
from maxmargin.reporting.subject import Subject


def class_numbers(labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, set[str]]:
    """Return the class number of each label, −1 if it is none, and the unknown labels (a few of them)."""
    distinct, places = np.unique(labels, return_inverse=True)
    if distinct.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        places_of = {float(one): k for k, one in enumerate(classes.tolist())}
        numbers = np.array([places_of.get(float(one), -1) for one in distinct.tolist()])
    else:
        known = {show(one): k for k, one in enumerate(classes.tolist())}
        numbers = np.array([known.get(show(one), -1) for one in distinct.tolist()])
    return numbers[places.reshape(-1)], {show(one) for one in distinct[numbers < 0][:5].tolist()}


def margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return y f(x); with several classes, the value of the true class minus the largest other one."""
    if values.ndim == 1:
        return np.asarray(np.where(codes == 1, values, -values))
    each = np.arange(len(values))
    own = values[each, codes]
    others = values.copy()
    others[each, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))


def probabilities(subject: Subject, values: np.ndarray) -> np.ndarray | None:
    """Return P(second class) of a two-class model for its decision values; None if it has no probabilities."""
    model = subject.model
    if isinstance(model, KernelModel):
        return None if model.sigmoids is None else 1.0 - pair_probabilities(-values[:, None], model.sigmoids)[:, 0]
    linear = model if isinstance(model, LinearModel) else getattr(model, "linear", None)
    if linear is None:
        return None
    if linear.sigmoids is not None:
        return pair_probabilities(values[:, None], linear.sigmoids)[:, 0]
    return sigmoid(values) if linear.loss in losses_with_probabilities() else None
