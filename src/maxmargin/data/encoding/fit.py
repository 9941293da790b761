"""Fits an encoder to a table: one pass of statistics, then the choice of what each column becomes.

A column of a CSV file has no type. It is taken for numbers or text by the first rows. If the pass finds that it is the
other, the pass starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from maxmargin.data.encoding.arrow_columns import NotNumbersError, one_array
from maxmargin.data.encoding.choice import chosen, numbers_in_text
from maxmargin.data.encoding.columns import LeftOut
from maxmargin.data.encoding.encoder import Encoder, check_distinct
from maxmargin.data.encoding.leaks import columns_with_label
from maxmargin.data.encoding.request import Request
from maxmargin.data.encoding.statistics import SAMPLED_BYTES, TableStatistics
from maxmargin.data.rows import count_stored
from maxmargin.errors import DataError

TRIED_ROWS = 1000  # rows that tell whether dense rows are smaller
DENSE_FROM = 0.5  # part of the values that is not 0

Scan = Callable[[Mapping[str, bool]], TableStatistics]


def fit_encoder(scan: Scan, request: Request, place: str, typed: bool) -> Encoder:
    """Return an encoder fitted to a table.

    `scan` returns the statistics of the table. It takes the columns that are known to be numbers, or not, and may
    raise `NotNumbersError`. If the columns are `typed`, text of digits stays text.
    """
    types: dict[str, bool] = {name: kind == "number" for name, kind in request.kinds.items() if kind != "drop"}
    while True:
        try:
            statistics = scan(types)
        except NotNumbersError as error:
            if types.get(error.column):
                raise DataError(f"{place}: column {error.column!r} is no number, but {error.value!r}") from error
            types[error.column] = False
            continue
        if not statistics.rows:
            raise DataError(f"{place}: no rows")
        unknown = [] if typed else [name for name in statistics.columns if name not in types]
        numbers = [name for name in unknown if numbers_in_text(statistics, name)]
        if not numbers:
            return encoder_from(statistics, request, place)
        types.update(dict.fromkeys(numbers, True))


def statistics_of(
    batches: Iterable[Any], request: Request, place: str, part: int = 0, most: int = SAMPLED_BYTES
) -> TableStatistics:
    """Return the statistics of the batches of one part of a table, with a sample of at most `most` bytes."""
    found = TableStatistics(part, place, most=most)
    for batch in batches:
        names = batch.schema.names
        if not found.rows:
            check_distinct(names, place)
            request.check(names, place)
        not_used = {request.label, request.weights, *(name for name in names if request.kind_of(name) == "drop")}
        found.add(batch, not_used)
    return found


def encoder_from(statistics: TableStatistics, request: Request, place: str) -> Encoder:
    """Return the encoder that the statistics lead to."""
    sample = statistics.sample
    columns = [
        chosen(statistics, name, request.kind_of(name))
        for name in sample.schema.names
        if name not in (request.label, request.weights)
    ]
    if all(isinstance(column, LeftOut) for column in columns):
        said = (
            "; ".join(f"{one.name!r} is {one.kind}: {one.described}" for one in columns[:3])
            or "there is no column but the labels"
        )
        raise DataError(f"{place}: features are missing: {said}")
    encoder = Encoder(columns, request.label)
    some = sample.slice(0, TRIED_ROWS).combine_chunks()
    tried = encoder.apply({name: one_array(some, name) for name in some.schema.names}, some.num_rows, 0, place)
    width = count_stored(tried) / max(some.num_rows, 1)
    dense, leaks = width > DENSE_FROM * encoder.d, columns_with_label(columns, sample, request.label)
    return Encoder(columns, request.label, dense, leaks, numbers_of(statistics), width * statistics.rows)


def numbers_of(statistics: TableStatistics) -> list[str]:
    """Return the columns that were read as numbers."""
    return [name for name, column in statistics.columns.items() if column.numbers]
