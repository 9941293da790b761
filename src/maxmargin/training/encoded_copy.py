"""Tables that are streamed are encoded once: their rows go into a temporary block file, which all passes read.

A pass over the block file takes a small part of the time of parsing and encoding the tables again, and its blocks can
be read in any order, on several threads. The tables are read in each pass if there is no room on the disk, if encoding
would take a large part of the time limit, or after Ctrl-C.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

from maxmargin.data.files import Files
from maxmargin.data.open_source import files_of, format_of
from maxmargin.data.tables.block_file import write
from maxmargin.loop.interrupts import noticed, sharing
from maxmargin.settings.settings import Settings
from maxmargin.system.buffers import tidy
from maxmargin.system.disk_space import folder_with_room, room_in
from maxmargin.system.temporary_files import temporary_folder

BYTES_A_VALUE = 16.0  # at most, of a value on disk: 12 in sparse rows, and 8 in dense ones, half of which may be zeros
TIME_SHARE = 0.25  # part of the time limit that encoding may take: a pass of the solver takes about as long
# LZ4 halves the file of the generated table in benchmarks/tables. It costs 0.15 s for 500,000 rows when written and
# 0.03 s in each pass; Zstandard costs 0.25 s and 0.09 s and makes the file another quarter smaller.
COMPRESSION = "lz4"


class GivenUpError(Exception):
    """Encoding would take too much time or disk space, or Ctrl-C was pressed."""


@contextmanager
def encoded_once(settings: Settings, files: Files) -> Iterator[tuple[Settings, Files]]:
    """Yield settings with the time that is left, and the files with a copy of their encoded rows, if that is possible.

    The copy is removed after the block. A signal that arrives in the block ends the fit in it, and has its effect when
    the copy has been removed.
    """
    folder = folder_for_copy(files)
    tidy()  # the statistics of the encoder took memory
    if folder is None:
        yield settings, files
        return
    began = time.perf_counter()
    with noticed() as interrupt, sharing(interrupt), temporary_folder(folder) as temporary:
        path = temporary / "rows.arrow"
        copied = copy_rows(files, path, room_in(folder), settings.max_seconds, interrupt)
        tidy()
        left = settings.limits.after(time.perf_counter() - began).max_seconds
        found = replace(files, given_encoder=files.encoder, encoded_copy=path) if copied else files
        yield settings.changed(max_seconds=left), found


def folder_for_copy(files: Files) -> Path | None:
    """Return a folder with room for the encoded rows; None if there is none, or if rows are not encoded."""
    encoder = files.encoder
    if encoder is None or not encoder.stored or not all(format_of(path).has_columns for path in files_of(files.given)):
        return None
    return folder_with_room(BYTES_A_VALUE * encoder.stored)


def copy_rows(files: Files, path: Path, most: float, limit: float | None, interrupt: Event) -> bool:
    """Write the encoded rows to a block file of at most `most` bytes; return whether that was done."""
    began = time.perf_counter()

    def watch(read: int, rows: int) -> None:
        expected = (time.perf_counter() - began) * max(files.source.size / max(read, 1), 1.0)
        late = limit is not None and expected > TIME_SHARE * limit
        if late or interrupt.is_set() or path.stat().st_size > most:
            raise GivenUpError

    try:
        with path.open("wb") as stream:
            write(files.source, stream, COMPRESSION, watch=watch, most=files.budget.block)
    except (GivenUpError, OSError):
        path.unlink(missing_ok=True)
        return False
    return True
