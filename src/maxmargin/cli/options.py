"""Arguments and options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.parameters import PARAMETERS

DataFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="LIBSVM text (also .gz .bz2 .xz .zst), CSV, Parquet, Arrow or .npy.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `maxmargin train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end instead of words.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Labels = Annotated[Path | None, typer.Option(help="A .npy file with the labels of FILE.npy.")]


def option(parameter: str, *flags: str, **more: Any) -> Any:
    """The option for a parameter of `train`, with its sentence of help."""
    return typer.Option(*flags, help=PARAMETERS[parameter].help, **more)


Penalty = Annotated[float, option("C", "-c", "--C")]
Lam = Annotated[float | None, option("lam", "--lam")]
Loss = Annotated[str, option("loss")]
Bias = Annotated[str, option("bias")]
BiasScale = Annotated[float, option("bias_scale")]
Expand = Annotated[str | None, option("expand")]
Kernel = Annotated[str | None, option("kernel", show_default="none")]
Gamma = Annotated[str, option("gamma")]
Sigma = Annotated[float | None, option("sigma")]
Degree = Annotated[int, option("degree")]
Coef0 = Annotated[float, option("coef0")]
Cache = Annotated[float | None, option("cache", show_default="a quarter of the free memory")]
Probability = Annotated[bool, option("probability", "--probability")]
Approx = Annotated[str | None, option("approx")]
Components = Annotated[int, option("components")]
Landmarks = Annotated[str, option("landmarks")]
Solver = Annotated[str, option("solver")]
SolverOptions = Annotated[list[str] | None, option("options")]
Tol = Annotated[float, option("tol")]
TimeLimit = Annotated[float | None, option("max_seconds")]
MaxEpochs = Annotated[float | None, option("max_epochs")]
Seed = Annotated[int, option("seed")]
Threads = Annotated[int | None, option("threads", "--threads", show_default="all cores")]
Checkpoint = Annotated[Path | None, option("checkpoint")]
Resume = Annotated[bool, option("resume", "--resume")]
Force = Annotated[bool, option("force", "--force")]
Memory = Annotated[str | None, option("memory", show_default="half of the free memory")]
Label = Annotated[str | None, option("label", show_default="label, y, target or class")]
ZeroBased = Annotated[bool, option("zero_based", "--zero-based")]
OnBadLine = Annotated[str, option("on_bad_line")]


def number(text: str) -> float | str:
    """A number, if the text is one."""
    try:
        return float(text)
    except ValueError:
        return text


def parsed(options: list[str], where: str = "--option") -> dict[str, Any]:
    """NAME=VALUE pairs; a value that reads as a number or as true or false is one."""
    from maxmargin.errors import ParameterError

    found: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise ParameterError(f"{where} {option}: write NAME=VALUE, such as batch=32")
        try:
            found[name] = json.loads(value.lower() if value in ("True", "False") else value)
        except json.JSONDecodeError:
            found[name] = value
    return found
