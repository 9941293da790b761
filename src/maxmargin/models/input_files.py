"""The files that a model is given to predict: tables are encoded as in training, rows may have fewer features."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.data.encoding.encoder import listed
from maxmargin.data.expand import find_expansion
from maxmargin.data.files import Files
from maxmargin.data.open_source import files_of, format_of
from maxmargin.errors import DataError
from maxmargin.models.input_rows import encoder_in
from maxmargin.system.threads import thread_count

if TYPE_CHECKING:
    from maxmargin.models.linear import Model

TASKS = {"epsilon-SVR": "regress", "nu-SVR": "regress", "one-class": "novelty"}  # for models that do not name a task


def task_of(training: dict[str, Any]) -> str:
    """Return the task of a model with this summary of its training: classify, regress or novelty."""
    return str(training.get("task") or TASKS.get(training.get("formulation", ""), "classify"))


def files_for_model(
    model: Model,
    given: str | os.PathLike | Sequence[str | os.PathLike],
    labels: Any = None,
    labelled: bool = True,
    threads: int | None = None,
    label: str | None = None,
    zero_based: bool = False,
) -> Files:
    """Return the files, to be read for a model. The column of labels is that of the training unless `label` is given.

    Labels are not needed unless `labelled`.
    """
    training = model.training
    encoder = encoder_in(training)
    if encoder is not None:
        check_table(given, [column.name for column in encoder.used])
    label = label or (encoder.label if encoder is not None else training.get("label_column"))
    width = None if labelled else int(training.get("input_d", model.d))
    return Files(
        given, labels, label, zero_based, threads=thread_count(threads) + 1,
        expansion=find_expansion(training.get("expand")), width=width, weights=training.get("weights_column"),
        given_encoder=encoder, columns=training.get("columns"),
    )  # fmt: skip


def check_table(given: Any, names: list[str]) -> None:
    """Raise unless the files are tables, for a model that was trained on one."""
    for path in files_of(given):
        if Path(path).exists() and not format_of(Path(path)).has_columns:
            raise DataError(f"{path}: is no table, and the model was trained on one with {listed(names)}: give a table")
