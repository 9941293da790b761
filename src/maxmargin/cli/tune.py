"""maxmargin tune FILE: choose C, and γ of a kernel, by cross-validation, and save the model trained on all rows."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.config import Config
from maxmargin.cli.options import DataFile, Json, Labels, Quiet, takes, values_of
from maxmargin.cli.train import STOPPED_EARLY, default_model
from maxmargin.settings.parameters import PARAMETERS

if TYPE_CHECKING:
    from maxmargin.tuning.tuning import Tuning

# Parameters of `train` that `tune` sets itself, and those of clusters and checkpoints.
NOT_TAKEN = ("C", "lam", "nu", "max_seconds", "checkpoint", "resume", "client", "timeout")


@takes(*(name for name, one in PARAMETERS.items() if one.option is not None and name not in NOT_TAKEN))
def tune(
    file: DataFile,
    labels: Labels = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where to save.", show_default="FILE.safetensors")
    ] = None,
    Cs: Annotated[
        str | None,
        typer.Option(
            "--Cs",
            metavar="A,B,...",
            help="The values of C, or FROM:TO:COUNT for COUNT values, spaced by equal factors.",
            show_default="0.01:100:9, with a kernel 0.1:1000:5",
        ),
    ] = None,
    gammas: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="The values of γ, in the same way.", show_default="five around 1/(d var X)"
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="The number of folds.")] = 5,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column: rows with the same value are in the same fold.")
    ] = None,
    order: Annotated[
        str, typer.Option(help="random, or time: each fold is later than the rows trained on.")
    ] = "random",
    scoring: Annotated[
        str | None, typer.Option(help="A scorer of scikit-learn, by its name.", show_default="accuracy or r2")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="best, or one_standard_error: the simplest that is within it of the best.")
    ] = "one_standard_error",
    every_fold: Annotated[
        bool, typer.Option("--every-fold", help="Score every setting on all folds, also those far behind the best.")
    ] = False,
    max_seconds: Annotated[
        float | None,
        typer.Option("--time-limit", "--max-seconds", help="Stop after this many seconds with the best so far."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report on the search and the model: HTML.")] = None,
    quiet: Quiet = False,
    config: Config = None,
    json: Json = False,
    **given: Any,
) -> int:
    """Choose C, and γ of a kernel, by cross-validation on FILE; then train with them on all rows and save the model.

    Ctrl-C ends the search and trains with the best so far. The model keeps the whole table: `inspect` and `report` show
    it. Exit code: 0 all was tried and training converged, 1 error, 3 the search or the training ended early.
    """
    import maxmargin
    from maxmargin.cli.command_line import command_line
    from maxmargin.cli.output import printable, printable_lines
    from maxmargin.cli.summary import as_json, as_words, finite
    from maxmargin.cli.tuning_table import chosen_line, live_table, table_lines
    from maxmargin.data.open_source import files_of
    from maxmargin.errors import ParameterError
    from maxmargin.reporting.origin import origin_of
    from maxmargin.reporting.report import check_page
    from maxmargin.status import Status
    from maxmargin.system.atomic_files import check_apart, check_writable
    from maxmargin.system.overwriting import check_replaces_model

    target, force = model or default_model(file), given.pop("force", False)
    check_writable(target)
    check_apart(*files_of(file), labels, given.get("weights"), target)
    check_replaces_model(target, force)
    if report:
        check_page(report, force)
        check_apart(*files_of(file), target, report)
    with live_table(quiet) as show:
        found = maxmargin.tune(
            file, labels, Cs=values_in(Cs, "--Cs"), gammas=values_in(gammas, "--gammas"), folds=folds, groups=groups,
            order=order, scoring=scoring, rule=rule, every_fold=every_fold, max_seconds=max_seconds, callback=show,
            **values_of(given),
        )  # fmt: skip
    if found.result is None:
        raise ParameterError("the search ended before any fit: give it more time")
    found.result.model.training.update(origin_of(found.result, files_of(file), command_line()))
    found.result.model.save(target, force)
    early = found.ended or found.result.status not in (Status.CONVERGED, Status.SEPARATED, Status.SETTLED)
    if json:
        print(jsonlib.dumps(finite({"tuning": found.saved(), **as_json(found.result, target)})))
    else:
        lines = [*table_lines(found), chosen_line(found), *noted(found), printable_lines(as_words(found.result))]
        print("\n".join([*lines, f"saved {printable(target)}"]))
    if report:
        maxmargin.report(found.result, path=report, command=command_line(), force=force)
        if not json:
            print(f"saved {printable(report)}")
    return STOPPED_EARLY if early else 0


def noted(found: Tuning) -> list[str]:
    """Return the note on the folds and the advice, if there are any."""
    return [line for line in (found.note, found.advice) if line]


def values_in(text: str | None, option: str) -> list[float] | None:
    """Return the numbers in a list with commas, or in FROM:TO:COUNT, spaced evenly on a logarithmic scale."""
    import numpy as np

    from maxmargin.errors import ParameterError

    if text is None:
        return None
    try:
        if ":" not in text:
            return [float(value) for value in text.split(",")]
        first, last, count = text.split(":")
        return [float(value) for value in np.geomspace(float(first), float(last), int(count))]
    except ValueError:
        raise ParameterError(f"{option} {text}: write numbers with commas, or FROM:TO:COUNT, 0.01:100:9 say") from None
