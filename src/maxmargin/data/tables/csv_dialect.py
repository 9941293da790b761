"""How a CSV file is written: separator, decimal comma, encoding, compression, column names. Found in its beginning.

separator    , ; tab or |, the one that cuts the first lines into the most fields of the same number
decimal      a comma, if fields are separated by something else and numbers such as 1,5 occur, and no 1.5
encoding     UTF-8 with or without a byte order mark, or UTF-16 with one
names        the first line, unless it holds numbers as the second does: then c1, c2 and so on
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from maxmargin.errors import DataError, FileError

BEGINNING = 1 << 16  # bytes that are looked at
RECORDS = 50  # most records that are looked at
SEPARATORS = ",;\t|"
PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}  # fmt: skip
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
YEARS = re.compile(r"[12]\d{3}")


class Dialect(NamedTuple):
    """How a CSV file is written. `longest` is the length of its longest line in the beginning, in bytes."""

    names: list[str]
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf8"
    header: bool = True
    longest: int = 0


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by its first bytes; None if it has none."""
    with path.open("rb") as stream:
        head = stream.read(6)
    return next((name for start, name in PACKED.items() if head.startswith(start)), None)


def opened(path: Path, kind: str | None) -> tuple[Any, Any]:
    """Return the text of a file, after decompression, and the file itself, for its position."""
    import pyarrow as pa

    if kind == "xz":
        file = path.open("rb")
        return pa.PythonFile(lzma.open(file), mode="r"), file
    file = pa.OSFile(str(path))
    return (pa.CompressedInputStream(file, kind) if kind else file), file


def beginning_of(path: Path) -> bytes:
    """Return the first bytes of a file after decompression; fewer if the file is damaged."""
    kind = compression_of(path)
    try:
        if kind in ("gzip", "bz2", "xz"):
            reader: Any = {"gzip": gzip, "bz2": bz2, "xz": lzma}[kind]
            with reader.open(path) as stream:
                return bytes(stream.read(BEGINNING))
        text, file = opened(path, kind)
        with file, text:
            return bytes(text.read(BEGINNING))
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise FileError(f"{path}: cannot read: {' '.join(str(error).split())}") from error


def dialect_of(path: Path) -> Dialect:
    """Return how a CSV file is written."""
    head = beginning_of(path)
    encoding = next((name for mark, name in MARKS.items() if head.startswith(mark)), "utf8")
    text = decoded(head, encoding, path)
    records = {separator: records_of(text, separator, len(head) == BEGINNING) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda one: (uniform(records[one]), len(records[one][0]) if records[one] else 0))
    found = records[separator]
    if not found:
        raise DataError(f"{path}: no rows")
    header = is_header(found)
    names = [name.strip() or f"column {k}" for k, name in enumerate(found[0], 1)] if header else []
    longest = max(map(len, text.split("\n"))) * (2 if encoding == "utf-16" else 1)
    decimal = "," if separator != "," and has_decimal_commas(found[header:]) else "."
    return Dialect(
        names or [f"c{k}" for k in range(1, len(found[0]) + 1)], separator, decimal, encoding, header, longest
    )


def looks_like_csv(head: bytes) -> bool:
    """Whether the first lines have the same number of fields, two or more, with some separator."""
    encoding = next((name for mark, name in MARKS.items() if head.startswith(mark)), "utf-8-sig")
    text = head.decode(encoding, errors="replace")
    cut = len(head) >= BEGINNING
    return any(len(found := records_of(text, one, cut)) > 1 and uniform(found) for one in SEPARATORS)


def decoded(head: bytes, encoding: str, path: Path) -> str:
    """Return the text of the first bytes; raise if they are in another encoding."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf8" else encoding)().decode(head)
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}: line {line} is not UTF-8 (byte {head[error.start]:#04x}): save the file as UTF-8, "
            "with iconv -f latin1 -t utf8 for example"
        ) from error


def records_of(text: str, separator: str, cut: bool) -> list[list[str]]:
    """Return the first records; the last one is left out if the text is `cut` there."""
    try:
        found = [record for record in csv.reader(text.splitlines(keepends=True), delimiter=separator) if record]
    except csv.Error:
        return []
    return (found[:-1] if cut and len(found) > 1 else found)[:RECORDS]


def uniform(records: list[list[str]]) -> bool:
    """Whether all records have the same number of fields, two or more."""
    return len({len(record) for record in records}) == 1 and len(records[0]) > 1


def is_header(records: list[list[str]]) -> bool:
    """Whether the first record holds names: no field is a number where that of the second is, but for years."""
    if len(records) < 2:
        return True
    pairs = zip(records[0], records[1], strict=False)
    both = [one.strip() for one, other in pairs if NUMBER.fullmatch(one.strip()) and NUMBER.fullmatch(other.strip())]
    return all(YEARS.fullmatch(one) for one in both)


def has_decimal_commas(records: list[list[str]]) -> bool:
    """Whether numbers are written as 1,5."""
    fields = [field.strip() for record in records for field in record]
    commas = sum(COMMA_NUMBER.fullmatch(field) is not None for field in fields)
    return commas > 0 and not any("." in field and NUMBER.fullmatch(field) for field in fields)
