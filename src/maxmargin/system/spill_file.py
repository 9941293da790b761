"""A vector put aside in a file without a name: what is needed only at the end takes no memory until then."""

from __future__ import annotations

import tempfile
from typing import BinaryIO

import numpy as np

from maxmargin.errors import FileError

PART = 1 << 20  # numbers at once: a write of more may be a part of it only


class SpillFile:
    """Room for one vector."""

    def __init__(self) -> None:
        self.size = 0
        self.file: BinaryIO | None = None

    def put(self, vector: np.ndarray) -> None:
        """Keep this one, in the place of the one before."""
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it lives as long as this does
            self.file.seek(0)
            for start in range(0, len(vector), PART):
                self.file.write(vector[start : start + PART].data)
        except OSError as error:
            raise no_room(vector.nbytes, "weights", error) from error
        self.size = len(vector)

    def take(self) -> np.ndarray:
        """The vector."""
        if self.file is None:
            return np.zeros(0)
        self.file.seek(0)
        return np.fromfile(self.file, dtype=np.float64, count=self.size)

    def close(self) -> None:
        """The file goes."""
        if self.file is not None:
            self.file.close()


def no_room(size: int, what: str, error: OSError) -> FileError:
    """A folder for temporary files that is full, or not there."""
    return FileError(
        f"{tempfile.gettempdir()}: no room for {size:,} bytes of {what} ({error.strerror or error}): "
        "set TMPDIR to a folder that has it"
    )
