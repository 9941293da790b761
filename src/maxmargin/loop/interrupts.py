"""Ctrl-C, SIGTERM and SIGHUP stop a fit at its next safe point; a second signal stops it at once.

A fit that a signal stops returns its best model. Then SIGTERM and SIGHUP end the process, as they do when no fit is
running. Work that must be done before that, such as saving the model, belongs inside `postponed`.
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
    """Use `event` as the interrupt of all fits on this thread inside the block, so that it ends several at once."""
    token = SHARED.set(event)
    try:
        yield
    finally:
        SHARED.reset(token)


@contextmanager
def postponed() -> Iterator[list[int]]:
    """Yield the signals that have ended fits inside the block. Those that end the process do so after the block."""
    signals: list[int] = []
    token = PENDING.set(signals)
    try:
        yield signals
    finally:
        PENDING.reset(token)
        for number in signals:
            conclude(number)


def conclude(number: int) -> None:
    """Leave a signal to the `postponed` block around it. Without one, raise it again, except for Ctrl-C."""
    pending = PENDING.get()
    if pending is not None:
        pending.append(number)
    elif number != signal.SIGINT:
        signal.raise_signal(number)


@contextmanager
def noticed() -> Iterator[threading.Event]:
    """Yield an event that signals set while the block runs. Off the main thread no signal handler is installed."""
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
    """Whether we may handle this signal: it has the default handler. Ctrl-C may have any, unless it is ignored."""
    now = signal.getsignal(number)
    return now not in (signal.SIG_IGN, None) if number is signal.SIGINT else now is signal.SIG_DFL
