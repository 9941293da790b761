"""Which kind of source a file is: by its first bytes, and for CSV by its name."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maxmargin.errors import FileError
from maxmargin.files import beginning
from maxmargin.rows.arrays import ArraySource
from maxmargin.rows.source import Several, Source
from maxmargin.rows.tables import TableSource
from maxmargin.rows.text_blocks import BLOCK
from maxmargin.rows.text_source import TextSource

CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")
STARTS = ((b"ARROW1", "arrow"), (b"PAR1", "parquet"), (b"\x93NUMPY", "npy"))


def open_source(
    given: str | os.PathLike | Sequence[str | os.PathLike],
    y: Any = None,
    *,
    label: str | None = None,
    zero_based: bool = False,
    d: int | None = None,
    threads: int = 1,
    capacity: int = BLOCK,
    lenient: bool = False,
) -> Source:
    """The rows of one file, of several, or of all that a pattern such as part-*.svm names."""
    paths = files_of(given)
    sources = [source_of(path, y, label, zero_based, d, threads, capacity, lenient) for path in paths]
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


def kind_of(path: Path) -> str:
    """What a file holds: text unless it says otherwise."""
    head = beginning(path, 8)
    kind = next((kind for start, kind in STARTS if head.startswith(start)), None)
    return kind or ("csv" if path.name.lower().endswith(CSV) else "text")


def source_of(
    path: Path, y: Any, label: str | None, zero_based: bool, d: int | None, threads: int, capacity: int, lenient: bool
) -> Source:
    """The source that reads the file."""
    kind = kind_of(path)
    if kind == "npy":
        return ArraySource(path, y, capacity)
    if y is not None:
        raise FileError(f"{path}: the file brings its own labels: leave y out")
    if kind == "text":
        return TextSource(path, zero_based, d, threads, capacity, lenient)
    return TableSource(path, kind, label, capacity)
