"""Arguments and options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

DataFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="LIBSVM text (also .gz .bz2 .xz .zst), CSV, Parquet, Arrow or .npy.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `maxmargin train`.")]
Penalty = Annotated[float, typer.Option("-c", "--C", help="The weight of the losses.")]
Lam = Annotated[float | None, typer.Option("--lam", help="The same as λ: C = 1/(n λ).")]
Loss = Annotated[str, typer.Option(help="hinge, squared_hinge or logistic.")]
Bias = Annotated[str, typer.Option(help="free, regularised or none.")]
BiasScale = Annotated[float, typer.Option(help="The size of the constant feature of a regularised bias.")]
Tol = Annotated[float, typer.Option(help="The relative duality gap to reach.")]
MaxEpochs = Annotated[float | None, typer.Option(help="Stop after this many passes with the best so far.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same model, bit for bit.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end instead of words.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Force = Annotated[bool, typer.Option("--force", help="Replace any file, whatever it holds.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads to use.", show_default="all cores")]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="Features are counted from 0 in the file, not from 1.")]


Kernel = Annotated[str | None, typer.Option(help="linear, polynomial, gaussian or sigmoid.", show_default="none")]
Gamma = Annotated[str, typer.Option(help="γ of the kernel: a number, scale for 1/(d var X) or auto for 1/d.")]
Sigma = Annotated[float | None, typer.Option(help="The width of a Gaussian: γ = 1/(2σ²).")]
Degree = Annotated[int, typer.Option(help="p of (γ⟨x, z⟩ + r)^p.")]
Coef0 = Annotated[float, typer.Option(help="r of a polynomial or a sigmoid.")]
Cache = Annotated[
    float | None, typer.Option(help="Megabytes of the kernel to hold.", show_default="a quarter of the free memory")
]
Probability = Annotated[
    bool, typer.Option("--probability", help="A kernel model with probabilities: six trainings instead of one.")
]
Approx = Annotated[
    str | None, typer.Option(help="nystrom or fourier: a linear machine on features that stand for the kernel.")
]
Components = Annotated[int, typer.Option(help="How many such features.")]
Memory = Annotated[
    str | None, typer.Option(help="Of a training from files, such as 500MB.", show_default="half of the free memory")
]
Label = Annotated[
    str | None, typer.Option(help="The column of labels in a table.", show_default="label, y, target or class")
]
Labels = Annotated[Path | None, typer.Option(help="A .npy file with the labels of FILE.npy.")]
OnBadLine = Annotated[str, typer.Option(help="refuse the file for a line that cannot be read, or skip such lines.")]
Expand = Annotated[
    str | None, typer.Option(help="Features to compute: poly2, hash:2**20, fourier:2000:0.1; of sequences kmers:8.")
]
Landmarks = Annotated[str, typer.Option(help="Of Nyström features: kmeans, leverage or uniform.")]


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
