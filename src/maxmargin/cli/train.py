"""maxmargin train FILE: a model with its certificate."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import DataFile, Json, Quiet, Threads, ZeroBased

STOPPED_EARLY = 3
NOT_PART_OF_A_NAME = {".gz", ".bz2", ".xz", ".zst", ".svm", ".libsvm", ".svmlight", ".txt"}


def train(
    file: DataFile,
    C: Annotated[float, typer.Option("-c", "--C", help="The weight of the losses.")] = 1.0,
    lam: Annotated[float | None, typer.Option("--lam", help="The same as λ: C = 1/(n λ).")] = None,
    loss: Annotated[str, typer.Option(help="hinge, squared_hinge or logistic.")] = "hinge",
    bias: Annotated[str, typer.Option(help="free, regularised or none.")] = "free",
    bias_scale: Annotated[float, typer.Option(help="The size of the constant feature of a regularised bias.")] = 1.0,
    solver: Annotated[str, typer.Option(help="auto, or one of the solvers by name.")] = "auto",
    option: Annotated[list[str] | None, typer.Option(help="The solver's own, as NAME=VALUE; may be repeated.")] = None,
    tol: Annotated[float, typer.Option(help="The relative duality gap to reach.")] = 1e-4,
    time_limit: Annotated[float | None, typer.Option(help="Stop after this many seconds with the best so far.")] = None,
    max_epochs: Annotated[float | None, typer.Option(help="Stop after this many passes with the best so far.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where to save.", show_default="FILE.safetensors")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A file that keeps the run, for --resume.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if it exists.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model, bit for bit.")] = 0,
    threads: Threads = None,
    zero_based: ZeroBased = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Train a linear SVM on FILE and save it with its certificate.

    Ctrl-C stops early and saves the best model so far. Exit code: 0 converged, 1 error, 3 stopped early.
    """
    from maxmargin import training
    from maxmargin.cli.progress import progress
    from maxmargin.cli.summary import as_json, as_words
    from maxmargin.files import check_apart, check_writable
    from maxmargin.outcome import Status

    target = model or default_model(file)
    check_writable(target)
    check_apart(file, target, checkpoint)
    with progress(tol, quiet) as show:
        result = training.train(
            file, C=C, lam=lam, loss=loss, bias=bias, bias_scale=bias_scale, solver=solver,
            options=parsed(option or []), tol=tol,
            max_seconds=time_limit, max_epochs=max_epochs, checkpoint=checkpoint, resume=resume, seed=seed,
            threads=threads, zero_based=zero_based, callback=show,
        )  # fmt: skip
    result.model.save(target)
    print(jsonlib.dumps(as_json(result, target)) if json else f"{as_words(result)}\nsaved {target}")
    return 0 if result.status is Status.CONVERGED else STOPPED_EARLY


def parsed(options: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value that reads as a number or as true or false is one."""
    from maxmargin.errors import ParameterError

    found: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise ParameterError(f"--option {option}: write NAME=VALUE, such as batch=32")
        try:
            found[name] = jsonlib.loads(value)
        except jsonlib.JSONDecodeError:
            found[name] = value
    return found


def default_model(file: Path) -> Path:
    """The data file's name, without its endings, in the current folder."""
    name = Path(file.name)
    while name.suffix in NOT_PART_OF_A_NAME:
        name = name.with_suffix("")
    return Path(f"{name}.safetensors")
