"""Table of file formats: how each format is recognised and opened, and how large its rows are in memory.

A new format needs a file with a `Source` (see data/source) and a `Format`, and a call of `register` in open_source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.source import Source
from maxmargin.data.text.blocks import BLOCK
from maxmargin.errors import ParameterError
from maxmargin.system.atomic_files import beginning
from maxmargin.system.budget import Budget, half_of_free

UNPACKED = 6.0  # Typical size of text relative to its compressed file.


@dataclass(frozen=True, eq=False)
class How:
    """Options for reading files.

    Attributes
    ----------
    y : labels for a format that contains none: an array, or the file that holds them
    label : name of the label column of a table
    weights : name of the column of weights of a table, if there is one
    zero_based : whether feature indices start at 0, for formats with indices
    d : number of features, if known
    threads : number of parsing threads
    capacity : bytes of a block
    lenient : whether lines that cannot be read are skipped
    kmers : length of the words to count in sequences
    width : number of features, if labels are not needed
    budget : memory limit, which bounds a line and a batch; half of the free memory by default
    encoder : what the columns of a table become, if they are encoded
    columns : names of the feature columns of a table that is not encoded, in their order, if known
    """

    y: Any = None
    label: str | None = None
    weights: str | None = None
    zero_based: bool = False
    d: int | None = None
    threads: int = 1
    capacity: int = BLOCK
    lenient: bool = False
    kmers: int | None = None
    width: int | None = None
    budget: Budget = field(default_factory=half_of_free)
    encoder: Encoder | None = None
    columns: Sequence[str] | None = None


def as_stored(path: Path) -> float:
    """Return 1.0, the growth of a format whose rows take as many bytes in memory as in the file."""
    return 1.0


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    name : identifier of the format
    title : name of the format for users
    open : function of a path and a `How` that returns the source
    starts : first bytes that identify the format, each with a suffix that the file name must also have, or ""
    suffixes : suffixes of the file name that identify the format if the first bytes do not
    usual : common suffixes that identify nothing; the default name of a model omits them too
    growth : function of a path that estimates the size of the rows in memory relative to the file
    columns : function of a path that returns the names of the columns, one of which is `label`, or None
    has_indices : whether rows contain feature indices, from 1 or from 0 (`zero_based`)
    has_labels : whether the file contains labels; otherwise `y` provides them
    read : function that reads a whole file faster than `open`, or None
    """

    name: str
    title: str
    open: Callable[[Path, How], Source]
    starts: tuple[tuple[bytes, str], ...] = ()
    suffixes: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    growth: Callable[[Path], float] = as_stored
    columns: Callable[[Path], list[str]] | None = None
    has_indices: bool = False
    has_labels: bool = True
    read: Callable[..., tuple[Any, Any]] | None = None

    @property
    def has_columns(self) -> bool:
        """Whether columns have names."""
        return self.columns is not None


FORMATS: dict[str, Format] = {}


def register(format: Format, *, otherwise: bool = False) -> Format:
    """Add a format to the table. `otherwise` marks the default format, which is assumed for unrecognised files."""
    if not (format.starts or format.suffixes or otherwise):
        raise ParameterError(f"format {format.name} lacks starts and suffixes: no file would be recognised")
    FORMATS[format.name] = format
    return format


def format_of(path: Path, otherwise: Format) -> Format:
    """Return the format of a file: by its first bytes, then by its name, else `otherwise`."""
    longest = max((len(start) for one in FORMATS.values() for start, _ in one.starts), default=0)
    head = beginning(path, longest)
    for one in FORMATS.values():
        if any(head.startswith(start) and (not suffix or path.suffix == suffix) for start, suffix in one.starts):
            return one
    by_name = (one for one in FORMATS.values() if one.suffixes and path.name.lower().endswith(one.suffixes))
    return next(by_name, otherwise)
