"""The line of progress on a terminal: the gap first, then as much more as the terminal is wide.

⠋ gap 1.2e-03 ━━━━━━━━━━━━━━──────── 0:00:12 epoch 12, objective 1143.37
"""

from __future__ import annotations

from datetime import timedelta
from math import log
from typing import TYPE_CHECKING

from maxmargin.loop.record import Record
from maxmargin.loop.record_text import without_gap

if TYPE_CHECKING:
    from rich.text import Text

FREE_COLUMNS = 4  # at the end of the line: a terminal writes ^C there, and must not begin a new line
BAR_COLUMNS = 20
COLUMNS_FOR_BAR = 60  # with fewer columns there is no bar
PREPARING = "preparing (the first run on a machine compiles for a few seconds)"


def line(record: Record | None, tol: float, seconds: float, spinner: str, columns: int) -> Text:
    """Return the line for a terminal with this many columns; before the first record, what is being done."""
    from rich.text import Text

    clock = str(timedelta(seconds=int(seconds)))
    if record is None:
        made = Text(f"{spinner} {clock} {PREPARING}")
    else:
        gap = max(record.best.relative_gap, 0.0)
        made = Text.assemble(f"{spinner} ", (f"gap {gap:.1e} ", "bold"))
        if columns >= COLUMNS_FOR_BAR:
            full = round(BAR_COLUMNS * fraction(gap, tol))
            made.append("━" * full, "green").append("─" * (BAR_COLUMNS - full) + " ", "dim")
        made.append(f"{clock} {without_gap(record)}")
    made.truncate(max(columns - FREE_COLUMNS, 1), overflow="ellipsis")
    made.no_wrap = True
    return made


def fraction(gap: float, tol: float) -> float:
    """Return how far the gap has come from 1 to `tol` on a logarithmic scale, from 0 to 1."""
    return min(max(log(max(gap, tol)) / log(tol), 0.0), 1.0) if tol < 1.0 else 1.0
