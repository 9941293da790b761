"""Arguments and options of several commands. The options of `train` are made from the declared parameters."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.standard_input import saved_input
from maxmargin.settings.parameters import PARAMETERS

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        callback=saved_input,
        help="LIBSVM text (plain, .gz, .bz2, .xz, .zst), CSV, Parquet, Arrow or .npy; - is standard input.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `maxmargin train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end instead of words.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Labels = Annotated[Path | None, typer.Option(help="A .npy file with the labels of FILE.npy.")]


def option(name: str) -> Any:
    """Return the annotated type of the command-line option for a parameter of `train`."""
    parameter = PARAMETERS[name]
    kind = Path if parameter.option == "path" else parameter.option
    kind = kind if parameter.default is not None else kind | None
    panel = f"Options: {parameter.group}"
    made = typer.Option(*parameter.flags, help=parameter.help, show_default=parameter.shown, rich_help_panel=panel)
    return Annotated[kind, made]


def takes(*names: str, **defaults: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options for these parameters of `train`; their values arrive in `**given`.

    Their defaults are those of `train`, unless `defaults` has others.
    """

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        own = [item for item in signature.parameters.values() if item.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, PARAMETERS[name].default),
                annotation=option(name),
            )
            for name in names
        ]
        every = [*(item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own), *more]
        command.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
        command.__annotations__ = {item.name: item.annotation for item in every}
        return command

    return with_options


def values_of(given: dict[str, Any]) -> dict[str, Any]:
    """Convert option values for `train`: gamma and NAME=VALUE pairs are text on the command line."""
    found = dict(given)
    if "gamma" in found:
        found["gamma"] = number(found["gamma"])
    if found.get("options"):
        found["options"] = parsed(found["options"])
    for name in ("columns", "drop"):
        if found.get(name) is not None:
            found[name] = names_in(found[name])
    if found.get("kinds"):
        found["kinds"] = {name: str(kind) for name, kind in parsed(found["kinds"], "--as").items()}
    elif "kinds" in found:
        found["kinds"] = None
    if (weights := found.get("class_weight")) is not None and weights != "balanced":
        found["class_weight"] = parsed(weights.split(","), "--class-weight")
    return found


def named_once(argument: Path | None, option: Path | None, name: str) -> Path | None:
    """Return the file that is named by an argument or by an option; raise if both name one."""
    from maxmargin.errors import ParameterError

    if argument is not None and option is not None:
        raise ParameterError(f"{argument} and {name} {option} both name the file to write: leave one out")
    return option if argument is None else argument


def names_in(text: str) -> list[str]:
    """Return the names in a list with commas; a name that holds a comma is in double quotes."""
    import csv

    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def number(text: str) -> float | str:
    """Return the text as a number if it is one, else unchanged."""
    try:
        return float(text)
    except ValueError:
        return text


def parsed(options: list[str], where: str = "--options") -> dict[str, Any]:
    """Parse NAME=VALUE pairs. Values are parsed as JSON (numbers, true, false), otherwise they are text."""
    from maxmargin.errors import ParameterError

    found: dict[str, Any] = {}
    for option in options:
        last = where in ("--class-weight", "--as")
        name, equals, value = option.rpartition("=") if last else option.partition("=")
        if not equals:
            shown = {"--as": "zip=category", "--class-weight": "spam=2"}.get(where, "batch=32")
            raise ParameterError(f"{where} {option}: write NAME=VALUE, such as {shown}")
        try:
            found[name] = json.loads(value.lower() if value in ("True", "False") else value)
        except json.JSONDecodeError:
            found[name] = value
    return found
