"""Where the model comes from: commands, versions, settings, digests of the data."""

from __future__ import annotations

from typing import Any

from maxmargin.reporting.content import Part, Section, Table
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.versions import versions
from maxmargin.reporting.words import number, short

ELSEWHERE = {"history", "tuning", "encoder", "columns", "data", "versions", "command", "tie_order"}


def provenance_section(subject: Subject, command: str) -> Section:
    """Return all that is needed to repeat the training and the report."""
    training = subject.training
    rows: list[tuple[str, str]] = []
    if isinstance(training.get("command"), str):
        rows.append(("trained by", training["command"]))
    if command:
        rows.append(("reported by", command))
    for one in training["data"] if isinstance(training.get("data"), list) else []:
        if isinstance(one, dict):
            rows.append(("trained on", f"{one.get('file')}, {one.get('digest')}"))
    made = training.get("versions")
    if isinstance(made, dict):
        rows.append(("versions of the training", ", ".join(f"{name} {one}" for name, one in made.items())))
    rows.append(("versions of the report", ", ".join(f"{name} {one}" for name, one in versions().items())))
    parts: list[Part] = [
        Table("Commands, data, versions", ("", ""), rows),
        Table("Settings and sizes of the training", ("", "value"), settings_of(training)),
    ]
    if subject.encoder is not None:
        columns = [(short(one.name), one.kind, one.described) for one in subject.encoder.columns[:200]]
        parts.append(Table("What became of each column", ("column", "kind", "becomes"), columns))
    return Section("provenance", "How was it made?", parts)


def settings_of(training: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the settings of the training."""
    return [(name, short(number(value, 6), 300)) for name, value in training.items() if name not in ELSEWHERE]
