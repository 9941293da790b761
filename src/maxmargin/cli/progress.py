"""Progress on standard error: a bar on a terminal, otherwise a line every few seconds.

The bar shows how far the certified gap has come from 1 to the tolerance, on a logarithmic scale.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log
from typing import Any

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


def fraction(gap: float, tol: float) -> float:
    """Return how far the gap has come from 1 to `tol` on a logarithmic scale, from 0 to 1."""
    return min(max(log(max(gap, tol)) / log(tol), 0.0), 1.0) if tol < 1.0 else 1.0


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
    """Yield a callback that updates a bar with a spinner and a clock. The bar disappears after training."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns: list[Any] = [
        SpinnerColumn(),
        BarColumn(bar_width=30),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("preparing (the first run on a machine compiles for a few seconds)", total=1.0)

        def show(record: Record) -> None:
            bar.update(task, completed=fraction(record.best.relative_gap, tol), description=as_text(record))

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
