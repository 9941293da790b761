"""Ctrl-C and SIGTERM as requests: noted, and answered at the next safe moment; a second one at once.

A fit that a signal ends returns its best model. Then SIGTERM and SIGHUP end the process, as they would have done
without a fit under way. Whoever has work to do before that, such as saving the model, does it inside `postponed`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

REQUESTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

PENDING: ContextVar[list[int] | None] = ContextVar("signals", default=None)
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
def postponed() -> Iterator[list[int]]:
    """The signals that have ended fits inside the block; those that end a process do so after the block."""
    signals: list[int] = []
    token = PENDING.set(signals)
    try:
        yield signals
    finally:
        PENDING.reset(token)
        for number in signals:
            conclude(number)


def conclude(number: int) -> None:
    """Leave a signal to the block that postpones it; without one, let it end the process. Ctrl-C has been answered."""
    pending = PENDING.get()
    if pending is not None:
        pending.append(number)
    elif number != signal.SIGINT:
        signal.raise_signal(number)


@contextmanager
def noticed() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets while the block runs; where it cannot or should not, nothing changes."""
    if (shared := SHARED.get()) is not None:
        yield shared
        return
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested
        return

    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()

    before = {number: signal.signal(number, on_signal) for number in REQUESTS if untouched(number)}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in received:
            conclude(number)


def untouched(number: signal.Signals) -> bool:
    """Whether nobody else answers it or wants it ignored; Ctrl-C is ours whoever answers it."""
    now = signal.getsignal(number)
    return now not in (signal.SIG_IGN, None) if number is signal.SIGINT else now is signal.SIG_DFL
