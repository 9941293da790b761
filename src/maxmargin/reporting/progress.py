"""`progress`, a callback of `train` that shows how far a training is: in a notebook as a bar, elsewhere as lines.

    maxmargin.train(X, y, callback=maxmargin.progress())

The bar shows how far the certified gap has come from 1 to the tolerance, on a logarithmic scale.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from math import log
from typing import Any

from maxmargin.errors import ParameterError
from maxmargin.loop.record import Record
from maxmargin.loop.record_text import as_text

SECONDS_BETWEEN = 0.25  # of a bar, so that a notebook is not flooded
SECONDS_BETWEEN_LINES = 2.0


def progress(tol: float = 1e-4) -> Callable[[Record], None]:
    """Return a callback that shows the progress of `train`; `tol` is the tolerance of the training.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [0, 0, 1, 1]
    >>> maxmargin.train(X, y, callback=maxmargin.progress()).status.value
    'converged'
    """
    if not 0.0 < tol < 1.0:
        raise ParameterError(f"tol={tol!r} must be between 0 and 1, as the tolerance of the training")
    handle = notebook_display()
    if handle is None:
        return paced(SECONDS_BETWEEN_LINES, tol, lambda record: print(line(record), file=sys.stderr, flush=True))
    return paced(SECONDS_BETWEEN, tol, lambda record: handle.update(Bar(record, tol)))


def paced(seconds: float, tol: float, show: Callable[[Record], Any]) -> Callable[[Record], None]:
    """Return a callback that shows at most one record in so many seconds, and always one that meets the tolerance."""
    last = -seconds

    def callback(record: Record) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds or record.best.meets(tol):
            last = now
            show(record)

    return callback


def line(record: Record) -> str:
    """Return a record as a line."""
    return f"{as_text(record)}, {record.seconds:.1f} s"


class Bar:
    """A progress bar for notebooks."""

    def __init__(self, record: Record, tol: float) -> None:
        self.text = line(record)
        self.share = min(max(log(max(record.best.relative_gap, tol)) / log(tol), 0.0), 1.0)

    def _repr_html_(self) -> str:
        """Return the bar and what it says."""
        words = escape(self.text)
        return f'<progress max="1" value="{self.share:.3f}" aria-label="progress of the gap"></progress> {words}'

    def __repr__(self) -> str:
        """Return the line, for notebooks that show text only."""
        return self.text


def notebook_display() -> Any:
    """Return a display that can be updated if this is a notebook, else None."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    if running is None or not hasattr(running, "kernel"):
        return None
    from IPython.display import display

    return display("training", display_id=True)
