"""How often a classifier is right: the confusion matrix, precision and recall; and all sections about its errors."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.classes import balanced_accuracy, confusion
from maxmargin.reporting.figures.distributions import squares
from maxmargin.reporting.sections.calibration import calibration_section, class_calibration_section
from maxmargin.reporting.sections.class_ranking import class_ranking_section
from maxmargin.reporting.sections.judged import Judged, judged, share
from maxmargin.reporting.sections.margins import margin_section
from maxmargin.reporting.sections.ranking import ranking_section
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import percent, short

MOST_CLASSES = 20  # classes of a confusion matrix that is drawn


def classification_sections(subject: Subject, evidence: Evidence) -> list[Section]:
    """Return the sections about the errors of a classifier."""
    rows = judged(evidence)
    found = [confusion_section(subject, evidence, rows), margin_section(subject, evidence, rows)]
    if not subject.is_binary:
        return [*found, *filter(None, [class_ranking_section(subject, rows), class_calibration_section(subject, rows)])]
    if 0 < np.count_nonzero(rows.codes) < len(rows.codes):
        found += [ranking_section(subject, rows), calibration_section(subject, rows)]
    return found


def confusion_section(subject: Subject, evidence: Evidence, rows: Judged) -> Section:
    """Return the confusion matrix."""
    classes = [short(name) for name in subject.classes]
    matrix = confusion(rows.codes, rows.predicted, len(classes))
    right = int(np.trace(matrix))
    told = (
        f"{right:,} of {len(rows.codes):,} rows are labelled correctly: an accuracy of "
        f"{percent(right / len(rows.codes), 2)}. "
        f"The mean over the classes is {percent(balanced_accuracy(matrix), 2)} (balanced accuracy)."
    )
    parts: list[Part] = [Text(f"{evidence.described[0].upper()}{evidence.described[1:]}. {told}")]
    if len(classes) <= MOST_CLASSES:
        shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
        spec = squares(matrix, classes, classes, ("true class", "predicted class"), shares)
        parts.append(Figure("confusion", "Confusion matrix", f"Rows by true and predicted class. {told}", spec))
    parts.append(class_table(classes, matrix))
    parts.append(matrix_table(classes, matrix) if len(classes) <= MOST_CLASSES else worst_pairs(classes, matrix))
    return Section("errors", "How often is it right?", parts)


def class_table(classes: list[str], matrix: np.ndarray) -> Table:
    """Return precision, recall and F1 of each class."""
    right, true, said = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    rows = [
        (name, f"{t:,}", share(r, s), share(r, t), share(2 * r, s + t))
        for name, r, t, s in zip(classes, right.tolist(), true.tolist(), said.tolist(), strict=True)
    ]
    return Table("Precision and recall of each class", ("class", "rows", "precision", "recall", "F1"), rows)


def matrix_table(classes: list[str], matrix: np.ndarray) -> Table:
    """Return the counts of the confusion matrix."""
    rows = [
        [f"true {name}", *(f"{count:,}" for count in line)] for name, line in zip(classes, matrix.tolist(), strict=True)
    ]
    return Table("Rows by true and predicted class", ("", *(f"predicted {name}" for name in classes)), rows)


def worst_pairs(classes: list[str], matrix: np.ndarray) -> Table:
    """Return the pairs of classes that are confused most often."""
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:15]
    places = np.column_stack(np.unravel_index(order, wrong.shape)).tolist()
    rows = [(classes[i], classes[j], f"{wrong[i, j]:,}") for i, j in places if wrong[i, j]]
    return Table("Classes that are confused most often", ("true class", "predicted class", "rows"), rows)
