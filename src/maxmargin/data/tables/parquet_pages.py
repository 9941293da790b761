"""Sizes of the pages of a Parquet file in memory, from its metadata, before any page is decompressed.

A row group has a chunk for each column, a chunk consists of pages, and a header before each page states its size.
pyarrow allocates that size unchecked, up to 2 GB a page, and as many items as a list in the footer claims to have. So
this module reads the footer first, and then the header of each page: one seek and a small read.

    footer   FileMetaData in Thrift's compact protocol, its length in four bytes, PAR1
    chunk    its dictionary, if it has one, and then pages until all its values have been seen

Checked   that chunks lie in the file and pages in their chunk, that no size is negative, and that no page is larger
          than the stated size of its chunk
Costs     about 40 µs a page, once for each file
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from maxmargin.data.tables.arrow_sizes import read_at
from maxmargin.data.tables.batches import check_size
from maxmargin.data.tables.thrift import Compact, Struct
from maxmargin.errors import FileError, MaxmarginError

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
TAIL = len(MAGIC) + 4  # bytes after the footer: its length, and the magic
HEADER_BYTES = 256  # bytes read at first for a page header: most headers take less than 100
LONGEST_HEADER = 16 << 20  # bytes: pyarrow refuses longer headers; the minimum of a text column may be long
DATA, DICTIONARY, DATA_V2 = 0, 2, 3  # page types
WIDTHS = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # bytes of a value, by its physical type: int32, int64, int96, float, double


class Chunk(NamedTuple):
    """The pages of one column in one row group."""

    start: int
    stop: int
    values: int
    unpacked: int  # bytes; 0 if the writer did not state it (DuckDB before 0.6)
    width: int  # bytes of a value, or a lower bound


class Group(NamedTuple):
    """A row group as described by the footer."""

    chunks: list[Chunk]
    unpacked: int
    rows: int


class Page(NamedTuple):
    """A page as described by its header."""

    type: int
    unpacked: int
    packed: int
    values: int


class RowGroup(NamedTuple):
    """Memory that a row group takes while it is read."""

    pages: int  # bytes of one page of each column, and of all dictionaries
    row: float  # bytes of a row


class EncryptedError(Exception):
    """The footer or a column is encrypted."""


def row_groups(path: Path, most: int) -> list[RowGroup]:
    """Check all page headers of a file, and return its row groups. The footer may take at most `most` bytes."""
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            groups = footer_of(file, end, path, most)
            check_total(groups, end)
            return [measured(file, group, end) for group in groups]
    except MaxmarginError:
        raise
    except EncryptedError:
        raise FileError(f"{path}: the Parquet file is encrypted: decrypt it first") from None
    except (ValueError, IndexError) as error:
        raise FileError(f"{path}: is not a Parquet file, or it is cut short or damaged ({error})") from error
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from error


def footer_of(file: BinaryIO, end: int, path: Path, most: int) -> list[Group]:
    """Return the row groups listed in the footer of an open file of `end` bytes."""
    tail = read_at(file, end - TAIL, TAIL, end)
    if tail[4:] == ENCRYPTED:
        raise EncryptedError
    if tail[4:] != MAGIC:
        raise ValueError("its last bytes are not PAR1")
    size = int.from_bytes(tail[:4], "little")
    check_size(size, most, path, "the footer")
    found: list[Group] = Compact(read_at(file, end - TAIL - size, size, end)).struct(FOOTER)
    return found


def check_total(groups: list[Group], end: int) -> None:
    """Raise if chunks add up to more than the file: a chunk listed a thousand times is read a thousand times."""
    total = sum(chunk.stop - chunk.start for group in groups for chunk in group.chunks)
    if total > end:
        raise ValueError(f"column chunks of {total:,} bytes in a file of {end:,}")


def whole(found: dict[int, Any], field: int, default: int | None = None) -> int:
    """Return a field that must be a number, 0 or above."""
    value = found.get(field, default)
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"field {field} is {'missing' if value is None else value}")
    return value


def listed(found: dict[int, Any], field: int, kind: type) -> list[Any]:
    """Return a field that must be a list of structs of type `kind`."""
    items = found.get(field)
    if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
        raise ValueError(f"field {field} is no list of structs")
    return items


def group_of(found: dict[int, Any]) -> Group:
    """Build a row group from its fields: 1 columns, 2 total_byte_size, 3 num_rows."""
    return Group(listed(found, 1, Chunk), whole(found, 2), whole(found, 3))


def chunk_of(found: dict[int, Any]) -> Chunk:
    """Return a column chunk from its fields: 3 meta_data, 8 and 9 present if it is encrypted."""
    if 8 in found or 9 in found:
        raise EncryptedError
    chunk = found.get(3)
    if not isinstance(chunk, Chunk):
        raise ValueError("a column without metadata")
    return chunk


def column_of(found: dict[int, Any]) -> Chunk:
    """Build a column chunk from its metadata.

    Fields 1 type, 5 num_values, 6 total_uncompressed_size, 7 total_compressed_size, 9 data_page_offset,
    11 dictionary_page_offset, which some writers set to 0 if there is no dictionary.
    """
    start = min(whole(found, 9), whole(found, 11, 0) or whole(found, 9))
    width = WIDTHS.get(whole(found, 1), 0)
    return Chunk(start, start + whole(found, 7), whole(found, 5), whole(found, 6), width)


def page_of(found: dict[int, Any]) -> Page:
    """Build a page from its header: fields 1 type, 2 and 3 sizes, 5 and 8 headers of data pages, version 1 and 2."""
    kind = whole(found, 1)
    values = found.get({DATA: 5, DATA_V2: 8}.get(kind, 0)) or 0
    return Page(kind, whole(found, 2), whole(found, 3), whole({1: values}, 1))


COLUMN = Struct(dict.fromkeys((1, 5, 6, 7, 9, 11)), column_of)
GROUP = Struct({1: Struct({3: COLUMN, 8: None, 9: None}, chunk_of), 2: None, 3: None}, group_of)
FOOTER = Struct({4: GROUP}, lambda found: listed(found, 4, Group))
COUNT = Struct({1: None}, lambda found: whole(found, 1))
HEADER = Struct({1: None, 2: None, 3: None, 5: COUNT, 8: COUNT}, page_of)


def measured(file: BinaryIO, group: Group, end: int) -> RowGroup:
    """Return the sizes of a row group, after a check of all its page headers."""
    pages = sum(held(file, chunk, end) for chunk in group.chunks)
    values = sum(chunk.values * chunk.width for chunk in group.chunks)
    return RowGroup(pages, max(group.unpacked, values) / max(group.rows, 1))


def held(file: BinaryIO, chunk: Chunk, end: int) -> int:
    """Return the bytes of a chunk's largest data page and of its dictionary."""
    most = {DICTIONARY: 0, DATA: 0}
    for page in pages_of(file, chunk, end):
        if chunk.unpacked and page.unpacked > chunk.unpacked:
            raise ValueError(f"a page of {page.unpacked:,} bytes in a column chunk of {chunk.unpacked:,}")
        kind = DICTIONARY if page.type == DICTIONARY else DATA
        most[kind] = max(most[kind], page.unpacked, page.packed)
    return sum(most.values())


def pages_of(file: BinaryIO, chunk: Chunk, end: int) -> Iterator[Page]:
    """Yield the pages that pyarrow will read: until the chunk ends, or all its values have been seen."""
    if chunk.stop > end:
        raise ValueError(f"a column chunk ends at {chunk.stop:,} of {end:,} bytes")
    at, seen = chunk.start, 0
    while seen < chunk.values and at < chunk.stop:
        page, size = header_at(file, at, chunk.stop)
        at, seen = at + size + page.packed, seen + page.values
        if at > chunk.stop:
            raise ValueError(f"a page ends at {at:,}, its column chunk at {chunk.stop:,}")
        yield page


def header_at(file: BinaryIO, at: int, stop: int) -> tuple[Page, int]:
    """Return a page and the number of bytes of its header."""
    size = HEADER_BYTES
    while True:
        reader = Compact(read_at(file, at, min(size, stop - at), stop))
        try:
            page = reader.struct(HEADER)
        except IndexError:
            if at + size >= stop or size >= LONGEST_HEADER:
                raise
            size *= 8
        else:
            return page, reader.at
