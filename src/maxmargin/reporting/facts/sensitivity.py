"""How much each column matters to a model without weights: the mean change of its values if the column had its mean."""

from __future__ import annotations

import numpy as np

from maxmargin.data.rows import Dense, Rows
from maxmargin.reporting.facts.explanations import MOST_FEATURES, widened
from maxmargin.reporting.subject import Subject

ROWS = 150  # rows that are changed
WORK = 1 << 28  # most products of a row and a support vector: some seconds


def sensitivity(subject: Subject, rows: Rows, means: np.ndarray) -> np.ndarray | None:
    """Return the mean absolute change for each column; None if it would take too long."""
    if subject.d > MOST_FEATURES or not subject.has_columns:
        return None
    X = widened(rows, subject.d)[:ROWS]
    count = len(X) * len(subject.groups)
    if count * max(len(subject.model.support), 1) > WORK or count * subject.d > WORK:
        return None
    before = subject.model.decide(Dense(np.ascontiguousarray(X)))
    return np.array([change(subject, X, means, before, slice(one.start, one.stop)) for one in subject.groups])


def change(subject: Subject, X: np.ndarray, means: np.ndarray, before: np.ndarray, own: slice) -> float:
    """Return the mean absolute change if the features `own` had their means."""
    changed = X.copy()
    changed[:, own] = means[own]
    return float(np.mean(np.abs(subject.model.decide(Dense(changed)) - before)))
