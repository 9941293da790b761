"""maxmargin train FILE: train a model and save it with its certificate."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.config import Config
from maxmargin.cli.options import DataFile, Json, Labels, Quiet, named_once, takes, values_of
from maxmargin.settings.parameters import PARAMETERS

STOPPED_EARLY = 3


@takes(*(name for name, parameter in PARAMETERS.items() if parameter.option is not None))
def train(
    file: DataFile,
    out: Annotated[Path | None, typer.Argument(metavar="MODEL", help="Where to save, as --model.")] = None,
    labels: Labels = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where to save.", show_default="FILE.safetensors")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("--cross-validate", "-v", metavar="K", help="Score K folds by cross-validation; save no model."),
    ] = None,
    quiet: Quiet = False,
    config: Config = None,
    json: Json = False,
    **given: Any,
) -> int:
    """Train an SVM on FILE, linear or with a kernel, and save it with its certificate.

    Ctrl-C stops early and saves the best model so far. An existing file is replaced only if it is a model, and not
    a better one of the same problem; a checkpoint replaces only a checkpoint of the same run. Exit code: 0
    converged (or the solver's own rule ended it), 1 error, 3 stopped early or no solution, 143 stopped by SIGTERM.
    """
    import maxmargin
    from maxmargin.cli import complain
    from maxmargin.cli.better_model import place_for
    from maxmargin.cli.command_line import command_line
    from maxmargin.cli.cross_validation import cross_validated
    from maxmargin.cli.output import printable, printable_lines
    from maxmargin.cli.progress import progress
    from maxmargin.cli.summary import as_json, as_words
    from maxmargin.data.open_source import files_of
    from maxmargin.reporting.origin import origin_of
    from maxmargin.status import Status
    from maxmargin.system.atomic_files import check_apart, check_writable
    from maxmargin.system.overwriting import check_replaces_model

    if folds is not None:
        cross_validated(file, labels, folds, json, given)
        return 0
    target = named_once(out, model, "--model") or default_model(file)
    force, checkpoint = given.get("force", False), given.get("checkpoint")
    check_writable(target)
    check_apart(*files_of(file), labels, given.get("weights"), target, checkpoint)
    check_replaces_model(target, force)
    given["force"] = force and checkpoint is not None
    with progress(given.get("tol", PARAMETERS["tol"].default), quiet) as show:
        result = maxmargin.train(file, labels, callback=show, **values_of(given))
    result.model.training.update(origin_of(result, files_of(file), command_line()))
    place = target if force else place_for(result.model, target)
    result.model.save(place, force)
    if place != target:
        complain(f"{target}: holds a better model, which stays; this one is saved as {place} (--force replaces it)")
    target = place
    print(
        jsonlib.dumps(as_json(result, target))
        if json
        else printable_lines(as_words(result)) + f"\nsaved {printable(target)}"
    )
    return 0 if result.status in (Status.CONVERGED, Status.SEPARATED, Status.SETTLED) else STOPPED_EARLY


def default_model(file: Path) -> Path:
    """Return the data file's name without its endings and without wildcards, in the current folder."""
    from maxmargin.data.open_source import endings

    name = Path("".join(letter for letter in file.name if letter not in "*?[]") or "model")
    while name.suffix in endings():
        name = name.with_suffix("")
    return Path(f"{name}.safetensors")
