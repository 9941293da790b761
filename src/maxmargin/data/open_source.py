"""Which kind of source a file is: by its first bytes, and for CSV by its name."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maxmargin.data.source import Several, Source
from maxmargin.data.tables.npy import ArraySource
from maxmargin.data.tables.parquet_pages import ENCRYPTED
from maxmargin.data.tables.source import TableSource
from maxmargin.data.text.blocks import BLOCK
from maxmargin.data.text.dna import DnaSource
from maxmargin.data.text.source import TextSource
from maxmargin.errors import FileError
from maxmargin.system.atomic_files import beginning
from maxmargin.system.budget import Budget, half_of_free

CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")
STARTS = ((b"ARROW1", "arrow"), (b"PAR1", "parquet"), (b"\x93NUMPY", "npy"))


@dataclass(frozen=True, eq=False)
class How:
    """How to read files.

    `y` holds the labels of arrays, `label` names a table's column of them, `width` is how many features there are where
    no labels are needed, `kmers` how long the words of sequences are, `lenient` leaves lines out that cannot be read,
    `budget` bounds a line and a batch; by default half of the free memory does.
    """

    y: Any = None
    label: str | None = None
    zero_based: bool = False
    d: int | None = None
    threads: int = 1
    capacity: int = BLOCK
    lenient: bool = False
    kmers: int | None = None
    width: int | None = None
    budget: Budget = field(default_factory=half_of_free)


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


def kind_of(path: Path) -> str:
    """What a file holds: text unless it says otherwise."""
    head = beginning(path, 8)
    kind = next((kind for start, kind in STARTS if head.startswith(start)), None)
    if head.startswith(ENCRYPTED) and path.suffix == ".parquet":  # without that name it may be a label such as PARENT
        kind = "parquet"
    return kind or ("csv" if path.name.lower().endswith(CSV) else "text")


def source_of(path: Path, how: How) -> Source:
    """The source that reads the file."""
    if how.kmers is not None:
        return DnaSource(path, how.kmers, how.capacity, how.budget.line)
    kind = kind_of(path)
    if kind == "npy":
        return ArraySource(path, how.y, how.capacity, how.width is not None)
    if how.y is not None:
        raise FileError(f"{path}: the file brings its own labels: leave y out")
    if kind == "text":
        return TextSource(path, how.zero_based, how.d, how.threads, how.capacity, how.lenient, how.budget.line)
    return TableSource(path, kind, how.label, how.capacity, how.width, how.budget.batch)
