"""Readers that provide blocks of rows for training: in the thread that trains, or in a thread of their own.

Both take a generator that yields the blocks of each pass and then a `PassEnd`. After a `PassEnd`, `ReaderThread`
waits until `go_on` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Rows

WAITING = 2  # most blocks in the queue


class Block(NamedTuple):
    """Rows with labels ±1, the number of the first row, and the bytes of the file read so far."""

    rows: Rows
    y: np.ndarray
    first: int
    read: int


class PassEnd(NamedTuple):
    """The end of a pass over `rows` rows."""

    rows: int


Passes = Callable[[], Generator[Block | PassEnd | None]]


class InlineReader:
    """A reader in the thread that trains: it reads a block when asked for one."""

    def __init__(self, passes: Passes) -> None:
        self.items = passes()

    def __enter__(self) -> InlineReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.items.close()

    def bring(self, wait: bool) -> Block | PassEnd | None:
        """Return the next block, or the end of the pass; None if a shared reader has not read it yet."""
        return next(self.items)

    def go_on(self) -> None:
        """Do nothing: the next call of `bring` begins the next pass."""


class ReaderThread:
    """A reader in its own thread. Blocks that have been read wait in a short queue."""

    def __init__(self, passes: Passes) -> None:
        self.passes, self.stop, self.next_pass = passes, Event(), Event()
        self.queue: Queue[Block | PassEnd | BaseException | None] = Queue(WAITING)
        self.thread = Thread(target=self.run, name="maxmargin-reader", daemon=True)

    def __enter__(self) -> ReaderThread:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.next_pass.set()
        self.thread.join()

    def run(self) -> None:
        """Read until `stop` is set. An exception is put into the queue like a block."""
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

    def put(self, item: Block | PassEnd | BaseException | None) -> None:
        """Put an item into the queue as soon as there is room, unless `stop` is set."""
        while not self.stop.is_set():
            try:
                self.queue.put(item, timeout=0.1)
                return
            except Full:
                continue

    def bring(self, wait: bool) -> Block | PassEnd | None:
        """Return the next item, or None if there is none; raise the error of the reader.

        With `wait`, wait for the item, but not for ever.
        """
        try:
            item = self.queue.get(timeout=0.1) if wait else self.queue.get_nowait()
        except Empty:
            return None
        if not isinstance(item, BaseException):
            return item
        try:
            raise item
        finally:
            del item  # the traceback refers to this frame: avoid a cycle

    def go_on(self) -> None:
        """Let the thread begin the next pass."""
        self.next_pass.set()
