"""The beginning of a text file after decompression: its first lines, and what they are if they are no table."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from pathlib import Path
from typing import Any

from maxmargin.errors import DataError, FileError

BEGINNING = 1 << 16  # bytes that are looked at
LEAST_LINES = 2  # more bytes are looked at if there are fewer lines: the names of 100,000 columns take a megabyte
LONGEST = 1 << 23  # most bytes that are looked at
NULS = 0.2  # part of the bytes: of UTF-16 with ASCII letters it is a half
PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}  # fmt: skip
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
OTHERS = {
    b"PK\x03\x04": ("a ZIP archive or a spreadsheet (.xlsx)", "save the table as CSV"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (.xls)", "save the table as CSV"),
    b"%PDF": ("a PDF file", "save the table as CSV"),
    b"SQLite format 3": ("a database", "export the table as CSV"),
    b"<!doctype": ("HTML", "save the table as CSV"),
    b"<html": ("HTML", "save the table as CSV"),
    b"<?xml": ("XML", "save the table as CSV"),
    b'{"': ("JSON", "write it as CSV, with pandas.read_json(..., lines=True).to_csv(...) for example"),
    b'[{"': ("JSON", "write it as CSV, with pandas.read_json(...).to_csv(...) for example"),
}  # fmt: skip


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
    """Return the first lines of a file after decompression; fewer if the file is damaged."""
    kind = compression_of(path)
    try:
        if kind in ("gzip", "bz2", "xz"):
            reader: Any = {"gzip": gzip, "bz2": bz2, "xz": lzma}[kind]
            with reader.open(path) as stream:
                return first_lines(stream)
        text, file = opened(path, kind)
        with file, text:
            return first_lines(text)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise FileError(f"{path}: cannot read: {' '.join(str(error).split())}") from error


def first_lines(stream: Any) -> bytes:
    """Return the first bytes, more of them as long as they hold few lines."""
    head = bytes(stream.read(BEGINNING))
    while is_cut(head) and head.count(b"\n") < LEAST_LINES and len(head) < LONGEST:
        more = bytes(stream.read(len(head)))
        if not more:
            break
        head += more
    return head


def is_cut(head: bytes) -> bool:
    """Whether the last line may go on after these bytes."""
    return len(head) >= BEGINNING and not head.endswith(b"\n")


def check_is_table(head: bytes, path: Path) -> None:
    """Raise if the first bytes are those of a file that is no table."""
    start = head[:1024].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for mark, (what, remedy) in OTHERS.items():
        if start.startswith(mark.lower()):
            raise FileError(f"{path}: is {what}, and not a table: {remedy}")
    if not any(head.startswith(mark) for mark in MARKS) and head.count(0) > NULS * len(head):
        raise FileError(
            f"{path}: holds many zero bytes: it is UTF-16 without a byte order mark, or no text: save it as UTF-8"
        )


def decoded(head: bytes, encoding: str, path: Path) -> str:
    """Return the text of the first bytes; raise if they are in another encoding."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf8" else encoding)().decode(head)
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise not_utf8(path, f"line {line}", f" (byte {head[error.start]:#04x})") from error


def not_utf8(path: Path, place: str, detail: str = "") -> DataError:
    """Return the error for text in another encoding."""
    return DataError(
        f"{path}: {place} is not UTF-8{detail}: save the file as UTF-8, with iconv -f latin1 -t utf8 for example"
    )
