"""When a run is written to its checkpoint: now and then, and at its end. One that cannot be written costs a warning."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from maxmargin.errors import CheckpointWarning, FileError

CHECKPOINT_SECONDS = 30.0  # between two of them,
SHARE = 20.0  # and this many times what the last one took: writing takes at most a twentieth of the time


@dataclass(frozen=True)
class Keeping:
    """Where a run is kept, and whether to go on from what is there."""

    checkpoint: Path | None = None
    resume: bool = False
    force: bool = False  # whether to replace a checkpoint of another run


class Saving:
    """The checkpoint of one run."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.last, self.took = path, time.perf_counter(), 0.0
        self.warned = False  # whether the user knows that no checkpoint is written

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        waited = time.perf_counter() - self.last
        return self.path is not None and waited >= max(CHECKPOINT_SECONDS, SHARE * self.took)

    def save(self, write: Callable[[Path], None]) -> None:
        """Write, if there is a file for it; if that fails, say so once: the model is worth more than a checkpoint."""
        if self.path is None:
            return
        began = time.perf_counter()
        try:
            write(self.path)
        except FileError as error:
            if not self.warned:
                message = f"{error}; training goes on without a checkpoint: make room, or name another file"
                warnings.warn(message, CheckpointWarning, stacklevel=2)
            self.warned = True
        self.last = time.perf_counter()
        self.took = self.last - began
