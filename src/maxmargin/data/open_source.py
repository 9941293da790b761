"""The files that a user names, opened as sources of rows, each by its format."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maxmargin.data.formats import FORMATS, Format, How, register
from maxmargin.data.formats import format_of as recognised
from maxmargin.data.source import Several, Source
from maxmargin.data.tables.npy import NPY
from maxmargin.data.tables.source import ARROW, CSV, PARQUET
from maxmargin.data.text.dna import DnaSource
from maxmargin.data.text.source import TEXT
from maxmargin.errors import FileError

register(TEXT, otherwise=True)
for _format in (CSV, PARQUET, ARROW, NPY):
    register(_format)


def open_source(given: str | os.PathLike | Sequence[str | os.PathLike], y: Any = None, **how: Any) -> Source:
    """The rows of one file, of several, or of all that a pattern such as part-*.svm names."""
    sources = [source_of(path, How(y, **how)) for path in files_of(given)]
    return sources[0] if len(sources) == 1 else Several(sources)


def files_of(given: str | os.PathLike | Sequence[str | os.PathLike]) -> list[Path]:
    """The files that are meant, in the order of their names where a pattern was given."""
    if not isinstance(given, (str, os.PathLike)):
        if not given:
            raise FileError("no file was given")
        return [path for one in given for path in files_of(one)]
    if Path(given).exists() or not glob.has_magic(os.fspath(given)):
        return [Path(given)]
    found = sorted(glob.glob(os.fspath(given)))  # noqa: PTH207
    if not found:
        raise FileError(f"{os.fspath(given)}: no file has such a name")
    return [Path(path) for path in found]


def format_of(path: Path) -> Format:
    """The format of a file: LIBSVM text unless its first bytes or its name say otherwise."""
    return recognised(path, TEXT)


def kind_of(path: Path) -> str:
    """The name of the format of a file."""
    return format_of(path).name


def endings() -> set[str]:
    """The parts of names that tell a format or a compression, such as .csv and .gz."""
    return {f".{part}" for one in FORMATS.values() for name in one.suffixes + one.usual for part in name[1:].split(".")}


def source_of(path: Path, how: How) -> Source:
    """The source that reads the file."""
    if how.kmers is not None:
        return DnaSource(path, how.kmers, how.capacity, how.budget.line)
    found = format_of(path)
    if how.y is not None and found.has_labels:
        raise FileError(f"{path}: the file brings its own labels: leave y out")
    return found.open(path, how)
