"""The table of file formats: how each is recognised, opened and sized.

A new format is one file with a `Source` (see data/source) and one `Format`, and its `register` in open_source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maxmargin.data.source import Source
from maxmargin.data.text.blocks import BLOCK
from maxmargin.errors import ParameterError
from maxmargin.system.atomic_files import beginning
from maxmargin.system.budget import Budget, half_of_free

UNPACKED = 6.0  # size of text relative to its compressed file, about


@dataclass(frozen=True, eq=False)
class How:
    """How to read files.

    Attributes
    ----------
    y : labels of a format that has none of its own: an array, or the file that holds them
    label : the column of labels in a table
    zero_based : whether columns are counted from 0 where rows name them
    d : number of features, where it is known
    threads : how many threads parse
    capacity : bytes of a block
    lenient : whether lines that cannot be read are left out
    kmers : length of the words of sequences
    width : number of features where no labels are needed
    budget : bounds a line and a batch; by default half of the free memory does
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


def as_stored(path: Path) -> float:
    """The growth of a format whose rows take as many bytes in memory as in the file."""
    return 1.0


@dataclass(frozen=True)
class Format:
    """One format of files.

    Attributes
    ----------
    name : by which the program tells it from others
    title : what users call it, in lists
    open : the source of a file, given how to read it
    starts : first bytes that tell it, each with the suffix that the name must then have, or ""
    suffixes : endings of the name that tell it where first bytes do not
    usual : endings of the name that tell nothing but are usual: a model's default name leaves them out too
    growth : size of the rows in memory relative to the file, about
    has_columns : whether its columns have names, of which `label` may be one
    has_indices : whether its rows name their columns, counted from 1 or from 0 (`zero_based`)
    has_labels : whether it holds the labels too; else `y` brings them
    read : a quicker way to read a whole file at once, if there is one
    """

    name: str
    title: str
    open: Callable[[Path, How], Source]
    starts: tuple[tuple[bytes, str], ...] = ()
    suffixes: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    growth: Callable[[Path], float] = as_stored
    has_columns: bool = False
    has_indices: bool = False
    has_labels: bool = True
    read: Callable[..., tuple[Any, Any]] | None = None


FORMATS: dict[str, Format] = {}


def register(format: Format, *, otherwise: bool = False) -> Format:
    """Make a format known; `otherwise` if a file that no format recognises is taken for one of it."""
    if not (format.starts or format.suffixes or otherwise):
        raise ParameterError(f"format {format.name} lacks starts and suffixes: no file would be recognised")
    FORMATS[format.name] = format
    return format


def format_of(path: Path, otherwise: Format) -> Format:
    """The format of a file: by its first bytes, then by its name."""
    longest = max((len(start) for one in FORMATS.values() for start, _ in one.starts), default=0)
    head = beginning(path, longest)
    for one in FORMATS.values():
        if any(head.startswith(start) and (not suffix or path.suffix == suffix) for start, suffix in one.starts):
            return one
    by_name = (one for one in FORMATS.values() if one.suffixes and path.name.lower().endswith(one.suffixes))
    return next(by_name, otherwise)
