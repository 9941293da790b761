"""What Ctrl-C does to a fit of an estimator: the best model is kept, and the caller is told."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from maxmargin.errors import ParameterError
from maxmargin.loop.interrupts import postponed

WAYS = ("raise", "return")


@contextmanager
def interruptible(on_interrupt: str) -> Iterator[None]:
    """A fit that Ctrl-C ends describes its best model; then KeyboardInterrupt ends what called it, such as a search."""
    if on_interrupt not in WAYS:
        raise ParameterError(f"on_interrupt={on_interrupt!r} is not known: choose one of {', '.join(WAYS)}")
    with postponed() as signals:
        try:
            yield
        finally:
            if signal.SIGINT in signals and on_interrupt == "raise":
                raise KeyboardInterrupt
