"""The clock of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Measures the seconds that a run takes; `earlier` are those before it was resumed."""

    def __init__(self, earlier: float = 0.0) -> None:
        self.earlier, self.started = earlier, time.perf_counter()

    @property
    def seconds(self) -> float:
        """All seconds of the run, including those before it was resumed."""
        return self.earlier + self.since_start

    @property
    def since_start(self) -> float:
        """The seconds since the run began or was resumed; the time limit applies to them."""
        return time.perf_counter() - self.started

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock while the block runs."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.started += time.perf_counter() - began
