"""Text files, plain or compressed, as blocks of whole lines.

Detects  gzip, bzip2, xz and Zstandard, by the first bytes of the file, never by its name
Yields   blocks that end with a newline, with the fraction of the file that has been read
Raises   a one-line error for a file that cannot be opened, is cut short or damaged
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import DataError, FileError

READ_AHEAD = 1 << 17
LONGEST = 1 << 30  # most bytes of a line if there is no memory limit
PADDING = 16  # compiled code reads words of eight bytes, also beyond the last line
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DAMAGED = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


class Stream:
    """The bytes of one open file, after decompression."""

    def __init__(self, path: Path, file: BufferedReader) -> None:
        self.path = path
        self.file: Any = file
        self.kind, self.bytes = _decompressed(file)
        status = os.fstat(file.fileno())
        self.length = status.st_size if stat.S_ISREG(status.st_mode) else 0
        if self.kind == "plain" and self.length:
            self.bytes = self.file = file.raw  # reads go to the caller's memory without a buffer
            self.file.seek(0)

    def fill(self, buffer: memoryview) -> int:
        """Read until the buffer is full or the file ends; return the number of bytes."""
        filled = 0
        try:
            while filled < len(buffer) and (count := self.bytes.readinto(buffer[filled:])):
                filled += count
        except DAMAGED as error:
            raise FileError(self._complaint(error)) from error
        return filled

    def skip(self, count: int) -> None:
        """Skip the first `count` bytes; an uncompressed file is not read for this."""
        if self.kind == "plain" and self.length:
            self.file.seek(count)
            return
        room = memoryview(bytearray(min(count, READ_AHEAD)))
        while count and (filled := self.fill(room[: min(count, len(room))])):
            count -= filled

    def part_read(self) -> float:
        """Return the fraction of the file that has been read; one half as a guess if its length is unknown."""
        return min(max(self.file.tell(), 1) / self.length, 1.0) if self.length else 0.5

    def _complaint(self, error: BaseException) -> str:
        if isinstance(error, OSError) and error.errno and error.strerror:
            return f"{self.path}: cannot read: {error.strerror}"
        why = " ".join(str(error).split())
        return f"{self.path}: the {self.kind} data is cut short or damaged ({why}): make the file anew"


class Block:
    """Bytes in memory: whole lines, each with a newline at its end, and further newlines as padding."""

    def __init__(self, capacity: int) -> None:
        self.text = bytearray(capacity + PADDING)
        self.size = 0
        self.part_read = 1.0
        self.too_long = 0  # bytes of a line that is too long; the block is then empty, and the last

    @property
    def capacity(self) -> int:
        """The most bytes that the block can hold."""
        return len(self.text) - PADDING

    @property
    def free(self) -> int:
        """Number of bytes that can be added; one more is kept for a newline at the end."""
        return self.capacity - self.size - 1

    def address(self) -> int:
        """Return the address of the bytes for compiled code, valid as long as the block exists."""
        return int(np.frombuffer(self.text, dtype=np.uint8).ctypes.data)

    def end_at(self, size: int) -> bytes:
        """Truncate the block to `size` bytes; return the rest."""
        rest = bytes(self.text[size : self.size])
        self.text[size : size + PADDING] = b"\n" * PADDING
        self.size = size
        return rest


def blocks(
    stream: Stream, capacity: int, spare: list[Block], at_start: bool = True, longest: int = LONGEST
) -> Iterator[Block]:
    """Cut the stream after newlines into blocks of at most `capacity` bytes, doubled until a long line fits.

    The end of a block depends only on its beginning. Blocks that the caller puts into `spare` are reused. A line of
    more than `longest` bytes ends the iteration, with a block whose `too_long` is set.
    """
    rest, at_end = b"", False
    while not at_end:
        block = _begun(rest, capacity, spare)
        cut = 0
        while cut == 0 and not at_end:
            if block.size > longest:
                yield given_up(block.size)
                return
            if block.free == 0:
                block = _begun(memoryview(block.text)[: block.size], 2 * block.capacity, [])
            before, asked = block.size, block.free
            block.size += stream.fill(memoryview(block.text)[before : before + asked])
            at_end = block.size < before + asked
            cut = block.text.rfind(b"\n", before, block.size) + 1
        if at_start and block.text.startswith(BYTE_ORDER_MARK):
            block.text[:3] = b"   "
        if at_end and block.size > cut:
            block.text[block.size] = ord("\n")
            cut = block.size = block.size + 1
        rest, at_start = block.end_at(cut), False
        block.part_read = stream.part_read()
        yield block


def given_up(size: int) -> Block:
    """Return the block that stands for a line that is too long. The caller counts lines and knows its number."""
    block = Block(1)
    block.too_long = size
    return block


def line_too_long(path: Path, line: int, size: int) -> DataError:
    """Return the error for a line that is too long."""
    return DataError(
        f"{path}:{line}: the line is longer than {size:,} bytes: end each row with a newline, "
        "or raise memory (--memory) if rows are that long"
    )


def _begun(rest: bytes | memoryview, capacity: int, spare: list[Block]) -> Block:
    """Return a block that begins with the rest of another one, and has room for more."""
    while capacity < len(rest) + 2:
        capacity *= 2
    try:
        block = spare.pop()  # another thread may have taken the last one
    except IndexError:
        block = Block(capacity)
    if block.capacity != capacity:
        block = Block(capacity)
    block.text[: len(rest)] = rest
    block.size = len(rest)
    return block


@contextmanager
def opened(path: str | Path) -> Iterator[Stream]:
    """Open a file for reading, decompressing on the way if its first bytes say so."""
    file = _open(Path(path))
    with file:
        yield Stream(Path(path), file)


def open_for(owner: object, path: Path) -> Stream:
    """Open a file like `opened`, until its owner is deleted."""
    file = _open(path)
    weakref.finalize(owner, file.close)
    return Stream(path, file)


def _open(path: Path) -> Any:
    try:
        return path.open("rb", buffering=READ_AHEAD)
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from error


def is_plain(path: Path) -> bool:
    """Whether a file is uncompressed, so that it can be read from any byte on; False for a pipe, which is not read."""
    if not path.is_file():
        return False
    with opened(path) as stream:
        return stream.kind == "plain"


def _decompressed(file: Any) -> tuple[str, Any]:
    head = bytes(file.peek(10)[:10])
    for kind, is_it, opener in KINDS:
        if is_it(head):
            return kind, opener(file)
    return "plain", file


def _zstd(file: BufferedReader) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")


def _is_bzip2(head: bytes) -> bool:
    return head[:3] == b"BZh" and head[4:] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")


def _is_zstd(head: bytes) -> bool:
    """Whether the first bytes are a data frame, or a skippable frame, which parallel compressors write first."""
    return head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5)


KINDS: tuple[tuple[str, Callable[[bytes], bool], Callable[[Any], Any]], ...] = (
    ("gzip", lambda head: head[:2] == b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file, mode="rb")),
    ("bzip2", _is_bzip2, bz2.BZ2File),
    ("xz", lambda head: head[:6] == b"\xfd7zXZ\x00", lzma.LZMAFile),
    ("Zstandard", _is_zstd, _zstd),
)
