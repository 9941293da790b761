"""Counts of right and wrong answers: the confusion matrix, and the counts at each threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

STEPS = 120  # thresholds of the slider


class Thresholds(NamedTuple):
    """Counts of answers if the positive class is predicted above each threshold; `own` is the place of 0."""

    values: np.ndarray
    counts: np.ndarray  # one row for each threshold: true positives, false positives, false negatives, true negatives
    own: int


def confusion(true: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Return the number of rows of each class (rows) that are predicted as each class (columns)."""
    return np.bincount(true * classes + predicted, minlength=classes**2).reshape(classes, classes)


def thresholds(values: np.ndarray, positive: np.ndarray) -> Thresholds:
    """Return the counts at evenly spaced quantiles of the values, and at 0."""
    some = np.quantile(values, np.linspace(0.0, 1.0, STEPS))
    places = np.unique(np.append(some, 0.0))
    above, others = np.sort(values[positive]), np.sort(values[~positive])
    misses, right = np.searchsorted(above, places, "right"), np.searchsorted(others, places, "right")
    counts = np.column_stack([len(above) - misses, len(others) - right, misses, right])
    return Thresholds(places, counts, int(np.searchsorted(places, 0.0)))


def balanced_accuracy(matrix: np.ndarray) -> float:
    """Return the mean over the classes of the share of their rows that is predicted correctly."""
    sizes = matrix.sum(axis=1)
    there = sizes > 0
    return float(np.mean(np.diag(matrix)[there] / sizes[there]))
