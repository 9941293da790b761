"""maxmargin race FILE --solvers a,b,c: compare solvers on one problem, in tables and as a plot."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.config import Config
from maxmargin.cli.options import DataFile, Json, Quiet, parsed, takes, values_of
from maxmargin.settings.parameters import IN_A_RACE, PARAMETERS

if TYPE_CHECKING:
    from maxmargin.racing.race import Lap, Race

STOPPED_EARLY = 3
NOTHING = "—"
COLUMNS = 7  # largest number of gaps in the second table
HEADINGS = ["solver", "objective", "above", "gap", "error", "epochs", "seconds", "status"]
DROPPED_FIRST = ["epochs", "objective", "above", "status", "error", "seconds"]  # on a narrow terminal


@takes(*(name for name in IN_A_RACE if PARAMETERS[name].option), "force", tol=1e-6, max_seconds=10.0)
def race(
    file: DataFile,
    solvers: Annotated[
        str, typer.Option(metavar="A,B,...", help="Names, with options as NAME:OPTION=VALUE, such as pegasos:batch=32.")
    ],
    test: Annotated[Path | None, typer.Option(help="A file to test the models on.")] = None,
    holdout: Annotated[float, typer.Option(help="Without --test, the part of the rows that is held out; or 0.")] = 0.2,
    positive: Annotated[str | None, typer.Option(help="The class that is against the rest, of several.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this file: .png, .svg, .pdf ...")] = None,
    report: Annotated[Path | None, typer.Option(help="Write curves and tables into this HTML file.")] = None,
    quiet: Quiet = False,
    config: Config = None,
    json: Json = False,
    **given: Any,
) -> int:
    """Run solvers one after another on FILE, and compare objective, gap and test error.

    Ctrl-C ends the race and shows the results so far. Exit code: 0 race completed, 1 error, 3 ended by Ctrl-C.
    """
    import json as jsonlib

    import maxmargin
    from maxmargin.cli.command_line import command_line
    from maxmargin.cli.output import printable
    from maxmargin.cli.progress import progress
    from maxmargin.cli.summary import finite
    from maxmargin.racing.plot import check_picture
    from maxmargin.reporting.report import check_page
    from maxmargin.system.atomic_files import check_apart

    force = given.pop("force")
    if report:
        check_page(report, force)
        check_apart(file, report)
        check_apart(test, report)
    if plot:
        check_apart(file, plot)
        check_apart(test, plot)
        check_picture(plot, force)
    with progress(given["tol"], quiet) as show:
        found = maxmargin.race(
            file, solvers=[entrant(one) for one in solvers.split(",")], test=test, holdout=holdout, positive=positive,
            callback=lambda name, record: show(replace(record, problem=name)), **values_of(given),
        )  # fmt: skip
    if json:
        print(jsonlib.dumps(finite(as_json(found, plot))))
    else:
        print_tables(found)
    if plot:
        found.draw(plot, force)
        if not json:
            print(f"drew {printable(plot)}")
    if report:
        maxmargin.report(found, path=report, command=command_line(), force=force)
        if not json:
            print(f"saved {printable(report)}")
    return STOPPED_EARLY if found.interrupted else 0


def entrant(text: str) -> tuple[str, dict[str, Any]]:
    """Parse NAME:OPTION=VALUE:... into a solver and its options."""
    name, *options = text.strip().split(":")
    return name, parsed(options, f"--solvers {name}:")


def print_tables(race: Race) -> None:
    """Print the results as tables."""
    from rich.console import Console

    from maxmargin.cli.output import printable

    console = Console(markup=False, highlight=False)
    console.print(f"{printable(race.title)}\n")
    print_table(console, HEADINGS, [standing(race, lap) for lap in race.laps], DROPPED_FIRST)
    for lap in race.laps:
        if lap.refusal:
            console.print(f"refused: {lap.refusal}")
    console.print("\ngap: at most this far above the optimum; above: the same, by the best bound of all solvers")
    if tested := race.facts["tested"]:
        console.print(f"error: on {tested:,} rows that no solver has seen")
    if limits := decades(race):
        console.print("\nseconds until the gap was at most")
        headings = [f"{limit:.0e}" for limit in limits]
        print_table(console, ["solver", *headings], [times(lap, limits) for lap in race.finishers], headings[:-1])
    if race.interrupted:
        console.print("The race was ended before all was run.")


def print_table(console: Any, headings: list[str], rows: list[list[str]], drops: list[str]) -> None:
    """Print a table in as many columns as fit, and say which do not."""
    from maxmargin.cli.fitting_table import fitting_table

    made, left_out = fitting_table(headings, rows, drops, console.width)
    console.print(made)
    if left_out:
        console.print(f"not shown for lack of room: {', '.join(left_out)}")


def standing(race: Race, lap: Lap) -> list[str]:
    """Return the final results of a solver, as text."""
    if lap.outcome is None:
        return [lap.name, *[NOTHING] * 6, "refused"]
    outcome, last = lap.outcome, lap.curve[-1]
    return [
        lap.name,
        f"{last.objective:.6g}",
        tiny(race.above(last.objective)),
        tiny(last.gap),
        NOTHING if last.test_error is None else f"{last.test_error:.2%}",
        f"{outcome.epochs:.0f}",
        f"{outcome.seconds:.2f}",
        outcome.status.value,
    ]


def times(lap: Lap, limits: list[float]) -> list[str]:
    """Return the seconds that a solver took to reach each gap, as text."""
    reached = [lap.reached(limit) for limit in limits]
    return [lap.name, *(NOTHING if when is None else f"{when:.3f}" for when in reached)]


def decades(race: Race) -> list[float]:
    """Return the powers of ten that some gap has reached, down to `tol`; every other one if there are many."""
    gaps = [moment.gap for lap in race.finishers for moment in lap.curve if moment.gap < 1.0]
    least = max(min(gaps, default=1.0), race.facts["tol"])
    found = [limit for limit in (float(f"1e-{power}") for power in range(1, 16)) if limit >= least]
    return found[:: 1 + len(found) // (COLUMNS + 1)]


def tiny(value: float) -> str:
    """Format a small number."""
    from math import isfinite

    return f"{max(value, 0.0):.1e}" if isfinite(value) else NOTHING


def as_json(race: Race, plot: Path | None) -> dict[str, Any]:
    """Return all results as one JSON object."""
    return {
        **race.facts,
        "bound": race.bound,
        "interrupted": race.interrupted,
        "laps": [lap_as_json(race, lap) for lap in race.laps],
        "plot": None if plot is None else str(plot),
    }


def lap_as_json(race: Race, lap: Lap) -> dict[str, Any]:
    """Return the result of one lap and its curves, as one list for each quantity."""
    facts = {"name": lap.name, "solver": lap.solver, "options": lap.options}
    if lap.outcome is None:
        return {**facts, "status": "REFUSED", "refusal": lap.refusal}
    outcome, last = lap.outcome, lap.curve[-1]
    curve = [asdict(moment) for moment in lap.curve]
    return {
        **facts,
        "status": outcome.status.name,
        "seconds": outcome.seconds,
        "epochs": outcome.epochs,
        "primal": outcome.certificate.primal,
        "dual": outcome.certificate.dual,
        "relative_gap": outcome.certificate.relative_gap,
        "above": race.above(outcome.certificate.primal),
        "test_error": last.test_error,
        "curve": {key: [moment[key] for moment in curve] for key in curve[0]},
    }
