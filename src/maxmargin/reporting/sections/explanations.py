"""Why the worst errors happened: what each column contributed to the decision values of these rows."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.content import Part, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.explanations import Contribution, explanations
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, short


def explanation_section(subject: Subject, evidence: Evidence) -> Section | None:
    """Return the explanations of the worst rows; None if there is nothing to explain."""
    worst = evidence.worst
    wrong = [k for k, row in enumerate(worst.numbers.tolist()) if is_wrong(subject, evidence, row)]
    if worst.rows is None or not wrong:
        return None
    sides = [max(int(evidence.predicted[row]), 0) if len(subject.classes) > 2 else 0 for row in worst.numbers.tolist()]
    found = explanations(subject, worst.rows, evidence.means, sides)
    if not found:
        return None
    parts: list[Part] = [Text(words_of(subject))]
    parts += [one_row(subject, evidence, int(worst.numbers[k]), found[k]) for k in wrong]
    return Section("explanations", "Why were the worst rows wrong?" if subject.task != "novelty" else
                   "Why are these rows unusual?", parts)  # fmt: skip


def is_wrong(subject: Subject, evidence: Evidence, row: int) -> bool:
    """Whether the prediction of a row is wrong."""
    if subject.task == "classify":
        return bool(0 <= evidence.codes[row] != evidence.predicted[row])
    return subject.task == "regress" or bool(evidence.predicted[row] < 0)


def words_of(subject: Subject) -> str:
    """Return how to read the contributions."""
    which = " of the predicted class" if len(subject.classes) > 2 else ""
    return (
        f"The contribution of a column is what the {subject.value_name}{which} would lose if the column had its mean "
        "instead. Rows are counted from 0. Look here for wrong labels, wrong units and missing columns."
    )


def one_row(subject: Subject, evidence: Evidence, row: int, found: list[Contribution]) -> Table:
    """Return the largest contributions of one row."""
    rows = [(short(one.column), short(one.value), f"{one.amount:+.4g}") for one in found]
    return Table(caption(subject, evidence, row), ("column", "value in this row", "contribution"), rows)


def caption(subject: Subject, evidence: Evidence, row: int) -> str:
    """Return the heading of a row."""
    if subject.task == "regress":
        target, value = float(evidence.targets[row]), float(evidence.values[row])
        return f"Row {row}: target {number(target, 6)}, prediction {number(value, 6)}"
    if subject.task == "novelty":
        return f"Row {row}: value {number(float(evidence.values[row]))}"
    true, answer = (short(subject.classes[int(one[row])]) for one in (evidence.codes, evidence.predicted))
    value = float(evidence.values[row] if evidence.values.ndim == 1 else np.max(evidence.values[row]))
    return f"Row {row}: “{true}”, taken for “{answer}” with a decision value of {number(value)}"
