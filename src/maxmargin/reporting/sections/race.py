"""A race of solvers: the curves of all, where each ended, and how long it took to reach each gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np

from maxmargin.racing.race import Lap, Moment, Race
from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.facts.ranking import thinned
from maxmargin.reporting.figures.lines import Line, lines
from maxmargin.reporting.versions import versions
from maxmargin.reporting.words import number, percent

POINTS = 200  # points of a curve
LIMITS = [10.0**-power for power in range(1, 11)]
Value = Callable[[Moment], float]


def race_verdict(race: Race) -> Text:
    """Return which solver was the fastest."""
    tol, count = race.facts["tol"], len(race.finishers)
    times = [(when, lap.name) for lap in race.finishers if (when := lap.reached(tol)) is not None]
    if times:
        when, name = min(times)
        words = (
            f"{name} was the first of {count} solvers to prove a relative gap of {number(tol)}, in {number(when)} s."
        )
        return Text(words, "verdict")
    best = min(race.finishers, key=lambda lap: lap.curve[-1].gap)
    gap = number(best.curve[-1].gap)
    return Text(
        f"None of {count} solvers proved a gap of {number(tol)}; {best.name} came closest, with {gap}.", "verdict"
    )


def race_sections(race: Race, command: str) -> list[Section]:
    """Return the sections of a race."""
    return [standings_section(race), curves_section(race), times_section(race), origin_section(race, command)]


def standings_section(race: Race) -> Section:
    """Return where each solver ended."""
    rows = [ended(race, lap) for lap in race.laps]
    header = ("solver", "objective", "above the best bound", "own gap", "test error", "epochs", "seconds", "status")
    refusals = [Text(f"{lap.name} refused the problem: {lap.refusal}.") for lap in race.laps if lap.refusal]
    tested = race.facts["tested"]
    words = f"{race.title}. All solvers solve the same problem, one after the other."
    words += f" The test error is that of {tested:,} rows that no solver has seen." if tested else ""
    return Section(
        "standings", "Where did each solver end?", [Text(words), Table("Standings", header, rows), *refusals]
    )


def ended(race: Race, lap: Lap) -> tuple[str, ...]:
    """Return the line of one solver."""
    if lap.outcome is None:
        return (lap.name, *["–"] * 6, "refused")
    last = lap.curve[-1]
    error = "–" if last.test_error is None else percent(last.test_error, 2)
    return (
        lap.name, number(last.objective, 6), number(race.above(last.objective), 2), number(last.gap, 2), error,
        number(lap.outcome.epochs), number(lap.outcome.seconds), lap.outcome.status.value,
    )  # fmt: skip


def curves_section(race: Race) -> Section:
    """Return the curves over seconds and over epochs."""
    parts: list[Part] = [Text("Each point is the best model so far, so no curve gets worse. Compiling is not timed.")]
    for across, place in PLACES.items():
        parts.append(picture(race, f"above-{across}", "Objective above the best bound", across, place,
                             lambda moment: race.above(moment.objective)))  # fmt: skip
        parts.append(picture(race, f"gap-{across}", "Relative duality gap", across, place, lambda moment: moment.gap))
        if race.facts["tested"]:
            parts.append(picture(race, f"error-{across}", "Test error", across, place, error_of, False))
    return Section("curves", "How did they get there?", parts)


PLACES: dict[str, Value] = {"seconds": lambda moment: moment.seconds, "epochs": lambda moment: moment.epochs}


def picture(
    race: Race, name: str, title: str, across: str, place: Value, value: Value, logarithmic: bool = True
) -> Figure:
    """Return the curves of all solvers for one quantity."""
    drawn = [line(lap, place, value) for lap in race.finishers]
    ends = ", ".join(f"{one.name} {number(float(one.height[-1]), 2)}" for one in drawn)
    told = f"{title} over {across}, a line for each solver. At the end: {ends}."
    spec = lines(drawn, across, title.lower(), logarithmic)
    return Figure(name, f"{title} over {across}", told, spec, zooms=True)


def line(lap: Lap, place: Value, value: Value) -> Line:
    """Return the curve of one solver, thinned."""
    moments = [lap.curve[k] for k in thinned(len(lap.curve), POINTS).tolist()]
    return Line(lap.name, np.array([place(one) for one in moments]), np.array([value(one) for one in moments]))


def error_of(moment: Moment) -> float:
    """Return the test error of a moment."""
    return np.nan if moment.test_error is None else moment.test_error


def times_section(race: Race) -> Section:
    """Return the seconds until each gap was reached."""
    limits = [limit for limit in LIMITS if any(lap.reached(limit) is not None for lap in race.finishers)]
    rows = [(lap.name, *(seconds(lap.reached(limit)) for limit in limits)) for lap in race.finishers]
    table = Table("Seconds until the relative gap was at most", ("solver", *(f"{limit:.0e}" for limit in limits)), rows)
    return Section(
        "times", "How long did each gap take?", [table if limits else Text("No solver reached a gap of 0.1.")]
    )


def seconds(when: float | None) -> str:
    """Return a time, a dash for never."""
    return "–" if when is None or not isfinite(when) else number(when, 3)


def origin_section(race: Race, command: str) -> Section:
    """Return what is needed to repeat the race."""
    rows: Sequence[tuple[str, str]] = [
        *([("made by", command)] if command else []),
        ("versions", ", ".join(f"{name} {one}" for name, one in versions().items())),
        *((name.replace("_", " "), number(value)) for name, value in race.facts.items()),
    ]
    return Section("provenance", "How was it made?", [Table("Command, versions and settings", ("", "value"), rows)])
