"""A table in several files: each is looked at first, then the statistics of each are merged.

The same steps fit an encoder on one machine, file after file, and on a cluster, where each file is a task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maxmargin.data.encoding.fit import statistics_of
from maxmargin.data.encoding.request import Request
from maxmargin.data.encoding.statistics import SAMPLED_BYTES, TableStatistics
from maxmargin.data.tables.source import TableSource

SAMPLED_SHARE = 0.25  # of the largest batch, for the sample: it is there three times while rows are added


class Look(NamedTuple):
    """What the beginning of a table tells: its columns, that of the labels, those of a CSV file that look like numbers.

    `encodable` is false for rows that are lists of numbers.
    """

    names: Sequence[str]
    label: str | None
    numbers: Mapping[str, bool]
    encodable: bool


def look_at(table: TableSource) -> Look:
    """Look at the beginning of a table."""
    encodable = not table.has_numbers_only  # first, since it checks the file before anything else is read of it
    return Look(table.names_of_file, table.label_of_file, table.guessed(), encodable)


def agreed(looks: Sequence[Look]) -> dict[str, bool]:
    """Return which columns of CSV files are numbers: those that look like numbers in every file."""
    found: dict[str, bool] = {}
    for look in looks:
        for name, numbers in look.numbers.items():
            found[name] = found.get(name, True) and numbers
    return found


def part_of_table(table: TableSource, number: int, request: Request, types: Mapping[str, bool]) -> TableStatistics:
    """Return the statistics of one file of a table."""
    most = min(SAMPLED_BYTES, int(SAMPLED_SHARE * table.limit))
    return statistics_of(table.scan(types), request, table.name, number, most)


def whole_table(tables: Sequence[TableSource], request: Request, types: Mapping[str, bool]) -> TableStatistics:
    """Return the statistics of all files of a table."""
    whole = TableStatistics()
    for number, table in enumerate(tables):
        whole.merge(part_of_table(table, number, request, types))
    return whole
