"""Ctrl-C as a request: the first is noted and answered at the next safe moment, the second is obeyed at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticed() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets while the block runs; where it cannot or should not, nothing changes."""
    requested = threading.Event()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield requested
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield requested
    finally:
        signal.signal(signal.SIGINT, before)
