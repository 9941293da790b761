"""How many rows novelty detection takes for outliers, and how clearly."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.classes import confusion
from maxmargin.reporting.facts.histograms import histogram
from maxmargin.reporting.facts.ranking import thinned
from maxmargin.reporting.figures.distributions import histogram_figure, squares
from maxmargin.reporting.sections.classification import matrix_table
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, percent

NAMES = ("outlier", "usual")


def novelty_sections(subject: Subject, evidence: Evidence) -> list[Section]:
    """Return the section about outliers."""
    outside = evidence.predicted < 0
    nu = subject.training.get("nu")
    asked = f" At most ν = {percent(nu)} of the training rows may be outliers." if isinstance(nu, float) else ""
    told = f"{np.count_nonzero(outside):,} of {evidence.n:,} rows ({percent(float(np.mean(outside)))}) are outliers."
    found = histogram(evidence.values, (~outside).astype(np.int64), 2, (0.0,))
    spec = histogram_figure(
        found, NAMES, "value: negative for outliers", (0.0,), ("var(--series-2)", "var(--series-1)")
    )
    worst = evidence.worst
    ranked = thinned(len(worst.numbers), len(worst.numbers)).tolist()
    rows = [(f"row {worst.numbers[k]}", number(float(-worst.keys[k]))) for k in ranked]
    parts: list[Part] = [
        Text(f"{evidence.described[0].upper()}{evidence.described[1:]}. {told}{asked}"),
        Figure("values", "Values of all rows", f"Values of all rows; outliers are below 0. {told}", spec),
        Table("The most unusual rows, counted from 0", ("row", "value"), rows),
        *labelled(evidence),
    ]
    return [Section("errors", "Which rows are unusual?", parts)]


def labelled(evidence: Evidence) -> list[Part]:
    """Return the confusion matrix if the labels are 1 for usual rows and −1 for outliers."""
    if not np.all(np.abs(evidence.targets) == 1.0):
        return []
    matrix = confusion((evidence.targets > 0).astype(np.int64), (evidence.predicted > 0).astype(np.int64), 2)
    right = float(np.trace(matrix) / matrix.sum())
    told = f"The labels agree with {percent(right)} of the answers."
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    spec = squares(matrix, NAMES, NAMES, ("label", "answer"), shares)
    return [Figure("confusion", "Labels and answers", f"Rows by label and answer. {told}", spec),
            matrix_table(list(NAMES), matrix)]  # fmt: skip
