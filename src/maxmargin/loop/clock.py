"""The clock of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds that a run has taken, those before a resumption too."""

    def __init__(self, earlier: float = 0.0) -> None:
        self.earlier, self.started = earlier, time.perf_counter()

    @property
    def seconds(self) -> float:
        """All of them."""
        return self.earlier + self.since_start

    @property
    def since_start(self) -> float:
        """Those since the run began or was resumed: what a time limit counts."""
        return time.perf_counter() - self.started

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Time in the block does not count."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.started += time.perf_counter() - began
