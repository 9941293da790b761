"""How well the decision values of each of several classes rank its rows before the others."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.content import Figure, Section, Table, Text
from maxmargin.reporting.facts.ranking import ranking
from maxmargin.reporting.figures.lines import Line
from maxmargin.reporting.figures.ranking import evenly, several_curves
from maxmargin.reporting.figures.weights import different
from maxmargin.reporting.sections.judged import Judged
from maxmargin.reporting.subject import Subject

MOST_CLASSES = 8


def class_ranking_section(subject: Subject, rows: Judged) -> Section | None:
    """Return the ROC curve of each class against the rest; None for many classes, or if the rows have only one."""
    sizes = np.bincount(rows.codes, minlength=len(subject.classes))
    there = np.flatnonzero(sizes).tolist()
    if len(subject.classes) > MOST_CLASSES or len(there) < 2:
        return None
    names = different([subject.classes[k] for k in there])
    found = {name: ranking(rows.values[:, k], rows.codes == k) for name, k in zip(names, there, strict=True)}
    drawn = []
    for name, ranked in found.items():
        fallout, recall = (np.append(0.0, one / one[-1]) for one in (ranked.false, ranked.true))
        some = evenly(fallout, recall)
        drawn.append(Line(name, fallout[some], recall[some]))
    body = [
        (name, f"{one.positives:,}", f"{one.area:.4f}", f"{one.average_precision:.4f}") for name, one in found.items()
    ]
    table = Table("Each class against the rest", ("class", "rows", "area", "average precision"), body)
    words = (
        "Each curve ranks all rows by the decision value of one class: the closer to the upper left corner, the better."
    )
    areas = ", ".join(f"{name} {one.area:.4f}" for name, one in found.items())
    alternative = f"True positive rate over false positive rate of each class against the rest. Areas: {areas}."
    figure = Figure("roc", "ROC curve of each class against the rest", alternative, several_curves(drawn))
    return Section("ranking", "Which classes are told apart best?", [Text(words), figure, table])
