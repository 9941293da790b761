"""One reading of the rows for several streamed problems: each class against the rest.

A thread reads each block once and puts it into the queue of every problem. No problem is more than WAITING blocks ahead
of the slowest one. A pass begins when every problem waits for it. With one thread, reading and the problems take turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition, Lock, Thread
from typing import TypeVar

from maxmargin.data.reader import WAITING
from maxmargin.data.reduction import PassStoppedError
from maxmargin.data.source import RowBlock

Item = TypeVar("Item")
WAIT_SECONDS = 0.1  # how often a waiting thread looks whether it should stop


class SharedReader:
    """Passes over the blocks that `blocks()` yields, for `problems` problems, at most `at_once` at the same time."""

    def __init__(self, blocks: Callable[[], Iterator[RowBlock]], problems: int, at_once: int, threads: int) -> None:
        self.blocks, self.left, self.at_once = blocks, problems, at_once
        self.turn = Lock() if threads == 1 else None
        self.changed, self.stopped = Condition(), False
        self.waiting = list[Subscription]()
        self.members = list[Subscription]()
        self.error: BaseException | None = None
        self.passes = 0
        self.thread = Thread(target=self.run, name="maxmargin-reader", daemon=True)

    def __enter__(self) -> SharedReader:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.thread.join()

    def end(self) -> None:
        """Stop reading: a problem that waits for a block gets PassStoppedError."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def ended_by_errors(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield the items. An error ends the reading, so that no problem waits for one that never began."""
        try:
            yield from items
        except BaseException:
            self.end()
            raise

    def run(self) -> None:
        """Read pass after pass until `stopped` is set. An error is kept for all problems."""
        try:
            while self.begun():
                blocks = self.blocks()
                while (block := self.next_of(blocks)) is not None:
                    if not self.put(block):
                        return
                self.passes += 1
                if not self.put(None):
                    return
        except BaseException as error:
            with self.changed:
                self.error = error
                self.changed.notify_all()

    def next_of(self, blocks: Iterator[RowBlock]) -> RowBlock | None:
        """Return the next block; None after the last one."""
        if self.turn is None:
            return next(blocks, None)
        with self.turn:
            return next(blocks, None)

    def begun(self) -> bool:
        """Wait until every problem waits for a pass, and begin it. Return False if there is none."""
        with self.changed:
            while not self.stopped and len(self.waiting) < max(min(self.left, self.at_once), 1):
                self.changed.wait()
            self.members, self.waiting = self.waiting, []
            return not self.stopped

    def put(self, block: RowBlock | None) -> bool:
        """Put a block, or None at the end of the pass, into the queues when all have room. Return False if stopped."""
        with self.changed:
            while not self.stopped and any(len(member.queue) >= WAITING for member in self.members):
                self.changed.wait()
            for member in self.members:
                member.queue.append(block)
            self.changed.notify_all()
            return not self.stopped


class Subscription:
    """The part of one problem in a shared reading. `leave` must be called when the problem is solved."""

    def __init__(self, reader: SharedReader) -> None:
        self.reader, self.queue = reader, deque[RowBlock | None]()
        self.joined = self.left = self.has_turn = False

    def next(self, wait: bool) -> RowBlock | None:
        """Return the next block, or None at the end of a pass. Raises NotReadyError if there is neither yet."""
        self.end_turn()
        reader = self.reader
        with reader.changed:
            if not self.joined:
                self.joined = True
                reader.waiting.append(self)
                reader.changed.notify_all()
            if not self.queue and wait:
                reader.changed.wait(WAIT_SECONDS)
            if not self.queue:
                if reader.error is not None:
                    raise reader.error
                if reader.stopped:
                    raise PassStoppedError
                raise NotReadyError
            block = self.queue.popleft()
            self.joined = block is not None
            reader.changed.notify_all()
        self.take_turn()
        return block

    def take_turn(self) -> None:
        """With one thread, wait until no other problem runs and no block is being read."""
        if self.reader.turn is not None:
            self.has_turn = self.reader.turn.acquire()

    def end_turn(self) -> None:
        """Let the others run."""
        if self.has_turn:
            self.has_turn = False
            assert self.reader.turn is not None
            self.reader.turn.release()

    def leave(self) -> None:
        """Tell that the problem is solved: the others no longer wait for it."""
        self.end_turn()
        reader = self.reader
        with reader.changed:
            if self.left:
                return
            self.left = True
            reader.left -= 1
            for group in (reader.members, reader.waiting):
                if self in group:
                    group.remove(self)
            self.queue.clear()
            reader.changed.notify_all()


class NotReadyError(Exception):
    """No block has been read yet."""
