"""Reading data to predict, in blocks, so that a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxmargin.data.encoding.request import requested
from maxmargin.data.files import Files
from maxmargin.data.rows import count_columns
from maxmargin.data.source import RowBlock
from maxmargin.models.input_files import files_for_model
from maxmargin.models.linear import Model


def blocks_for(
    model: Model, file: Path, labels: Path | None, labelled: bool = True, **given: Any
) -> Iterator[RowBlock]:
    """Yield the rows of a file in blocks, with labels if `labelled`. Rows may have fewer features than the model.

    Tables are encoded as in training, and the column of labels is that of the training unless `label` names another.
    """
    from maxmargin.cli import complain

    files = files_for_model(model, file, labels, labelled, **given)
    for block in files.source.blocks():
        model.check_width(count_columns(block.rows), str(file))
        yield block
    if (encoder := files.encoder) is not None and (note := encoder.note()):
        complain(f"note: {file}: {note}")


def files_with(file: Path, labels: Path | None, given: dict[str, Any]) -> Files:
    """Return the files that a command reads without a model, with the options of `train` for reading."""
    from maxmargin.cli.options import values_of

    given = values_of(given)
    request = requested(*(given.pop(name) for name in ("encode", "columns", "drop", "kinds")))
    files = Files(file, labels, request=request, **given)
    files.check()
    return files
