"""The rows of a report: files, arrays or data frames.

Rows of files are read block by block, so the data may be larger than memory: a row costs some tens of bytes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxmargin.data.encoding.frames import is_table
from maxmargin.data.examples import with_labels
from maxmargin.data.files import Files, content_of, is_file
from maxmargin.data.labels import check_length
from maxmargin.data.open_source import files_of
from maxmargin.data.rows import count_columns, count_rows
from maxmargin.errors import DataError
from maxmargin.models.input_files import files_for_model
from maxmargin.models.input_rows import unscaled_rows
from maxmargin.reporting.evidence import Block, Evidence
from maxmargin.reporting.one_pass import Pass
from maxmargin.reporting.subject import Subject
from maxmargin.system.threads import thread_count


def gathered(
    subject: Subject, X: Any, y: Any = None, threads: int | None = None, label: str | None = None,
    zero_based: bool = False,
) -> Evidence:  # fmt: skip
    """Return what the rows tell about the model. X is a file or an array, as for `train`."""
    labelled, threads = subject.task != "novelty", thread_count(threads)
    if is_file(X):
        files = files_for_model(subject.model, X, y, labelled, threads, label, zero_based)
        found = Pass(subject, threads).over(blocks_of(files, subject))
        note = files.encoder.note() if files.encoder is not None else ""
        return found.evidence(Path(files.name).name, was_trained_on(subject, X), note)
    if subject.encoder is not None:
        label = label or subject.encoder.label
    X, y = apart(X, y, label)
    if y is None and labelled:
        raise DataError("y is missing: give the label of each row of X")
    rows = unscaled_rows(subject.training, X)
    y = None if y is None else check_length(y, count_rows(rows))
    return Pass(subject, threads).over([Block(rows, y, 0)]).evidence("X", None, "")


def apart(X: Any, y: Any, label: str | None) -> tuple[Any, Any]:
    """Return rows and labels; the labels may be a column of a data frame."""
    if not is_table(X) or not (isinstance(y, str) or (y is None and label is not None)):
        return X, y
    return with_labels(X, None, y if isinstance(y, str) else label)[:2]


def blocks_of(files: Files, subject: Subject) -> Iterator[Block]:
    """Yield the rows of files in blocks."""
    first = 0
    for block in files.source.blocks():
        subject.model.check_width(count_columns(block.rows), files.name)
        yield Block(block.rows, block.labels, first)
        first += count_rows(block.rows)


def was_trained_on(subject: Subject, X: Any) -> bool | None:
    """Whether the model was trained on these files, by their digests; None if the model does not know its files."""
    known = subject.training.get("data")
    if not isinstance(known, list) or not known:
        return None
    return known == [
        {"file": one.get("file"), "digest": content_of(path)} for one, path in zip(known, files_of(X), strict=False)
    ] and len(known) == len(files_of(X))
