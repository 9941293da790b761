"""Progress on standard error: a bar on a terminal, otherwise a line every few seconds.

The bar shows how far the certified gap has come from 1 to the tolerance, on a logarithmic scale.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from maxmargin.cli.live_line import line
from maxmargin.loop.record import Record
from maxmargin.loop.record_text import as_text
from maxmargin.system.budget import shown_size

SECONDS_BETWEEN_LINES = 2.0

Show = Callable[[Record], None]


@contextmanager
def progress(tol: float, quiet: bool) -> Iterator[Show]:
    """Yield a callback that shows the progress of training."""
    if quiet:
        yield lambda record: None
    elif sys.stderr.isatty():
        with live_bar(tol) as show:
            yield show
    else:
        yield lines()


@contextmanager
def counting(size: int, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that prints the bytes read and the rows written, every few seconds."""
    last = time.monotonic()

    def show(read: int, rows: int) -> None:
        nonlocal last
        if not quiet and time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            done = f"{read / size:.0%} of {shown_size(size)}, " if size else ""
            print(f"{done}{rows:,} rows", file=sys.stderr, flush=True)

    yield show


@contextmanager
def live_bar(tol: float) -> Iterator[Show]:
    """Yield a callback that updates a line with a bar, a spinner and a clock. The line disappears after training."""
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    console, spinner, started = Console(stderr=True), Spinner("dots"), time.monotonic()
    latest: Record | None = None

    def drawn() -> Text:
        now = time.monotonic()
        return line(latest, tol, now - started, str(spinner.render(now)), console.width)

    def show(record: Record) -> None:
        nonlocal latest
        latest = record

    with Live(get_renderable=drawn, console=console, transient=True, refresh_per_second=8):
        yield show


def lines() -> Show:
    """Return a callback that prints a line on standard error every few seconds."""
    last = time.monotonic()

    def show(record: Record) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{as_text(record)}, {record.seconds:.1f} s", file=sys.stderr, flush=True)

    return show
