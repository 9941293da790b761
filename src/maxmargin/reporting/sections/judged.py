"""The rows of a classifier's report whose labels the model knows, and shares as text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.words import percent


class Judged(NamedTuple):
    """The rows whose labels the model knows: decision values, true and predicted class numbers."""

    values: np.ndarray
    codes: np.ndarray
    predicted: np.ndarray
    known: np.ndarray


def judged(evidence: Evidence) -> Judged:
    """Return the rows whose labels the model knows."""
    known = evidence.codes >= 0
    return Judged(evidence.values[known], evidence.codes[known], evidence.predicted[known], known)


def share(part: int, whole: int) -> str:
    """Return a share as a percentage, a dash for none of none."""
    return percent(part / whole) if whole else "–"
