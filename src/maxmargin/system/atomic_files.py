"""Atomic writing: to a temporary file beside the target, which is then renamed. Also, the first bytes of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maxmargin.errors import FileError
from maxmargin.system.temporary_files import new_part


def beginning(path: str | Path, count: int) -> bytes:
    """Return the first bytes of a regular file. Pipes give b"", because they can be read only once."""
    try:
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as stream:
            return stream.read(count)
    except OSError:
        return b""


def check_writable(path: str | Path) -> None:
    """Raise if `path` cannot be written, so that the error comes before the work."""
    target = Path(path)
    try:
        folder = target.resolve().parent
        target.exists()
    except OSError as error:
        raise FileError(f"{target}: cannot write: {error.strerror or error}") from error
    if target.is_dir():
        raise FileError(f"{target}: is a folder: name a file to write")
    if not folder.is_dir():
        raise FileError(f"{target}: the folder {folder} does not exist: make it first")
    if not os.access(target if target.exists() and not target.is_file() else folder, os.W_OK):
        raise FileError(f"{target}: no permission to write in {folder}")


def check_apart(*paths: str | Path | None) -> None:
    """Raise if two of the paths are the same file."""
    seen: set[Path] = set()
    for path in paths:
        if path is not None and not Path(path).is_char_device():
            place = Path(path).resolve()
            if place in seen:
                raise FileError(f"{path}: would be written over itself: give each file a name of its own")
            seen.add(place)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` only if the block succeeds.

    Pipes and devices are written to directly. An `OSError` becomes a `FileError`, and the old file stays.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
        else:
            with _renamed_at_the_end(target.resolve()) as stream:
                yield stream
    except OSError as error:
        raise FileError(f"{target}: cannot write: {error.strerror or error}") from error


@contextmanager
def _renamed_at_the_end(target: Path) -> Iterator[BinaryIO]:
    handle, name = new_part(target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(_mode(target))
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


def _mode(target: Path) -> int:
    """Return the permissions of the replaced file, or those of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
