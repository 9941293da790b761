"""Opens the files that a user names as sources of rows, each according to its format."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from maxmargin.data.formats import FORMATS, Format, How, register
from maxmargin.data.formats import format_of as recognised
from maxmargin.data.source import Several, Source
from maxmargin.data.tables.beginning import beginning_of, check_is_table
from maxmargin.data.tables.csv_dialect import looks_like_csv
from maxmargin.data.tables.npy import NPY
from maxmargin.data.tables.source import ARROW, CSV, PARQUET
from maxmargin.data.text.dna import DnaSource
from maxmargin.data.text.looks import looks_like_libsvm
from maxmargin.data.text.source import TEXT
from maxmargin.errors import FileError

register(TEXT, otherwise=True)
for _format in (CSV, PARQUET, ARROW, NPY):
    register(_format)


def open_source(given: str | os.PathLike | Sequence[str | os.PathLike], y: Any = None, **how: Any) -> Source:
    """Return a source of the rows of one file, of several, or of all files that match a pattern such as part-*.svm."""
    sources = [source_of(path, How(y, **how)) for path in files_of(given)]
    return sources[0] if len(sources) == 1 else Several(sources)


def files_of(given: str | os.PathLike | Sequence[str | os.PathLike]) -> list[Path]:
    """Return the files that are meant; those that match a pattern are sorted by name."""
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
    """Return the format of a file, by its first bytes, its content and its name. A pipe holds LIBSVM text."""
    try:
        status = path.stat()
    except OSError:
        return recognised(path, TEXT)  # the code that reads the file will report the error
    return judged(path, status.st_size, status.st_mtime_ns, status.st_ino) if path.is_file() else TEXT


@lru_cache(maxsize=256)
def judged(path: Path, size: int, changed: int, inode: int) -> Format:
    """Return the format of a regular file. Text is LIBSVM text or CSV by its content, whatever its name."""
    found = recognised(path, TEXT)
    if found not in (TEXT, CSV) or size == 0:
        return found
    try:
        head = beginning_of(path)
    except FileError:
        return found
    if looks_like_libsvm(head):
        return TEXT
    if found is CSV or looks_like_csv(head):
        return CSV
    check_is_table(head, path)
    return TEXT


def kind_of(path: Path) -> str:
    """Return the name of the format of a file."""
    return format_of(path).name


def endings() -> set[str]:
    """Return the suffixes of formats and compressions, such as .csv and .gz."""
    return {f".{part}" for one in FORMATS.values() for name in one.suffixes + one.usual for part in name[1:].split(".")}


def source_of(path: Path, how: How) -> Source:
    """Return the source that reads a file."""
    if how.kmers is not None:
        return DnaSource(path, how.kmers, how.capacity, how.budget.line)
    found = format_of(path)
    if how.y is not None and found.has_labels:
        raise FileError(f"{path}: the file brings its own labels: leave y out")
    return found.open(path, how)
