"""Sizes of the record batches of an Arrow file in memory, from its metadata, before any batch is decompressed.

A compressed buffer states its uncompressed length in its first eight bytes. Arrow allocates that length unchecked, so a
file of a few kilobytes could take all memory. The metadata are flatbuffers: tables of fields, found by offsets. Only
four kinds of table are read here, and every offset is checked by Python's own indexing.

    Footer        fields 2 and 3: positions of the dictionaries and of the record batches
    Message       field 2: a RecordBatch, or a DictionaryBatch
    DictionaryBatch  field 1: a RecordBatch
    RecordBatch   field 2: offset and length of each buffer; field 3: present if the buffers are compressed
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from maxmargin.errors import FileError

MAGIC = b"ARROW1"
TAIL = len(MAGIC) + 4  # bytes after the footer: its length, and the magic
DICTIONARIES, BATCHES = 2, 3  # field numbers in a footer
HEADER, HEADER_KIND, DICTIONARY_DATA, BUFFERS, COMPRESSION = 2, 1, 1, 2, 3  # field numbers in messages
DICTIONARY = 2  # message type of a DictionaryBatch
STORED = -1  # stated length of a buffer that is not compressed, in a compressed batch
CONTINUES = 0xFFFFFFFF  # marker before the length of a message


class Span(NamedTuple):
    """The position of a message in the file, and the lengths of its metadata and its body."""

    offset: int
    metadata: int
    body: int


class Table:
    """A flatbuffer table, whose fields have numbers."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.layout = at - number(data, at, "<i")
        self.size = number(data, self.layout, "<H")

    @classmethod
    def root(cls, data: bytes) -> Table:
        """Return the root table of a flatbuffer."""
        return cls(data, number(data, 0, "<I"))

    def place(self, field: int) -> int | None:
        """Return the position of a field; None if it is absent."""
        entry = 4 + 2 * field
        offset = number(self.data, self.layout + entry, "<H") if entry + 2 <= self.size else 0
        return self.at + offset if offset else None

    def table(self, field: int) -> Table | None:
        """Return a field that is a table; None if it is absent."""
        place = self.place(field)
        return None if place is None else Table(self.data, place + number(self.data, place, "<I"))

    def structs(self, field: int, form: str) -> list[tuple[int, ...]]:
        """Return a field that is a vector of structs of the format `form`."""
        place = self.place(field)
        if place is None:
            return []
        start = place + number(self.data, place, "<I")
        count, size = number(self.data, start, "<I"), struct.calcsize(form)
        part = self.data[start + 4 : start + 4 + count * size]
        if len(part) < count * size:
            raise ValueError(f"a vector of {count} items in {len(part)} bytes")
        return list(struct.iter_unpack(form, part))


def number(data: bytes, at: int, form: str) -> int:
    """Return the number at a position, which must be inside the data."""
    if at < 0:
        raise ValueError("an offset before the beginning")
    return int(struct.unpack_from(form, data, at)[0])


class UnpackedSizes:
    """The sizes of the record batches of one file, each looked up once, when the batch is about to be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: list[Span] = []
        self.dictionaries = 0  # uncompressed bytes
        self.known: dict[int, int] = {}
        with self.opened() as (file, end):
            footer = footer_of(file, end)
            dictionaries, self.batches = (
                [Span(*found) for found in footer.structs(field, "<qixxxxq")] for field in (DICTIONARIES, BATCHES)
            )
            check_apart([*dictionaries, *self.batches])
            self.dictionaries = sum(unpacked_size(file, span, end) for span in dictionaries)

    def __getitem__(self, number: int) -> int:
        """Return the uncompressed bytes of a batch and of the dictionaries, which are read with the first batch."""
        if number not in self.known:
            with self.opened() as (file, end):
                self.known[number] = self.dictionaries + unpacked_size(file, self.batches[number], end)
        return self.known[number]

    @contextmanager
    def opened(self) -> Iterator[tuple[BinaryIO, int]]:
        """Provide the open file and its size; turn errors into a one-line `FileError`."""
        try:
            with self.path.open("rb") as file:
                yield file, os.fstat(file.fileno()).st_size
        except (struct.error, ValueError, OverflowError, IndexError) as error:
            raise FileError(f"{self.path}: is not an Arrow file, or it is cut short or damaged ({error})") from error
        except OSError as error:
            raise FileError(f"{self.path}: cannot read: {error.strerror or error}") from error


def footer_of(file: BinaryIO, end: int) -> Table:
    """Return the footer of an open file of `end` bytes."""
    tail = read_at(file, end - TAIL, TAIL, end)
    size = number(tail, 0, "<i")
    if tail[4:] != MAGIC:
        raise ValueError("its last bytes are not ARROW1")
    return Table.root(read_at(file, end - TAIL - size, size, end))


def check_apart(spans: list[Span]) -> None:
    """Raise if batches share bytes: one body listed a thousand times would be decompressed a thousand times."""
    ordered = sorted(spans)
    if any(a.offset + a.metadata + a.body > b.offset for a, b in pairwise(ordered)):
        raise ValueError("record batches overlap")


def unpacked_size(file: BinaryIO, span: Span, end: int) -> int:
    """Return the uncompressed bytes of all buffers of a message."""
    message = Table.root(message_of(read_at(file, span.offset, span.metadata, end)))
    batch = message.table(HEADER)
    kind = message.place(HEADER_KIND)
    if batch is not None and kind is not None and message.data[kind] == DICTIONARY:
        batch = batch.table(DICTIONARY_DATA)
    if batch is None:
        raise ValueError("a message without a record batch")
    start, total = span.offset + span.metadata, 0
    packed = batch.place(COMPRESSION) is not None
    for offset, length in batch.structs(BUFFERS, "<qq"):
        if offset < 0 or length < 0 or offset + length > span.body:
            raise ValueError(f"a buffer of {length} bytes at {offset} in a body of {span.body}")
        stated = number(read_at(file, start + offset, 8, end), 0, "<q") if packed and length >= 8 else STORED
        if stated < STORED:
            raise ValueError(f"a buffer of {stated} bytes")
        total += length if stated == STORED else stated
    return total


def message_of(data: bytes) -> bytes:
    """Return the flatbuffer in the metadata of a message, which follows its length."""
    return data[8:] if number(data, 0, "<I") == CONTINUES else data[4:]


def read_at(file: BinaryIO, start: int, size: int, end: int) -> bytes:
    """Return `size` bytes from `start` on; raise if they are not inside the file of `end` bytes."""
    if start < 0 or size < 0 or start + size > end:
        raise ValueError(f"{size} bytes at {start} of a file of {end}")
    file.seek(start)
    return file.read(size)
