"""Who reads while another trains: in turns, or in a thread beside.

Either is given a generator of blocks and of ends of passes. Behind the end of a pass it waits until told to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Rows

WAITING = 2  # blocks that wait for the trainer


class Block(NamedTuple):
    """Rows that the reader brings; what part of the file is read."""

    rows: Rows
    y: np.ndarray
    first: int
    read: int


class PassEnd(NamedTuple):
    """The end of a pass, with so many rows in it."""

    rows: int


Passes = Callable[[], Generator[Block | PassEnd]]


class InlineReader:
    """The reader in the trainer's own thread: a block when asked for."""

    def __init__(self, passes: Passes) -> None:
        self.items = passes()

    def __enter__(self) -> InlineReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.items.close()

    def bring(self, wait: bool) -> Block | PassEnd | None:
        """The next block."""
        return next(self.items)

    def go_on(self) -> None:
        """Begin the next pass."""


class ReaderThread:
    """The reader in a thread beside: what it has read waits in a short queue."""

    def __init__(self, passes: Passes) -> None:
        self.passes, self.stop, self.next_pass = passes, Event(), Event()
        self.queue: Queue[Block | PassEnd | BaseException] = Queue(WAITING)
        self.thread = Thread(target=self.run, name="maxmargin-reader", daemon=True)

    def __enter__(self) -> ReaderThread:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.next_pass.set()
        self.thread.join()

    def run(self) -> None:
        """Read until told to stop; an error is handed over like a block."""
        try:
            for item in self.passes():
                self.put(item)
                if isinstance(item, PassEnd):
                    self.next_pass.wait()
                    self.next_pass.clear()
                if self.stop.is_set():
                    return
        except BaseException as error:
            self.put(error)

    def put(self, item: Block | PassEnd | BaseException) -> None:
        """Wait for room in the queue, unless it is over."""
        while not self.stop.is_set():
            try:
                self.queue.put(item, timeout=0.1)
                return
            except Full:
                continue

    def bring(self, wait: bool) -> Block | PassEnd | None:
        """What waits, if anything; where there is nothing else to do, wait for it, but not for ever."""
        try:
            item = self.queue.get(timeout=0.1) if wait else self.queue.get_nowait()
        except Empty:
            return None
        if not isinstance(item, BaseException):
            return item
        try:
            raise item
        finally:
            del item  # its traceback holds this frame

    def go_on(self) -> None:
        """Begin the next pass."""
        self.next_pass.set()
