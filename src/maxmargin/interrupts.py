"""Ctrl-C, and a request to end, as a request: noted, and answered at the next safe moment; a second Ctrl-C at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

REQUESTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

SHARED: ContextVar[threading.Event | None] = ContextVar("interrupt", default=None)


@contextmanager
def sharing(event: threading.Event) -> Iterator[None]:
    """Inside the block, on this thread, an interrupt is that event: it ends several things at once."""
    token = SHARED.set(event)
    try:
        yield
    finally:
        SHARED.reset(token)


@contextmanager
def noticed() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets while the block runs; where it cannot or should not, nothing changes."""
    if (shared := SHARED.get()) is not None:
        yield shared
        return
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()

    before = {number: signal.signal(number, on_interrupt) for number in REQUESTS if untouched(number)}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def untouched(number: signal.Signals) -> bool:
    """Whether nobody else answers it or wants it ignored; Ctrl-C is ours whoever answers it."""
    now = signal.getsignal(number)
    return now not in (signal.SIG_IGN, None) if number is signal.SIGINT else now is signal.SIG_DFL
