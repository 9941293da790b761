"""Which rows are support vectors, if the rows are those of the training."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.subject import Subject

EXCEPTIONS = 0.02  # share of the rows that may disagree with the conditions of optimality
SLACK = 0.05  # by which a margin may miss the conditions: a solution is approximate


def is_support(subject: Subject, evidence: Evidence) -> np.ndarray | None:
    """Return a mask of the support vectors; None if the rows are not those of the training, as far as one can tell."""
    support, n = np.asarray(subject.model.support), evidence.n
    if evidence.is_training is False or subject.training.get("n") != n or not len(support):
        return None
    mask = np.zeros(n, dtype=bool)
    mask[support] = True
    return mask if evidence.is_training or agrees(subject, evidence, mask) else None


def agrees(subject: Subject, evidence: Evidence, support: np.ndarray) -> bool:
    """Whether margins meet the conditions of optimality: at most 1 for support vectors, at least 1 for other rows.

    With several classes, this holds for the smallest margin of the pairs that a kernel model was trained on.
    """
    if not (subject.is_binary or subject.decides_by_pairs) or subject.training.get("loss", "hinge") == "logistic":
        return False
    wrong = np.where(support, evidence.margins > 1.0 + SLACK, evidence.margins < 1.0 - SLACK)
    return bool(np.mean(wrong) <= EXCEPTIONS)
