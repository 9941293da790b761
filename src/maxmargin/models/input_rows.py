"""The rows that a model is given to predict: data frames are encoded as in training, or matched by column names."""

from __future__ import annotations

from typing import Any

from maxmargin.data.encoding.encoder import Encoder, encoder_of, listed
from maxmargin.data.encoding.frames import encoded_frame, is_table
from maxmargin.data.frames import frame_names, named_frame
from maxmargin.data.rows import Csr, Dense, Rows, count_columns
from maxmargin.data.take import take
from maxmargin.errors import DataError
from maxmargin.models.scaling import scaled


def encoder_in(training: dict[str, Any]) -> Encoder | None:
    """Return the encoder that a model keeps, if it was trained on a table."""
    return encoder_of(training["encoder"]) if "encoder" in training else None


def input_rows(training: dict[str, Any], X: Any) -> Rows:
    """Return the rows of X for a model with this description of its training, encoded and scaled as it was."""
    return scaled(training, unscaled_rows(training, X))


def unscaled_rows(training: dict[str, Any], X: Any) -> Rows:
    """Return the rows of X, encoded as in training."""
    if isinstance(X, (Dense, Csr)):
        return take(X)  # read from a file, and encoded as the model says
    if "encoder" not in training:
        return take(in_order(training["columns"], X) if "columns" in training and is_table(X) else X)
    encoder = encoder_of(training["encoder"])
    if is_table(X):
        return encoded_frame(encoder, X)
    rows = take(X)
    if count_columns(rows) != encoder.d:
        names = [column.name for column in encoder.used]
        raise DataError(f"the model was trained on a table with the columns {listed(names)}: give a data frame of them")
    return rows


def in_order(names: list[str], X: Any) -> Any:
    """Return the columns of a data frame in the order of the training; raise if one is missing."""
    missing = [name for name in names if name not in (frame_names(X) or [])]
    if missing:
        raise DataError(f"X: the model was trained with {listed(missing)}, missing here: give the same columns")
    return named_frame(X).select(names).to_native()
