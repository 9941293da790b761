"""What the model looks at: the largest weights, by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.importance import Column, importance
from maxmargin.reporting.facts.sensitivity import sensitivity
from maxmargin.reporting.figures.weights import bars, different, weights_figure
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, short

MOST = 20  # columns that are drawn
MOST_PROBLEMS = 8
ROWS = 45  # lines of the table


def weights_section(subject: Subject, evidence: Evidence | None) -> Section:
    """Return the largest weights; for a model without weights, what to do instead."""
    columns = importance(subject, None if evidence is None else evidence.spreads, MOST)
    title = "Which columns matter?"
    if not columns:
        return Section("weights", title, [Text(without_weights(subject)), *by_sensitivity(subject, evidence)])
    problems = problems_of(subject)[:MOST_PROBLEMS]
    columns = [shortened(column, len(problems)) for column in columns]
    parts: list[Part] = [Text(weights_words(subject, evidence, problems))]
    most = columns[0]
    told = f"The column of the largest effect is “{short(most.name)}”, with {number(most.effect)}."
    spec = weights_figure(columns, problems, f"effect on the {subject.value_name}")
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
            f"{len(subject.model.support):,} support vectors."
        )
    return "All weights are 0: the model says the same for every row."


def by_sensitivity(subject: Subject, evidence: Evidence | None) -> list[Part]:
    """Return how much each column matters to a model without weights, if there are rows to try it on."""
    if evidence is None or evidence.sample.rows is None or subject.weights is not None:
        return []
    found = sensitivity(subject, evidence.sample.rows, evidence.means)
    if found is None:
        return []
    order = np.argsort(-found, kind="stable")[:MOST]
    names, lengths = different([subject.groups[k].name for k in order.tolist()]), found[order].tolist()
    across = f"mean change of the {subject.value_name}"
    told = f"The {across} if a column had its mean in all rows; the largest is that of “{names[0]}”."
    table = Table(
        "Mean change by column",
        ("column", "mean change"),
        [(a, number(b)) for a, b in zip(names, lengths, strict=True)],
    )
    spec = bars(names, lengths, across)
    return [Text(told), Figure("weights", "What changes without each column", told, spec, table)]


def weights_words(subject: Subject, evidence: Evidence | None, problems: Sequence[str]) -> str:
    """Return how to read the weights."""
    towards = f"; positive effects speak for “{short(subject.classes[1])}”" if subject.is_binary else ""
    if subject.encoder is not None:
        step = "the effect of a number is that of one step of its scale (about a standard deviation)"
    elif evidence is not None:
        step = "an effect is the weight times the standard deviation of the column in these rows"
    else:
        step = "the data are not at hand, so an effect is the weight itself: compare only columns of similar scale"
    return (
        f"Each point is a feature: {step}. It is what the {subject.value_name} gains{towards}. The table has the "
        "weights in the units of the data."
    )


def weights_table(columns: Sequence[Column], problems: Sequence[str]) -> Table:
    """Return effects and weights in original units, one line for each feature."""
    several, single = (
        len(problems) > 1,
        all(entry.name == column.name for column in columns for entry in column.entries),
    )
    rows = [
        (
            short(column.name),
            *(() if single else (short(entry.name),)),
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
    header = (
        "column",
        *(() if single else ("feature",)),
        *(("class",) if several else ()),
        "effect",
        "weight in original units",
        "applies",
    )
    return Table("Weights by column", header, rows[:ROWS])
