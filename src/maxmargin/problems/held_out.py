"""Passes for the calibration of probabilities: the classes of each fold, and the scores of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.data.folds import folds_of_rows
from maxmargin.data.reduction import Part, Totals
from maxmargin.data.rows import count_rows, dot
from maxmargin.system.compiled import compiled

FOLD_NUMBERS = "fold numbers"  # the vector of the fold of each row
CLASS_NUMBERS = "class numbers"  # the vector of the class of each row; −1 for a row without weight


@dataclass(frozen=True, eq=False)
class CountFolds:
    """The pass that counts the rows of each class with a positive weight in each fold."""

    classes: np.ndarray
    folds: int
    vectors: Sequence[str] = ()

    def totals(self) -> Totals:
        """Return zeros: one row for each fold, one column for each class."""
        return (np.zeros((self.folds, len(self.classes)), dtype=np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        """Add the counts of a part."""
        counted = class_numbers(part, self.classes)
        some = counted >= 0
        np.add.at(totals[0], (folds_of_rows(part, self.folds)[some], counted[some]), 1)


@dataclass(frozen=True, eq=False)
class NumberFolds:
    """The pass that writes the fold of each row into the vector FOLD_NUMBERS: row numbers count within a partition."""

    folds: int
    vectors: Sequence[str] = (FOLD_NUMBERS,)

    def totals(self) -> Totals:
        """Return zero rows."""
        return (np.zeros(1, dtype=np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        """Write the folds of a part, and count its rows."""
        part.vectors[FOLD_NUMBERS][:] = folds_of_rows(part, self.folds)
        totals[0][0] += count_rows(part.rows)


@dataclass(frozen=True, eq=False)
class ScoreHeldOut:
    """The pass that writes the decision value of each row by the model without its fold into the vector `scores`.

    `v` holds (w, b) of each fold. The class of each row goes to the vector CLASS_NUMBERS.
    """

    classes: np.ndarray
    v: np.ndarray
    scores: str

    @property
    def vectors(self) -> tuple[str, ...]:
        """The scores and the classes."""
        return self.scores, CLASS_NUMBERS

    def totals(self) -> Totals:
        """Return zero rows."""
        return (np.zeros(1, dtype=np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        """Write the scores and classes of a part, and count its rows."""
        part.vectors[CLASS_NUMBERS][:] = class_numbers(part, self.classes)
        w, b = np.ascontiguousarray(self.v[:, :-1]), np.ascontiguousarray(self.v[:, -1])
        score_by_fold(part.rows, folds_of_rows(part, len(self.v)), w, b, part.vectors[self.scores])
        totals[0][0] += count_rows(part.rows)


def class_numbers(part: Part, classes: np.ndarray) -> np.ndarray:
    """Return the class number of each row of a part; −1 for a row without weight."""
    numbers = np.searchsorted(classes, part.labels)
    return numbers if part.weights is None else np.where(part.weights > 0.0, numbers, -1)


@compiled
def score_by_fold(rows, folds, w, b, scores):
    """Compute ⟨w, x_i⟩ + b with the w and b of the fold of each row."""
    for i in range(folds.size):
        scores[i] = dot(rows, i, w[folds[i]]) + b[folds[i]]
