"""Removal of temporary files that a killed process has left behind.

The name of a temporary file contains the process id of its writer, and the writer holds a lock on it. The system
releases the lock when the process ends. So a file is abandoned if it can be locked and its writer is gone. If the
system cannot tell, a file is abandoned when it is older than a day.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

ABANDONED_SECONDS = 24 * 3600.0  # Older files are abandoned where locks cannot tell.
PART_NAME = re.compile(r"\.maxmargin-(?:(\d+)-)?[a-z0-9_]{8}\.part")
FOLDER_NAME = re.compile(r"maxmargin-(\d+)-[a-z0-9_]{8}")


def new_part(folder: Path) -> tuple[int, str]:
    """Create a locked temporary file in a folder; return its file descriptor and its name."""
    sweep(folder, PART_NAME)
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".maxmargin-{os.getpid()}-", suffix=".part")
    lock(handle)
    return handle, name


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a locked temporary folder, in `parent` or where the system has them, that is removed after the block.

    What cannot be removed, such as an open file on Windows, is no error: a later run removes it.
    """
    sweep(parent or Path(tempfile.gettempdir()), FOLDER_NAME)
    with tempfile.TemporaryDirectory(
        prefix=f"maxmargin-{os.getpid()}-", dir=parent, ignore_cleanup_errors=True
    ) as name:
        if sys.platform == "win32":
            yield Path(name)
            return
        handle = os.open(name, os.O_RDONLY)
        try:
            lock(handle)
            yield Path(name)
        finally:
            os.close(handle)


def sweep(folder: Path, pattern: re.Pattern[str]) -> None:
    """Remove files that killed processes of this user have left in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = pattern.fullmatch(entry.name)
            if named and abandoned(entry, named[1]):
                remove(entry)


def abandoned(entry: os.DirEntry[str], writer: str | None) -> bool:
    """Whether the writer of a file is gone; `writer` is the process id in its name."""
    try:
        status = entry.stat(follow_symlinks=False)
        old = time.time() - status.st_mtime > ABANDONED_SECONDS
        if sys.platform == "win32":
            return old
        if status.st_uid != os.getuid() or entry.is_symlink():
            return False
        free = can_lock(entry.path)
    except OSError:
        return False
    return old if free is None else free and (old or (writer is not None and not is_alive(int(writer))))


def remove(entry: os.DirEntry[str]) -> None:
    """Remove a file or a folder; ignore failures."""
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        with suppress(OSError):
            Path(entry.path).unlink()


def lock(handle: int) -> None:
    """Lock an open file for the lifetime of the process, if the file system supports locks."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def can_lock(path: str) -> bool | None:
    """Whether a file can be locked; None if the file system cannot tell."""
    if sys.platform == "win32":
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    else:
        return True
    finally:
        os.close(handle)


def is_alive(process: int) -> bool:
    """Whether a process with this id is running. Not for Windows, where os.kill would end it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
