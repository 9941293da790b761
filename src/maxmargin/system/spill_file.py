"""A vector stored in an unnamed temporary file, so that it takes no memory until the end of a run."""

from __future__ import annotations

import tempfile
from typing import BinaryIO

import numpy as np

from maxmargin.errors import FileError

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
