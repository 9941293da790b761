"""Vectors in unnamed temporary files: one that takes no memory until the end of a run, and memory-mapped ones."""

from __future__ import annotations

import os
import tempfile
from typing import BinaryIO

import numpy as np

from maxmargin.errors import FileError
from maxmargin.system.buffers import FileMap

NUMBERS_PER_WRITE = 1 << 20  # The system may write only a part of a larger request.


class SpillFile:
    """A temporary file that holds one vector."""

    def __init__(self) -> None:
        self.size = 0
        self.file: BinaryIO | None = None

    def put(self, vector: np.ndarray) -> None:
        """Store a vector in place of the previous one."""
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - `close` closes it
            self.file.seek(0)
            for start in range(0, len(vector), NUMBERS_PER_WRITE):
                self.file.write(vector[start : start + NUMBERS_PER_WRITE].data)
        except OSError as error:
            raise no_room(vector.nbytes, "weights", error) from error
        self.size = len(vector)

    def take(self) -> np.ndarray:
        """Return the vector."""
        if self.file is None:
            return np.zeros(0)
        self.file.seek(0)
        return np.fromfile(self.file, dtype=np.float64, count=self.size)

    def close(self) -> None:
        """Remove the file."""
        if self.file is not None:
            self.file.close()


def no_room(size: int, what: str, error: OSError) -> FileError:
    """Return the error for a folder of temporary files that is full or missing."""
    return FileError(
        f"{tempfile.gettempdir()}: no room for {size:,} bytes of {what} ({error.strerror or error}): "
        "set TMPDIR to a folder that has it"
    )


def in_file(size: int, kind: type, what: str) -> np.ndarray:
    """Return `size` zeros in a temporary file whose disk space is allocated now: a full disk raises an error here."""
    needed = size * np.dtype(kind).itemsize
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, needed)
            else:
                os.truncate(file.fileno(), needed)
            mapping = FileMap(file.fileno(), needed)
    except OSError as error:
        raise no_room(needed, what, error) from error
    return np.frombuffer(mapping, dtype=kind, count=size)
