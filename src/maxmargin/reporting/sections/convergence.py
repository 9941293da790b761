"""The course of the training: objective, lower bound and gap over seconds and epochs."""

from __future__ import annotations

from collections.abc import Sequence

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.facts.convergence import Curve
from maxmargin.reporting.facts.ranking import thinned
from maxmargin.reporting.figures.lines import Line, lines
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number

MOST_PROBLEMS = 8
OBJECTIVE, BOUND = "objective (primal)", "limit (dual)"
ROWS = 12


def convergence_section(subject: Subject) -> Section | None:
    """Return the pictures of convergence; None if nothing was recorded."""
    found = subject.curves
    if not found:
        return None
    title, parts = "How did the training converge?", list[Part]()
    if len(found) > MOST_PROBLEMS:
        found = sorted(found, key=lambda one: -float(one.gap[-1]))[:MOST_PROBLEMS]
        parts.append(
            Text(f"Of {len(subject.curves)} two-class problems, the {MOST_PROBLEMS} with the largest gaps.", "note")
        )
    if max(len(one.seconds) for one in found) < 2:
        last = found[0]
        words = f"The training took {number(float(last.seconds[-1]))} seconds and was certified once, at its end."
        return Section("convergence", title, [*parts, Text(f"{words} There is no curve to draw.")])
    return Section("convergence", title, [*parts, *pictures(found)])


def pictures(found: Sequence[Curve]) -> list[Part]:
    """Return four pictures: objective and gap, over seconds and over epochs."""
    last = max(found, key=lambda one: float(one.gap[-1]))
    told = (
        f"The gap fell to {number(float(last.gap[-1]))} in {number(float(last.seconds[-1]))} seconds and "
        f"{number(float(last.epochs[-1]))} epochs."
    )
    parts: list[Part] = [Text(f"{told} The objective falls and the limit rises until they meet.")]
    for across in ("seconds", "epochs"):
        parts.append(objective_figure(found, across, told))
        parts.append(gap_figure(found, across, told))
    return parts


def objective_figure(found: Sequence[Curve], across: str, told: str) -> Figure:
    """Return objective and lower bound."""
    drawn = [
        line
        for one in found
        for line in (
            Line(OBJECTIVE, getattr(one, across), one.primal, part_of(one, found)),
            Line(BOUND, getattr(one, across), one.dual, part_of(one, found)),
        )
    ]
    return Figure(
        f"objective-{across}",
        f"Objective and limit over {across}",
        f"Lines of the objective and of the limit that no model can beat, over {across}. {told}",
        lines(drawn, across, "objective"),
        table_of(found[0], across),
        zooms=True,
    )


def gap_figure(found: Sequence[Curve], across: str, told: str) -> Figure:
    """Return the relative gap on a logarithmic axis."""
    several = len(found) > 1
    drawn = [Line(one.name if several else "relative gap", getattr(one, across), one.gap) for one in found]
    return Figure(
        f"gap-{across}",
        f"Relative gap over {across}",
        f"The relative duality gap on a logarithmic axis, over {across}. {told}",
        lines(drawn, across, "relative gap", logarithmic=True),
        zooms=True,
    )


def part_of(one: Curve, found: Sequence[Curve]) -> str:
    """Return the name of the problem, if there are several."""
    return one.name if len(found) > 1 else ""


def table_of(one: Curve, across: str) -> Table:
    """Return some points of a curve."""
    places = thinned(len(one.seconds), ROWS).tolist()
    columns = (getattr(one, across), one.primal, one.dual, one.gap)
    rows = [[number(float(values[k]), 6) for values in columns] for k in places]
    name = f", {one.name}" if one.name else ""
    return Table(f"Some points of the curves{name}", (across, "objective", "limit", "relative gap"), rows)
