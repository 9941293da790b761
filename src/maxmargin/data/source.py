"""Sources of rows on disk: files, read one block of rows at a time, in as many passes as needed.

    for block in source.blocks():           a pass over all rows, from the first to the last
    for block in source.blocks(place):      from the block on that begins there: `block.next` of the one before
    source.block_at(place)                  that block alone, where files can be read in any order

A source holds no more than a few blocks in memory. It knows its size in bytes and, for some kinds of file, how many
rows and features there are. A file that is no longer what it was when the first pass began is refused.
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

AT_ONCE = 4  # blocks whose memory is kept and used again
WASTE = 8  # kept memory is not used for a block this many times smaller
OPEN = 64  # most files that stay open between blocks


class Place(NamedTuple):
    """Where a block begins: in which file, how far in it (bytes, batches), behind how many of its rows and lines.

    `base` counts the rows of the files before that one.
    """

    file: int = 0
    at: int = 0
    row: int = 0
    line: int = 0
    base: int = 0

    @property
    def number(self) -> int:
        """The number of the row that begins there, among all."""
        return self.base + self.row


START = Place()


class RowBlock(NamedTuple):
    """Rows with their labels; the places where they and the next block begin; bytes read so far."""

    rows: Rows
    labels: np.ndarray
    place: Place
    next: Place
    read: int

    @property
    def first(self) -> int:
        """The number of its first row."""
        return self.place.number


class Facts(NamedTuple):
    """What a file states about itself: rows, features, classes; a block file also the row number behind each block."""

    n: int
    d: int
    classes: np.ndarray
    ends: np.ndarray | None = None


class Source(Protocol):
    """Rows and labels of a file."""

    @property
    def name(self) -> str:
        """What to call it in a message."""

    @property
    def size(self) -> int:
        """How many bytes a pass reads; 0 if that is not known."""

    @property
    def facts(self) -> Facts | None:
        """What is known before the first pass."""

    @property
    def left_out(self) -> int:
        """How many lines could not be read and were skipped, in the last pass."""

    @property
    def bad(self) -> list[str]:
        """What was wrong with the first of them."""

    @property
    def places(self) -> list[Place] | None:
        """Where blocks begin, if that is known before the first pass."""

    @property
    def any_order(self) -> bool:
        """Whether a block can be read without those before it."""

    def check(self) -> None:
        """Refuse to go on if the file has changed."""

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """The rows from there on."""

    def share(self, other: Any, stays_open: bool) -> None:
        """Use the memory of another source, and keep the file open after its first block or not."""

    def expect(self, place: Place) -> None:
        """The block that begins there will be read soon: the system may fetch it meanwhile."""

    def block_at(self, place: Place) -> RowBlock:
        """The block that begins there."""


@dataclass
class Unchanged:
    """A file as it was at first. Readers check before and after a pass that it has not changed."""

    path: Path
    seen: tuple[int, int, int] | None = field(default=None, repr=False)

    def check(self) -> int:
        """The size of the file, if it is still the same; 0 for a pipe, which can be read only once."""
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
    """The base of sources of one file: its name, its size, and the check that it does not change."""

    path: Path

    def __post_init__(self) -> None:
        self.unchanged = Unchanged(self.path)
        self.size = self.unchanged.check()
        self.left_out, self.bad = 0, list[str]()
        self.streams: list[Stream] = []  # open, and not in use
        self.stays_open = True
        self.lender, self.spare = Lender(AT_ONCE, WASTE), list[Block]()

    @contextmanager
    def stream(self) -> Iterator[Stream]:
        """The open file. It stays open for the next caller; concurrent threads get one each."""
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
        """Use the memory of another source: of several files, few blocks are in use at any time."""
        self.stays_open = stays_open
        if isinstance(other, OneFile):
            self.lender, self.spare = other.lender, other.spare

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def check(self) -> None:
        """Refuse to go on if the file has changed."""
        self.unchanged.check()

    def expect(self, place: Place) -> None:
        """Ask the system to fetch the bytes of that block, where it takes such requests."""
        start, size = self.bytes_at(place)
        if size and hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                file = os.open(self.path, os.O_RDONLY)
                try:
                    os.posix_fadvise(file, start, size, os.POSIX_FADV_WILLNEED)
                finally:
                    os.close(file)

    def bytes_at(self, place: Place) -> tuple[int, int]:
        """Where the bytes of a block begin, and about how many they are; none if that is not known."""
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
        """The first, and how many more there are."""
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
        """Skipped lines of all files."""
        return sum(part.left_out for part in self.parts)

    @property
    def bad(self) -> list[str]:
        """What was wrong with skipped lines, over all files."""
        return [line for part in self.parts for line in part.bad]

    @property
    def places(self) -> list[Place] | None:
        """Not known."""
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
        """All rows of all files from there on."""
        place = start
        for number in range(start.file, len(self.parts)):
            end = place
            for block in self.parts[number].blocks(place._replace(file=0, base=0)):
                found = self.placed(block, number, place.base)
                yield found
                end = found.next
            place = Place(number + 1, base=end.number)

    def expect(self, place: Place) -> None:
        """Announce the block to the file that holds it."""
        self.parts[place.file].expect(place._replace(file=0, base=0))

    def block_at(self, place: Place) -> RowBlock:
        """The block that begins there, in the file that holds it."""
        block = self.parts[place.file].block_at(place._replace(file=0, base=0))
        return self.placed(block, place.file, place.base)

    def placed(self, block: RowBlock, number: int, base: int) -> RowBlock:
        """A block with its place among all files; tables must have the same columns."""
        names = [getattr(self.parts[k], "names", None) for k in (0, number)]
        if names[1] is not None and names[0] is not None and names[0] != names[1]:
            other = self.parts[0].name
            raise DataError(f"{self.parts[number].name}: its columns are not those of {other}: make them alike")
        place, following = (there._replace(file=number, base=base) for there in (block.place, block.next))
        read = sum(part.size for part in self.parts[:number]) + block.read
        return block._replace(place=place, next=following, read=read)
