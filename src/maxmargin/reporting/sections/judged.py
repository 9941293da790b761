"""The rows of a classifier's report whose labels the model knows, and shares as text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.words import percent


class Judged(NamedTuple):
    """The rows whose labels the model knows: decision values, true and predicted class numbers, margins, probabilities.

    `known` is the mask of these rows.
    """

    values: np.ndarray
    codes: np.ndarray
    predicted: np.ndarray
    margins: np.ndarray
    probabilities: np.ndarray | None
    known: np.ndarray


def judged(evidence: Evidence) -> Judged:
    """Return the rows whose labels the model knows."""
    known = evidence.codes >= 0
    chances = None if evidence.probabilities is None else evidence.probabilities[known]
    return Judged(
        evidence.values[known],
        evidence.codes[known],
        evidence.predicted[known],
        evidence.margins[known],
        chances,
        known,
    )


def share(part: int, whole: int) -> str:
    """Return a share as a percentage, a dash for none of none."""
    return percent(part / whole) if whole else "–"
