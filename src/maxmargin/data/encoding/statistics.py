"""Statistics of a table in one pass: missing values, distinct values, ranges, and a sample of the rows.

Counts are exact. The sample is drawn from all rows alike, whatever the size of the batches: each row gets a random
number, and those with the smallest ones stay. Statistics of several parts of a table can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import as_numbers, as_text, decoded, is_encodable, is_number

SAMPLED_ROWS = 20_000
SAMPLED_BYTES = 1 << 26  # the sample is smaller if its rows are long
MOST_VALUES = 1000  # distinct values that are counted: of more, a column is no category


@dataclass
class ColumnStatistics:
    """The statistics of one column; `counts` are those of its values, None if they are numbers or too many."""

    name: str
    numbers: bool
    missing: int = 0
    counts: dict[str, int] | None = field(default_factory=dict)
    least: float = np.inf
    most: float = -np.inf
    zeros: int = 0

    def add(self, column: Any, place: str) -> None:
        """Add the values of one batch; of lists and structures, nothing."""
        if not is_encodable(column.type):
            return
        if self.numbers:
            self.add_numbers(as_numbers(column, f"{place}: column {self.name!r}"))
            return
        texts = as_text(column)
        self.missing += texts.null_count
        if self.counts is not None:
            for pair in texts.value_counts():
                value = pair["values"].as_py()
                if value is not None:
                    self.counts[value] = self.counts.get(value, 0) + pair["counts"].as_py()
                    if len(self.counts) > MOST_VALUES:
                        self.counts = None
                        break

    def add_numbers(self, values: np.ndarray) -> None:
        """Add numbers; NaN is missing."""
        missing = int(np.count_nonzero(np.isnan(values)))
        self.missing += missing
        if missing < len(values):
            self.least = min(self.least, float(np.nanmin(values)))
            self.most = max(self.most, float(np.nanmax(values)))
            self.zeros += int(np.count_nonzero(values == 0.0))

    def merge(self, other: ColumnStatistics) -> None:
        """Add the statistics of another part of the table."""
        self.missing, self.zeros = self.missing + other.missing, self.zeros + other.zeros
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        if self.counts is not None and other.counts is not None:
            for value, count in other.counts.items():
                self.counts[value] = self.counts.get(value, 0) + count
        if self.counts is not None and (other.counts is None or len(self.counts) > MOST_VALUES):
            self.counts = None


@dataclass
class TableStatistics:
    """The statistics of a table. `part` distinguishes the parts of one table."""

    part: int = 0
    rows: int = 0
    columns: dict[str, ColumnStatistics] = field(default_factory=dict)
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0))
    sample: Any = None
    size: int = SAMPLED_ROWS

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.part, 2026])

    def add(self, batch: Any, place: str, skipped: Iterable[str] = ()) -> None:
        """Add one batch of the table; columns that are `skipped` are in the sample only."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name not in skipped:
                if name not in self.columns:
                    self.columns[name] = ColumnStatistics(name, is_number(decoded(column).type))
                self.columns[name].add(column, place)
        self.rows += batch.num_rows
        self.draw(batch)

    def draw(self, batch: Any) -> None:
        """Add the rows of a batch to the sample that have small random numbers."""
        keys = self.rng.random(batch.num_rows)
        if len(self.keys) >= self.size:
            some = np.flatnonzero(keys < self.keys[-1])
            if not len(some):
                return
            batch, keys = batch.take(some), keys[some]
        self.keep(batch, keys)

    def keep(self, more: Any, keys: np.ndarray) -> None:
        """Merge rows with their random numbers into the sample."""
        import pyarrow as pa

        tables = [pa.Table.from_batches([more]) if isinstance(more, pa.RecordBatch) else more]
        table = pa.concat_tables([self.sample, *tables] if self.sample is not None else tables)
        every = np.concatenate([self.keys, keys])
        order = np.argsort(every, kind="stable")[: self.size]
        self.sample, self.keys = table.take(order).combine_chunks(), every[order]
        while self.sample.nbytes > SAMPLED_BYTES and self.size > 1:
            self.size = min(self.size, len(self.keys)) // 2
            self.sample, self.keys = self.sample.take(np.arange(self.size)), self.keys[: self.size]

    def merge(self, other: TableStatistics) -> None:
        """Add the statistics of another part of the table."""
        self.rows += other.rows
        for name, column in other.columns.items():
            if name in self.columns:
                self.columns[name].merge(column)
            else:
                self.columns[name] = column
        self.size = min(self.size, other.size)
        if other.sample is not None:
            self.keep(other.sample, other.keys)
