"""Writing a run to its checkpoint: at intervals and at its end. If writing fails, a warning is issued."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from maxmargin.errors import CheckpointWarning, FileError

CHECKPOINT_SECONDS = 30.0  # least time between two checkpoints
SHARE = 20.0  # least time between two checkpoints, in times of the last write: writing takes at most a twentieth


@dataclass(frozen=True)
class Keeping:
    """Where a run saves its checkpoint, and whether to resume from an existing one."""

    checkpoint: Path | None = None
    resume: bool = False
    force: bool = False  # whether to replace a checkpoint of another run


class Saving:
    """The checkpoint of one run."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.last, self.took = path, time.perf_counter(), 0.0
        self.warned = False  # whether the user has been warned that no checkpoint is written

    @property
    def due(self) -> bool:
        """Whether the next checkpoint is due."""
        waited = time.perf_counter() - self.last
        return self.path is not None and waited >= max(CHECKPOINT_SECONDS, SHARE * self.took)

    def save(self, write: Callable[[Path], None]) -> None:
        """Write the checkpoint, if a file is given. A failure warns once and does not end the training."""
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
