"""Data frames in memory as Arrow columns: pandas, polars, Arrow tables and what else narwhals reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maxmargin.data.collect import stacked
from maxmargin.data.encoding.arrow_columns import one_array
from maxmargin.data.encoding.encoder import Encoder, check_distinct
from maxmargin.data.encoding.fit import encoder_from, statistics_of
from maxmargin.data.encoding.request import Request
from maxmargin.data.encoding.statistics import LABEL, TableStatistics
from maxmargin.data.frames import is_frame, named_frame
from maxmargin.data.rows import Rows
from maxmargin.errors import DataError

ROWS_AT_ONCE = 1 << 16


def is_table(X: Any) -> bool:
    """Whether X is a data frame with columns that can be encoded; one of sparse columns is a sparse matrix."""
    return is_frame(X) and not hasattr(getattr(X, "sparse", None), "to_coo")


def arrow_table(X: Any, name: str = "X") -> Any:
    """Return a data frame as an Arrow table."""
    import pyarrow as pa

    frame = named_frame(X, name)
    names = [str(column) for column in frame.columns]
    check_distinct(names, name)
    arrays = []
    for column, shown in zip(frame.iter_columns(), names, strict=True):
        try:
            arrays.append(column.to_arrow())
        except (pa.ArrowException, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())[:100]
            raise DataError(f"{name}: column {shown!r} mixes types ({reason}): make it text or numbers") from error
    return pa.table(arrays, names=names)


def fit_to_frame(X: Any, y: Any, request: Request) -> Encoder:
    """Return an encoder fitted to a data frame; `y` are the labels beside it."""
    statistics = frame_statistics(X, y, request, "X")
    if statistics.rows == 0:
        raise DataError("X has 0 rows: there is nothing to train on")
    return encoder_beside_labels(statistics, request)


def frame_statistics(X: Any, y: Any, request: Request, place: str, part: int = 0) -> TableStatistics:
    """Return the statistics of a data frame, or of part of one; `y` are the labels beside it."""
    import pyarrow as pa

    table = arrow_table(X, place)
    labels = labels_of(y, table.num_rows)
    table = table.append_column(LABEL, pa.nulls(table.num_rows) if labels is None else labels)
    batches = table.to_batches(max_chunksize=ROWS_AT_ONCE)
    return statistics_of(batches, request._replace(label=LABEL), place, part)


def encoder_beside_labels(statistics: TableStatistics, request: Request) -> Encoder:
    """Return the encoder of data frames that have their labels beside them."""
    return replace(encoder_from(statistics, request._replace(label=LABEL), "X"), label=None)


def labels_of(y: Any, n: int) -> Any:
    """Return labels as an Arrow array, to look for columns that tell them; None if that is impossible."""
    import numpy as np
    import pyarrow as pa

    try:
        found = pa.array(np.asarray(y).reshape(-1), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return None
    return found if len(found) == n else None


def encoded_frame(encoder: Encoder, X: Any, name: str = "X") -> Rows:
    """Return the rows of a data frame, encoded."""
    table = arrow_table(X, name)
    encoder.check(table.schema.names, name)
    wanted = table.select([column.name for column in encoder.used])
    parts, first = [], 0
    for start in range(0, max(table.num_rows, 1), ROWS_AT_ONCE):
        piece = wanted.slice(start, ROWS_AT_ONCE)
        columns = {column: one_array(piece, column) for column in piece.schema.names}
        parts.append(encoder.apply(columns, piece.num_rows, first, name))
        first += piece.num_rows
    return stacked(parts, encoder.d)
