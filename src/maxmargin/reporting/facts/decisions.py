"""What a model says of rows: decision values, predictions, probabilities and margins; and labels as class numbers."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from maxmargin.data.labels import show
from maxmargin.data.rows import Rows
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.kernel import KernelModel, decision_of
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.linear import LinearModel, has_probabilities
from maxmargin.reporting.subject import Subject


class Decisions(NamedTuple):
    """Decisions on some rows: values of `decide`, predictions as class numbers, as numbers, or as ±1.

    `probabilities` are those of the classes, if the model has them. `pairs` are the values of each pair of classes, of
    a model that decides by pairs.
    """

    values: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None
    pairs: np.ndarray | None = None

    def margins(self, codes: np.ndarray) -> np.ndarray:
        """Return the margin of each row for its true class."""
        if self.pairs is None or self.values.ndim == 1:
            return margins(self.values, codes)
        return margins_of_pairs(self.pairs, codes, self.values.shape[1])


def decisions(subject: Subject, rows: Rows, threads: int) -> Decisions:
    """Return the decisions of a model on some rows."""
    model = subject.model
    if isinstance(model, KernelModel):
        pairs = model.decide_pairs(rows, threads)
        found = None if model.sigmoids is None else model.probabilities_at(pairs)
        return Decisions(decision_of(pairs, len(model.classes)), model.winners(pairs), found, pairs)
    values = model.decide(rows, threads)
    if isinstance(model, KernelFunction):
        return Decisions(values, values if subject.task == "regress" else np.where(values >= 0.0, 1.0, -1.0))
    predicted = (values > 0.0).astype(np.int64) if values.ndim == 1 else np.argmax(values, axis=1)
    return Decisions(
        values, predicted, linear_probabilities(model.linear if isinstance(model, ApproximateModel) else model, values)
    )


def linear_probabilities(model: LinearModel, values: np.ndarray) -> np.ndarray | None:
    """Return the probabilities of the classes for decision values; None if the model has none."""
    there = model.sigmoids is not None or has_probabilities(model.loss)
    return model.probabilities_at(values) if there else None


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


def margins_of_pairs(pairs: np.ndarray, codes: np.ndarray, classes: int) -> np.ndarray:
    """Return the smallest y f(x) of the pairs that hold the class of a row: of its class against each other class."""
    found = np.full(len(pairs), np.inf)
    for values, (i, j) in zip(pairs.T, combinations(range(classes), 2), strict=True):
        for code, side in ((i, values), (j, -values)):
            found = np.where(codes == code, np.minimum(found, side), found)
    return found
