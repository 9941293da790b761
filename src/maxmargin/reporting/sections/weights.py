"""What the model looks at: the largest weights, by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.importance import Column, importance
from maxmargin.reporting.figures.weights import weights_figure
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, short

MOST = 20  # columns that are drawn
MOST_PROBLEMS = 8
ROWS = 60  # lines of the table


def weights_section(subject: Subject, evidence: Evidence | None) -> Section:
    """Return the largest weights; for a model without weights, what to do instead."""
    columns = importance(subject, None if evidence is None else evidence.spreads, MOST)
    title = "Which columns matter?"
    if not columns:
        return Section("weights", title, [Text(without_weights(subject))])
    problems = problems_of(subject)[:MOST_PROBLEMS]
    columns = [shortened(column, len(problems)) for column in columns]
    parts: list[Part] = [Text(weights_words(subject, evidence, problems))]
    most = columns[0]
    told = f"The column of the largest effect is “{short(most.name)}”, with {number(most.effect)}."
    spec = weights_figure(columns, problems, "effect on the decision value")
    parts.append(Figure("weights", f"The {len(columns)} columns of the largest effects", told, spec))
    parts.append(weights_table(columns, problems))
    if len(subject.groups) > len(columns):
        parts.append(
            Text(f"{len(subject.groups) - len(columns):,} more columns have smaller effects, or none.", "note")
        )
    return Section("weights", title, parts)


def problems_of(subject: Subject) -> list[str]:
    """Return the names of the problems: the classes if there are more than two, else one name for the only problem."""
    return [short(name) for name in subject.classes] if len(subject.classes) > 2 else [""]


def shortened(column: Column, problems: int) -> Column:
    """Return a column with the weights of the first few problems only."""
    return Column(
        column.name,
        [one._replace(effects=one.effects[:problems], weights=one.weights[:problems]) for one in column.entries],
    )


def without_weights(subject: Subject) -> str:
    """Return why there are no weights."""
    if "expand" in subject.training:
        return f"The weights belong to features computed by expand={subject.training['expand']}, not to single columns."
    if subject.kernel:
        return (
            f"A model with {subject.kernel} has no weight for each column: it compares rows with its "
            f"{len(subject.model.support):,} support vectors. The explanations of single rows below show which columns "
            "matter for them."
        )
    return "All weights are 0: the model says the same for every row."


def weights_words(subject: Subject, evidence: Evidence | None, problems: Sequence[str]) -> str:
    """Return how to read the weights."""
    target = {"regress": "the prediction", "novelty": "the value"}.get(subject.task, "the decision value")
    towards = f"; positive effects speak for “{short(subject.classes[1])}”" if subject.is_binary else ""
    if subject.encoder is not None:
        step = "the effect of a number is that of one step of its scale (about a standard deviation)"
    elif evidence is not None:
        step = "an effect is the weight times the standard deviation of the column in these rows"
    else:
        step = "the data are not at hand, so an effect is the weight itself: compare only columns of similar scale"
    return (
        f"Each point is a feature: {step}. It is what {target} gains{towards}. The table has the weights in the units "
        "of the data."
    )


def weights_table(columns: Sequence[Column], problems: Sequence[str]) -> Table:
    """Return effects and weights in original units, one line for each feature."""
    several = len(problems) > 1
    rows = [
        (
            short(column.name),
            short(entry.name),
            *((problem,) if several else ()),
            number(float(effect)),
            number(float(weight)),
            short(entry.unit, 60),
        )
        for column in columns
        for entry in column.entries
        for problem, effect, weight in zip(problems, entry.effects, entry.weights, strict=True)
        if np.isfinite(weight)
    ]
    header = ("column", "feature", *(("class",) if several else ()), "effect", "weight in original units", "of")
    return Table("Weights by column", header, rows[:ROWS])
