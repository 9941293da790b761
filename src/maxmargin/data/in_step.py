"""Several solvers that share the passes over the same rows.

Each solver runs on its own thread. When every one of them waits for a pass, one of them runs all these passes together,
in one reading of the rows. So several classes, or several C, cost as many readings as the slowest of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from threading import Condition, Lock

import numpy as np

from maxmargin.data.reduction import Executor, Part, Pass, PassStoppedError, RowFacts, Totals

WAIT_SECONDS = 0.1  # how often a waiting solver asks whether it should stop


class Request:
    """The passes of one solver, and their totals or the error when they have been run."""

    def __init__(self, passes: Sequence[Pass]) -> None:
        self.passes = passes
        self.totals: list[Totals] | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether the passes have been run."""
        return self.totals is not None or self.error is not None


class InStep:
    """An Executor for `problems` problems, of which at most `at_once` are solved at the same time."""

    def __init__(self, rows: Executor, problems: int, at_once: int) -> None:
        self.rows, self.left, self.at_once = rows, problems, at_once
        self.changed, self.waiting, self.running = Condition(), list[Request](), False
        self.unsampled, self.broken = problems, False
        self.drawn: Part | None = None
        self.alone = Lock()  # one solver on the sample at a time: each needs as much memory as the sample

    def __getattr__(self, name: str) -> object:
        """Return any other attribute of the rows; the memory for rows is shared."""
        found = getattr(self.rows, name)
        return (lambda: found() / self.at_once) if name == "room_for_rows" else found

    @property
    def threads(self) -> int:
        """Number of threads that the solver of each problem may use."""
        return 1

    @property
    def facts(self) -> RowFacts:
        """Sizes of the data."""
        return self.rows.facts

    def sample(self, size: int, rng: np.random.Generator) -> Part:
        """Return rows drawn at random, the same for all problems. The generator of none of them moves on."""
        with self.changed:
            if self.drawn is None:
                self.drawn = self.rows.sample(size, deepcopy(rng))
            return self.drawn

    def release_sample(self) -> None:
        """Release the sample when every problem has used it."""
        with self.changed:
            self.unsampled -= 1
            if self.unsampled > 0:
                return
            self.drawn = None
            if hasattr(self.rows, "release_sample"):
                self.rows.release_sample()

    def end(self) -> None:
        """Tell that a problem has failed: none of the others makes a further pass."""
        with self.changed:
            self.broken = True
            self.changed.notify_all()

    def leave(self) -> None:
        """Tell that one problem is solved: the others no longer wait for it."""
        with self.changed:
            self.left -= 1
            self.changed.notify_all()

    def reduce(self, passes: Sequence[Pass], stop: Callable[[], object] | None = None) -> list[Totals]:
        """Wait until all solvers wait for a pass, and run all of these passes together."""
        mine = Request(passes)
        with self.changed:
            self.waiting.append(mine)
            self.changed.notify_all()
            while not mine.done:
                if self.broken:
                    raise PassStoppedError
                if not self.running and len(self.waiting) >= min(self.left, self.at_once):
                    self.run_waiting(stop)
                elif not self.changed.wait(WAIT_SECONDS) and stop is not None and stop() and mine in self.waiting:
                    self.waiting.remove(mine)
                    raise PassStoppedError
        if mine.error is not None:
            raise mine.error
        assert mine.totals is not None
        return mine.totals

    def run_waiting(self, stop: Callable[[], object] | None) -> None:
        """Run the passes of all waiting requests, without holding the lock."""
        requests, self.waiting, self.running = self.waiting, [], True
        self.changed.release()
        try:
            totals = iter(self.rows.reduce([one for request in requests for one in request.passes], stop))
            for request in requests:
                request.totals = [next(totals) for _ in request.passes]
        except BaseException as error:
            for request in requests:
                request.error = error
        finally:
            self.changed.acquire()
            self.running = False
            self.changed.notify_all()
