"""Sources of rows on disk: files, read one block of rows at a time, in as many passes as needed.

    for block in source.blocks():           a pass over all rows, from the first to the last
    for block in source.blocks(place):      the same from the block at `place` on, the `block.next` of the one before
    source.block_at(place)                  the block at `place` alone, if blocks can be read in any order

A source holds no more than a few blocks in memory. It knows its size in bytes and, for some formats, the number of rows
and features. It raises an error if the file has changed since the first pass began.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from maxmargin.data.rows import Rows
from maxmargin.data.text.streams import Block, Stream, open_for, opened
from maxmargin.errors import DataError, FileError
from maxmargin.system.buffers import Lender

AT_ONCE = 4  # blocks whose memory is kept for reuse
WASTE = 8  # kept memory is not reused if it is more than this many times too large
OPEN = 64  # files stay open between blocks if there are at most this many


class Place(NamedTuple):
    """The beginning of a block: file number, position in the file (bytes or batches), rows and lines before it.

    `base` is the number of rows in the files before that one.
    """

    file: int = 0
    at: int = 0
    row: int = 0
    line: int = 0
    base: int = 0

    @property
    def number(self) -> int:
        """Number of the first row at this place, counted over all files."""
        return self.base + self.row


START = Place()


class RowBlock(NamedTuple):
    """Rows with their labels, the places where this block and the next one begin, and the bytes read so far.

    `weights` are those of a column of a table, if one was named.
    """

    rows: Rows
    labels: np.ndarray
    place: Place
    next: Place
    read: int
    weights: np.ndarray | None = None

    @property
    def first(self) -> int:
        """Number of the first row, counted over all files."""
        return self.place.number


class Facts(NamedTuple):
    """Statements of a file about itself: number of rows, number of features, classes.

    A block file also states `ends`: the number of rows up to the end of each block, and the encoder of its rows if they
    come from a table.
    """

    n: int
    d: int
    classes: np.ndarray
    ends: np.ndarray | None = None
    encoder: dict[str, Any] | None = None


class Source(Protocol):
    """Rows and labels of a file."""

    @property
    def name(self) -> str:
        """Name of the source, for messages."""

    @property
    def size(self) -> int:
        """Number of bytes that a pass reads; 0 if unknown."""

    @property
    def facts(self) -> Facts | None:
        """Facts that are known before the first pass, or None."""

    @property
    def left_out(self) -> int:
        """Number of lines that the last pass could not read and skipped."""

    @property
    def bad(self) -> list[str]:
        """Error messages of the first skipped lines."""

    @property
    def places(self) -> list[Place] | None:
        """Places of all blocks, if they are known before the first pass, else None."""

    @property
    def any_order(self) -> bool:
        """Whether a block can be read without the blocks before it."""

    def check(self) -> None:
        """Raise if the file has changed."""

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """Yield the blocks from `start` on."""

    def share(self, other: Any, stays_open: bool) -> None:
        """Use the memory of another source; `stays_open` says whether the file stays open between blocks."""

    def expect(self, place: Place) -> None:
        """Announce that the block at `place` will be read soon, so that the system may fetch it meanwhile."""

    def block_at(self, place: Place) -> RowBlock:
        """Return the block at `place`."""


@dataclass
class Unchanged:
    """The state of a file when it was first seen. Readers check before and after a pass that it has not changed."""

    path: Path
    seen: tuple[int, int, int] | None = field(default=None, repr=False)

    def check(self) -> int:
        """Return the size of the file, 0 for a pipe, which can be read only once; raise if the file has changed."""
        try:
            status = self.path.stat()
        except OSError as error:
            raise FileError(f"{self.path}: cannot read: {error.strerror or error}") from error
        if not stat.S_ISREG(status.st_mode):
            return 0
        now = (status.st_size, status.st_mtime_ns, status.st_ino)
        if self.seen is not None and now != self.seen:
            raise FileError(f"{self.path}: the file has changed since training began: leave it alone, and start again")
        self.seen = now
        return status.st_size


@dataclass
class OneFile:
    """Base class of sources of one file: its name, its size, and the check that it does not change."""

    path: Path

    def __post_init__(self) -> None:
        self.unchanged = Unchanged(self.path)
        self.size = self.unchanged.check()
        self.left_out, self.bad = 0, list[str]()
        self.streams: list[Stream] = []  # open streams that are not in use
        self.stays_open = True
        self.lender, self.spare = Lender(AT_ONCE, WASTE), list[Block]()

    @contextmanager
    def stream(self) -> Iterator[Stream]:
        """Provide the open file. It stays open for the next caller; concurrent threads get one each."""
        if not self.stays_open:
            with opened(self.path) as stream:
                yield stream
            return
        try:
            stream = self.streams.pop()
        except IndexError:
            stream = open_for(self, self.path)
        yield stream
        self.streams.append(stream)

    def share(self, other: Any, stays_open: bool) -> None:
        """Use the memory of another source: when there are several files, few blocks are in use at any time."""
        self.stays_open = stays_open
        if isinstance(other, OneFile):
            self.lender, self.spare = other.lender, other.spare

    @property
    def name(self) -> str:
        """Path of the file."""
        return str(self.path)

    def check(self) -> None:
        """Raise if the file has changed."""
        self.unchanged.check()

    def expect(self, place: Place) -> None:
        """Ask the system to fetch the bytes of the block, if it supports such requests."""
        start, size = self.bytes_at(place)
        if size and hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                file = os.open(self.path, os.O_RDONLY)
                try:
                    os.posix_fadvise(file, start, size, os.POSIX_FADV_WILLNEED)
                finally:
                    os.close(file)

    def bytes_at(self, place: Place) -> tuple[int, int]:
        """Return the offset of a block in bytes and its approximate size; (0, 0) if unknown."""
        return 0, 0


@dataclass
class Several:
    """Several files as one source, one after the other."""

    parts: list[Source]

    def __post_init__(self) -> None:
        for part in self.parts:
            part.share(self.parts[0], stays_open=len(self.parts) <= OPEN)

    def share(self, other: Any, stays_open: bool) -> None:
        """Share memory with every file."""
        for part in self.parts:
            part.share(other, stays_open)

    @property
    def name(self) -> str:
        """Name of the first file, and the number of further files."""
        return f"{self.parts[0].name} and {len(self.parts) - 1} more"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(part.size for part in self.parts)

    @property
    def facts(self) -> Facts | None:
        """The facts of all files together, if each one states them."""
        known = [part.facts for part in self.parts]
        if any(facts is None for facts in known):
            return None
        classes = np.unique(np.concatenate([facts.classes for facts in known if facts]))
        return Facts(sum(facts.n for facts in known if facts), max(facts.d for facts in known if facts), classes)

    @property
    def left_out(self) -> int:
        """Number of skipped lines in all files."""
        return sum(part.left_out for part in self.parts)

    @property
    def bad(self) -> list[str]:
        """Error messages of skipped lines in all files."""
        return [line for part in self.parts for line in part.bad]

    @property
    def places(self) -> list[Place] | None:
        """None: the places are not known."""
        return None

    @property
    def any_order(self) -> bool:
        """Whether every file can be read in any order."""
        return all(part.any_order for part in self.parts)

    def check(self) -> None:
        """Check every file."""
        for part in self.parts:
            part.check()

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """Yield the blocks of all files from `start` on."""
        place = start
        for number in range(start.file, len(self.parts)):
            end = place
            for block in self.parts[number].blocks(place._replace(file=0, base=0)):
                found = self.placed(block, number, place.base)
                yield found
                end = found.next
            place = Place(number + 1, base=end.number)

    def expect(self, place: Place) -> None:
        """Announce the block to the file that contains it."""
        self.parts[place.file].expect(place._replace(file=0, base=0))

    def block_at(self, place: Place) -> RowBlock:
        """Return the block at `place`, from the file that contains it."""
        block = self.parts[place.file].block_at(place._replace(file=0, base=0))
        return self.placed(block, place.file, place.base)

    def placed(self, block: RowBlock, number: int, base: int) -> RowBlock:
        """Return a block with its place among all files; raise if two tables have different columns."""
        names = [getattr(self.parts[k], "names", None) for k in (0, number)]
        by_name = getattr(self.parts[number], "matches_names", False)
        if not by_name and names[1] is not None and names[0] is not None and names[0] != names[1]:
            other = self.parts[0].name
            raise DataError(f"{self.parts[number].name}: its columns are not those of {other}: make them alike")
        place, following = (there._replace(file=number, base=base) for there in (block.place, block.next))
        read = sum(part.size for part in self.parts[:number]) + block.read
        return block._replace(place=place, next=following, read=read)
