"""How well the classes are told apart: margins, confusion matrix, ROC, precision-recall, calibration, thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Slider, Table, Text
from maxmargin.reporting.evidence import Evidence, margins, probabilities
from maxmargin.reporting.facts.calibration import calibration
from maxmargin.reporting.facts.classes import Thresholds, balanced_accuracy, confusion, thresholds
from maxmargin.reporting.facts.histograms import histogram
from maxmargin.reporting.facts.ranking import Bands, Ranking, bands, ranking
from maxmargin.reporting.facts.support import is_support
from maxmargin.reporting.figures.distributions import histogram_figure, squares
from maxmargin.reporting.figures.ranking import calibration_figure, precision_recall, roc
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import counted, number, percent, short

MOST_CLASSES = 20  # classes of a confusion matrix that is drawn
KINDS = ("correct, outside the margin", "correct, inside the margin", "on the wrong side")
PALETTE = ("var(--series-1)", "var(--series-5)", "var(--series-2)")


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


def classification_sections(subject: Subject, evidence: Evidence) -> list[Section]:
    """Return the sections about the errors of a classifier."""
    rows = judged(evidence)
    found = [confusion_section(subject, evidence, rows), margin_section(subject, evidence, rows)]
    if subject.is_binary and 0 < np.count_nonzero(rows.codes) < len(rows.codes):
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


def share(part: int, whole: int) -> str:
    """Return a share as a percentage, a dash for none of none."""
    return percent(part / whole) if whole else "–"


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


def margin_section(subject: Subject, evidence: Evidence, rows: Judged) -> Section:
    """Return the margins of all rows."""
    parts: list[Part] = []
    margin = margins(rows.values, rows.codes)
    kinds = np.where(margin >= 1.0, 0, np.where(rows.predicted == rows.codes, 1, 2))
    counts = np.bincount(kinds, minlength=3).tolist()
    told = ", ".join(f"{count:,} {name}" for count, name in zip(counts, KINDS, strict=True))
    parts.append(Text(margin_words(subject, counts)))
    if subject.is_binary:
        names = [f"true class {short(name)}" for name in subject.classes]
        found = histogram(rows.values, rows.codes, 2, (-1.2, 1.2))
        spec = histogram_figure(found, names, "decision value f(x)", (-1.0, 0.0, 1.0))
        told_values = "Decision values of both classes, with the boundary at 0 and the margins at −1 and 1."
        parts.append(Figure("decision-values", "Decision values by true class", f"{told_values} {told}.", spec))
    found = histogram(margin, kinds, 3, (-0.2, 1.2))
    title = "margin y f(x)" if subject.is_binary else "value of the true class minus the largest other one"
    spec = histogram_figure(found, KINDS, title, (0.0, 1.0), PALETTE)
    parts.append(Figure("margins", "Margins of all rows", f"Margins of {len(margin):,} rows: {told}.", spec))
    parts.append(kinds_table(subject, evidence, rows, kinds, counts))
    if found.outside:
        parts.append(
            Text(f"{counted(found.outside, 'row')} beyond the ends are counted in the outermost bars.", "note")
        )
    return Section("margins", "How clear are the decisions?", parts)


def margin_words(subject: Subject, counts: list[int]) -> str:
    """Return what margins mean."""
    if not subject.is_binary:
        return (
            "The margin of a row is the decision value of its true class minus the largest of the other classes. It is "
            f"negative for a wrong answer: here in {counted(counts[2], 'row')}."
        )
    violators = counts[1] + counts[2]
    return (
        "The decision value says how far a row is on one side: at 0 is the boundary, and training pushes rows beyond "
        f"−1 and 1. {counted(violators, 'row')} ({percent(violators / max(sum(counts), 1))}) violate the margin: "
        f"{counts[1]:,} on the right side of the boundary, {counts[2]:,} on the wrong one."
    )


def kinds_table(subject: Subject, evidence: Evidence, rows: Judged, kinds: np.ndarray, counts: list[int]) -> Table:
    """Return the number of rows of each kind, and of the support vectors among them."""
    support = is_support(subject, evidence)
    body: list[list[str]] = [
        [name, f"{count:,}", percent(count / max(len(kinds), 1))] for name, count in zip(KINDS, counts, strict=True)
    ]
    header = ["rows", "count", "share"]
    if support is not None:
        header.append("support vectors")
        for k, line in enumerate(body):
            line.append(f"{np.count_nonzero(support[rows.known] & (kinds == k)):,}")
    elif len(subject.model.support):
        body.append(["support vectors of the training", f"{len(subject.model.support):,}", ""])
    return Table("Rows by margin", header, body)


def ranking_section(subject: Subject, rows: Judged) -> Section:
    """Return ROC and precision-recall curves and the thresholds."""
    positive = rows.codes == 1
    ranked, chosen = ranking(rows.values, positive), thresholds(rows.values, positive)
    found, name = bands(ranked), short(subject.classes[1])
    parts: list[Part] = [
        Text(
            f"“{name}” is the positive class. The curves show what other thresholds than 0 would give; shaded are 95 % "
            "bootstrap intervals, from 400 samples of each class."
        ),
        *ranking_figures(ranked, found, chosen),
        Slider(
            "Choose a threshold", name, short(subject.classes[0]),
            [float(f"{one:.6g}") for one in chosen.values.tolist()], chosen.counts.tolist(), chosen.own,
            ("roc", "precision-recall"),
        ),
    ]  # fmt: skip
    return Section("ranking", "What if the threshold moves?", parts)


def ranking_figures(ranked: Ranking, found: Bands, chosen: Thresholds) -> list[Figure]:
    """Return both curves."""
    area = f"{ranked.area:.4f} (95 % interval {found.area[0]:.4f} to {found.area[1]:.4f})"
    low, high = found.average_precision
    average = f"{ranked.average_precision:.4f} (95 % interval {low:.4f} to {high:.4f})"
    some = np.unique(np.linspace(0, len(chosen.values) - 1, 12).round().astype(int)).tolist()
    counts = chosen.counts[some]
    rates = [
        (number(float(t), 3), share(tp, tp + fn), share(fp, fp + tn), share(tp, tp + fp))
        for t, (tp, fp, fn, tn) in zip(chosen.values[some], counts.tolist(), strict=True)
    ]
    table = Table(
        "Rates at some thresholds", ("threshold", "true positives (recall)", "false positives", "precision"), rates
    )
    return [
        Figure("roc", f"ROC curve, area {area}", f"True positive rate over false positive rate. The area is {area}.",
               roc(ranked, found.roc, chosen), table),
        Figure("precision-recall", f"Precision and recall, average precision {average}",
               f"Precision over recall. The average precision is {average}.",
               precision_recall(ranked, found.precision, chosen), table),
    ]  # fmt: skip


def calibration_section(subject: Subject, rows: Judged) -> Section:
    """Return the calibration of probabilities, or the share of positive rows by decision value."""
    found_probabilities, name = probabilities(subject, rows.values), short(subject.classes[1])
    known = found_probabilities is not None
    found = calibration(rows.values if found_probabilities is None else found_probabilities, rows.codes == 1)
    across = f"predicted probability of {name}" if known else "decision value"
    words = (
        "If the probabilities are right, the points are on the diagonal. Their mean distance is "
        f"{percent(found.error)}."
        if known
        else "The model has no probabilities (train with --probability to get them). The picture shows how often the "
        "positive class is right among rows with about the same decision value."
    )
    rates = [[number(float(one), 3) for one in line] for line in zip(*found[:4], strict=True)]
    table = Table("Groups of rows", (across, "share", "low", "high"), rates)
    spec = calibration_figure(found, across, f"share of {name}", known)
    alternative = f"The share of “{name}” in {len(found.counts)} groups of rows with similar scores. {words}"
    title = "Can the probabilities be trusted?" if known else "Do larger values mean more certainty?"
    return Section("calibration", title, [Text(words), Figure("calibration", "Calibration", alternative, spec, table)])
