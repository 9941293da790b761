"""Reading data to predict, in blocks, so that a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from maxmargin.data.expand import find_expansion
from maxmargin.data.files import Files
from maxmargin.data.rows import count_columns
from maxmargin.data.source import RowBlock
from maxmargin.models.linear import Model


def blocks_for(
    model: Model,
    file: Path,
    labels: Path | None,
    labelled: bool = True,
    threads: int | None = None,
    label: str | None = None,
    zero_based: bool = False,
) -> Iterator[RowBlock]:
    """Yield the rows of a file in blocks, with labels if `labelled`. Rows may have fewer features than the model."""
    from maxmargin.system.threads import thread_count

    expansion = find_expansion(model.training.get("expand"))
    width = None if labelled else int(model.training.get("input_d", model.d))
    files = Files(
        file, labels, label, zero_based, threads=thread_count(threads) + 1, expansion=expansion, width=width,
        weights=model.training.get("weights_column"),
    )  # fmt: skip
    for block in files.source.blocks():
        model.check_width(count_columns(block.rows), str(file))
        yield block
