"""How fast tables are encoded: megabytes of CSV a second on one core, of the statistics, the encoding, and both.

Seconds are those of the processor, of all threads together, the best of RUNS after one that compiles: a pass of the
statistics with the choice of what columns become, and a pass that parses and encodes all rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from generated import LABEL, write

from maxmargin.data.encoding.request import Request
from maxmargin.data.files import Files

RUNS = 5
HEADS = ["table", "rows", "MB", "statistics, MB/s", "encoding, MB/s", "both, MB/s"]


def encoding_speeds(tables: Iterable[tuple[str, Path, str]], rows: Iterable[int], folder: Path) -> list[list[str]]:
    """Return a row for each table, a file with a label column, and for generated ones with these numbers of rows."""
    found = [speeds(name, path, label) for name, path, label in tables]
    for n in rows:
        path = folder / "generated.csv"
        write(path, n, 1)
        found.append(speeds("generated", path, LABEL))
        path.unlink()
    return found


def speeds(name: str, path: Path, label: str) -> list[str]:
    """Return the row of a table."""
    n, *_ = seconds_of(path, label)
    runs = [seconds_of(path, label)[1:] for _ in range(RUNS)]
    statistics, encoding = (min(run[k] for run in runs) for k in (0, 1))
    size = path.stat().st_size / 1e6
    shown = [f"{size / seconds:.0f}" for seconds in (statistics, encoding, statistics + encoding)]
    row = [name, f"{n:,}", f"{size:.1f}", *shown]
    print(*row, file=sys.stderr, flush=True)
    return row


def seconds_of(path: Path, label: str) -> tuple[int, float, float]:
    """Return the rows of a file, and the seconds of its statistics and of its encoding."""
    files = Files(path, label=label, request=Request(), threads=1)
    began = time.process_time()
    _ = files.encoder
    fitted = time.process_time()
    n = sum(len(block.labels) for block in files.source.blocks())
    return n, fitted - began, time.process_time() - fitted
