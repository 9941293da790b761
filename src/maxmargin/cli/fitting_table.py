"""Tables that fit the terminal: the least important columns are left out, and never squeezed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def fitting_table(headings: Sequence[str], rows: Sequence[Sequence[str]], drops: Sequence[str], width: int) -> Any:
    """Return a table, and the headings that were left out, in the order of `drops`, until the rest fits the width.

    The first column may wrap between words.
    """
    shown = list(headings)
    for heading in drops:
        if needed(shown, headings, rows) <= width:
            break
        shown.remove(heading)
    made = table(shown)
    for row in rows:
        made.add_row(*(cell for heading, cell in zip(headings, row, strict=True) if heading in shown))
    return made, [heading for heading in headings if heading not in shown]


def needed(shown: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width that the shown columns need, with a space between them."""
    columns = dict(zip(headings, zip(*rows, strict=True), strict=True)) if rows else {}
    words = [word for name in columns.get(headings[0], ()) for word in name.split()]
    first = max(map(len, [headings[0], *words]))
    return first + sum(1 + max(map(len, [name, *columns.get(name, ())])) for name in shown[1:])


def table(headings: Sequence[str]) -> Any:
    """Return an empty table whose first column may wrap and whose others hold numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, show_edge=False)
    made.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        made.add_column(heading, justify="left" if heading == "status" else "right", no_wrap=True)
    return made
