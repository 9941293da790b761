"""What became of each column of a table, as lines for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from maxmargin.cli.output import printable
from maxmargin.data.encoding.encoder import Encoder

MOST_LINES = 40  # columns that are shown one by one; of more, only those that are left out or flagged
LONGEST_NAME = 30


def column_lines(encoder: Encoder) -> list[str]:
    """Return one line for each column; for a wide table, a summary and the columns that need attention."""
    columns, lines = encoder.columns, list[str]()
    shown = columns if len(columns) <= MOST_LINES else []
    if not shown:
        kinds = Counter(column.kind for column in columns)
        lines.append(f"  {len(columns):,} columns: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()))
        shown = [column for column in columns if column.kind == "left out"][:MOST_LINES]
    width = max((len(short(column.name)) for column in shown), default=0)
    lines += [f"  {short(column.name):<{width}}  {column.kind:<9} {column.described}" for column in shown]
    return lines + leak_lines(encoder.leaks)


def leak_lines(leaks: Sequence[str]) -> list[str]:
    """Return a warning for columns that alone tell the label."""
    return [
        f"  {name!r} alone tells the label: if it is not known when you predict, leave it out: --drop {quoted(name)}"
        for name in leaks
    ]


def short(name: str) -> str:
    """Return a name of at most LONGEST_NAME characters, printable."""
    name = printable(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


def quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    import shlex

    return shlex.quote(f'"{name}"' if "," in name else name)
