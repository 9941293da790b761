"""Folders for large temporary files: on a disk with room for them, not in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

# After the folder of TMPDIR: the Filesystem Hierarchy Standard has it for temporary files that are large.
LARGE_FILES = "/var/tmp"
FREE_SHARE = 0.5  # part of the free disk space that a temporary file may take: others need room too
IN_MEMORY = ("tmpfs", "ramfs")  # file systems whose files take memory, which is what a memory limit saves


def folder_with_room(size: float) -> Path | None:
    """Return a folder on a disk with room for a temporary file of `size` bytes; None if there is none."""
    for folder in (Path(tempfile.gettempdir()), Path(LARGE_FILES)):
        with suppress(OSError):
            if os.access(folder, os.W_OK) and room_in(folder) >= size and not is_in_memory(folder):
                return folder
    return None


def room_in(folder: Path) -> float:
    """Return the bytes that temporary files in a folder may take."""
    return FREE_SHARE * shutil.disk_usage(folder).free


def is_in_memory(folder: Path) -> bool:
    """Whether the files of a folder take memory. Only Linux tells."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    device = folder.stat().st_dev
    for point, kind in mounts:
        with suppress(OSError):
            if kind in IN_MEMORY and Path(point).stat().st_dev == device:
                return True
    return False
