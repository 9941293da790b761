"""Reading data to predict, in blocks, so that a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxmargin.data.encoding.request import requested
from maxmargin.data.expand import find_expansion
from maxmargin.data.files import Files
from maxmargin.data.open_source import files_of, format_of
from maxmargin.data.rows import count_columns
from maxmargin.data.source import RowBlock
from maxmargin.errors import DataError
from maxmargin.models.input_rows import encoder_in
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
    """Yield the rows of a file in blocks, with labels if `labelled`. Rows may have fewer features than the model.

    Tables are encoded as in training, and the column of labels is that of the training unless `label` names another.
    """
    from maxmargin.cli import complain
    from maxmargin.system.threads import thread_count

    training = model.training
    expansion, encoder = find_expansion(training.get("expand")), encoder_in(training)
    if encoder is not None:
        check_table(file, [column.name for column in encoder.used])
    label = label or (encoder.label if encoder is not None else training.get("label_column"))
    width = None if labelled else int(training.get("input_d", model.d))
    files = Files(
        file, labels, label, zero_based, threads=thread_count(threads) + 1,
        expansion=expansion, width=width, weights=training.get("weights_column"), given_encoder=encoder,
        columns=training.get("columns"),
    )  # fmt: skip
    for block in files.source.blocks():
        model.check_width(count_columns(block.rows), str(file))
        yield block
    if encoder is not None and (note := encoder.note()):
        complain(f"note: {file}: {note}")


def files_with(file: Path, labels: Path | None, given: dict[str, Any]) -> Files:
    """Return the files that a command reads without a model, with the options of `train` for reading."""
    from maxmargin.cli.options import values_of

    given = values_of(given)
    request = requested(*(given.pop(name) for name in ("encode", "columns", "drop", "kinds")))
    files = Files(file, labels, request=request, **given)
    files.check()
    return files


def check_table(file: Path, names: list[str]) -> None:
    """Raise unless the file is a table, for a model that was trained on one."""
    from maxmargin.data.encoding.encoder import listed

    for path in files_of(file):
        if path.exists() and not format_of(path).has_columns:
            raise DataError(f"{path}: is no table, and the model was trained on one with {listed(names)}: give a table")
