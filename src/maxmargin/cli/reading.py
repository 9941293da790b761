"""Data to predict, as a model wants them: a block at a time, so that a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from maxmargin.data_files import Files
from maxmargin.model import Model
from maxmargin.rows.memory import count_columns
from maxmargin.rows.source import RowBlock


def blocks_for(
    model: Model,
    file: Path,
    zero_based: bool,
    threads: int | None,
    label: str | None = None,
    labels: Path | None = None,
) -> Iterator[RowBlock]:
    """The rows and labels of a file that a model can decide on; fewer features than it knows are fine."""
    from maxmargin.cores import thread_count

    for block in Files(file, labels, label, zero_based, threads=thread_count(threads) + 1).source.blocks():
        model.check_width(count_columns(block.rows), str(file))
        yield block
