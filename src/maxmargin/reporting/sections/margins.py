"""How clear the decisions are: the margins of all rows."""

from __future__ import annotations

import numpy as np

from maxmargin.models.kernel import KernelModel
from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.histograms import histogram
from maxmargin.reporting.facts.support import is_support
from maxmargin.reporting.figures.distributions import histogram_figure
from maxmargin.reporting.sections.judged import Judged
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import counted, percent, short

KINDS = ("correct, outside the margin", "correct, inside the margin", "on the wrong side")
MOST_CLASSES = 20  # classes whose margins are counted in a table
ON_THE_MARGIN = 0.99  # rows at 1 but for the accuracy of the training do not violate the margin
PALETTE = ("var(--series-1)", "var(--series-5)", "var(--series-2)")


def margin_section(subject: Subject, evidence: Evidence, rows: Judged) -> Section:
    """Return the margins of all rows."""
    parts: list[Part] = []
    margin = rows.margins
    kinds = np.where(margin >= ON_THE_MARGIN, 0, np.where(rows.predicted == rows.codes, 1, 2))
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
    spec = histogram_figure(found, KINDS, title_of(subject), (0.0, 1.0), PALETTE)
    parts.append(Figure("margins", "Margins of all rows", f"Margins of {len(margin):,} rows: {told}.", spec))
    parts.append(kinds_table(subject, evidence, rows, kinds, counts))
    if subject.decides_by_pairs and len(subject.classes) <= MOST_CLASSES:
        parts.append(classes_table(subject, rows, kinds))
    if found.outside:
        parts.append(Text(f"The outermost bars also count {counted(found.outside, 'row')} beyond the ends.", "note"))
    return Section("margins", "How clear are the decisions?", parts)


def title_of(subject: Subject) -> str:
    """Return the title of the axis of margins."""
    if subject.decides_by_pairs:
        return "smallest margin y f(x) of its class against another"
    return "margin y f(x)" if subject.is_binary else "value of the true class minus the largest other one"


def margin_words(subject: Subject, counts: list[int]) -> str:
    """Return what margins mean."""
    if subject.is_binary:
        return (
            "The decision value says how far a row is on one side: at 0 is the boundary, and training pushes rows "
            f"beyond −1 and 1. {violators(counts)}"
        )
    if subject.decides_by_pairs:
        return (
            "The model has a function for each pair of classes, and the class with the most votes wins. The margin of "
            "a row is the smallest one of its class against each other class: at 0 is the boundary to another class, "
            f"and training pushes rows beyond 1. {violators(counts)}"
        )
    return (
        "The margin of a row is the decision value of its true class minus the largest of the other classes. It is "
        f"negative for a wrong answer: here in {counted(counts[2], 'row')}."
    )


def violators(counts: list[int]) -> str:
    """Return how many rows violate the margin."""
    found = counts[1] + counts[2]
    return (
        f"{counted(found, 'row')} ({percent(found / max(sum(counts), 1))}) violate the margin: {counts[1]:,} that are "
        f"predicted correctly, and {counts[2]:,} that are not."
    )


def classes_table(subject: Subject, rows: Judged, kinds: np.ndarray) -> Table:
    """Return the rows of each kind and the support vectors of each class."""
    counts = np.bincount(rows.codes * len(KINDS) + kinds, minlength=len(subject.classes) * len(KINDS))
    support: list[int] = subject.model.n_support.tolist() if isinstance(subject.model, KernelModel) else []
    body = [
        (short(name), *(f"{count:,}" for count in own), f"{vectors:,}")
        for name, own, vectors in zip(subject.classes, counts.reshape(-1, len(KINDS)).tolist(), support, strict=True)
    ]
    caption = "Rows by class: correct outside and inside the margin, wrong; and the support vectors of the training"
    return Table(caption, ("class", "outside", "inside", "wrong", "support"), body)


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
