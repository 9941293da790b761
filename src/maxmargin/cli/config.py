"""--config FILE.toml: values for the options of a command. Options on the command line count more."""

from __future__ import annotations

import csv
import io
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

PAIRS = ("options", "kinds")  # tables whose entries are NAME=VALUE options, which may be repeated
LISTS = ("columns", "drop", "solvers", "Cs", "gammas")
WANTED = {"options": "a table, such as {batch = 32}", "kinds": 'a table, such as {zip = "category"}'}
NOT_IN_A_FILE = ("file", "out", "config", "help")


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values in a TOML file the defaults of the command."""
    if path is not None:
        flags = {str(one.name): getattr(one, "is_flag", False) for one in context.command.params}
        known = {name: is_flag for name, is_flag in flags.items() if name not in NOT_IN_A_FILE}
        given = {name: value_of(name, value, path, known) for name, value in entries(path).items()}
        context.default_map = {**(context.default_map or {}), **given}
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        callback=read_config,
        is_eager=True,
        help="Options as a TOML file: C = 10, loss = 'logistic', max_seconds = 60. The command line counts more.",
    ),
]


def entries(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    import tomllib

    from maxmargin.errors import FileError

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{path}: is not TOML: {error}; write lines such as C = 10 or loss = 'logistic'") from error


def value_of(name: str, value: Any, path: Path, known: dict[str, bool]) -> Any:
    """Return a value as the option parser takes it; raise if the name is unknown or the value of a wrong type.

    `known` are the options of the command, and whether each is true or false.
    """
    from maxmargin.errors import ParameterError

    if name not in known:
        near = get_close_matches(name.replace("-", "_"), known, n=1, cutoff=0.5)
        remedy = f"do you mean {near[0]}?" if near else "keys are options of the command, such as C and max_seconds"
        raise ParameterError(f"{path}: {name} is not known: {remedy}")
    found = as_typed(name, value)
    if found is None or isinstance(found, bool) != known[name]:
        wanted = "true or false" if known[name] else WANTED.get(name, "a number or a text")
        raise ParameterError(f"{path}: {name} = {shown(value)} must be {wanted}")
    return found


def as_typed(name: str, value: Any) -> Any:
    """Return a value in the form of the command line; None if it has none."""
    if isinstance(value, dict):
        return pairs(name, value)
    if isinstance(value, list):
        return listed(name, value)
    if isinstance(value, bool):
        return value
    fits = isinstance(value, (int, float, str)) and name not in PAIRS
    return str(value) if fits else None  # as text: the option parser refuses 1.5 threads


def pairs(name: str, value: dict[str, Any]) -> Any:
    """Return a table as the command line takes it, if the option takes one."""
    if name == "class_weight":
        return ",".join(f"{key}={part}" for key, part in value.items())
    return [f"{key}={shown(part)}" for key, part in value.items()] if name in PAIRS else None


def listed(name: str, value: list[Any]) -> Any:
    """Return a list as the command line takes it, if the option takes one."""
    if name in PAIRS:
        return [str(one) for one in value]
    if name not in LISTS:
        return None
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def shown(value: Any) -> str:
    """Return a value as it is written on the command line and in TOML."""
    return str(value).lower() if isinstance(value, bool) else str(value)
