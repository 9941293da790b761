"""Statistics of a table in one pass: missing values, distinct values, ranges, and a sample of the rows.

Counts are exact. The sample is drawn from all rows alike, whatever the size of the batches: each row gets a random
number, and those with the smallest ones stay. Statistics of several parts of a table can be merged in any order: each
part has a number, and random numbers of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import (
    as_numbers,
    check_not_infinite,
    common_type,
    decoded,
    is_encodable,
    is_number,
    kind_in_words,
)
from maxmargin.data.encoding.arrow_text import as_text
from maxmargin.data.encoding.encoder import listed
from maxmargin.errors import DataError

LABEL = "\x00label"  # name of the labels beside a data frame
SAMPLED_ROWS = 20_000
SAMPLED_BYTES = 1 << 26  # the sample is smaller if its rows are long
LONGEST_VALUE = 1000  # bytes of a value that is counted: longer ones are no categories
MOST_VALUES = 1000  # distinct values that are counted: of more, a column is no category


@dataclass
class ColumnStatistics:
    """The statistics of one column; `counts` are those of its values, None if they are numbers or too many.

    `numbers` is None until a value is seen in a column whose type holds nothing but missing values.
    """

    name: str
    numbers: bool | None = None
    missing: int = 0
    counts: dict[str, int] | None = field(default_factory=dict)
    least: float = np.inf
    most: float = -np.inf
    zeros: int = 0

    def add(self, column: Any, place: str, first: int) -> None:
        """Add the values of one batch, whose first row has the number `first`; of lists and structures, nothing."""
        import pyarrow as pa

        if not is_encodable(column.type):
            return
        if pa.types.is_null(column.type):
            self.missing += len(column)
            return
        if self.numbers is None:
            self.numbers = is_number(decoded(column).type)
        if self.numbers:
            values = as_numbers(column, f"{place}: column {self.name!r}")
            finite = np.isfinite(values)
            if not finite.all():
                check_not_infinite(values, f"{place}: column {self.name!r}", first)
                self.missing += len(values)
                values = values[finite]
                self.missing -= len(values)
            self.add_numbers(values)
            return
        texts = as_text(column)
        self.missing += texts.null_count
        if self.counts is not None:
            pairs = short(texts).drop_null().value_counts()
            if len(pairs) > MOST_VALUES:
                self.counts = None
                return
            for value, count in zip(*(pairs.field(name).to_pylist() for name in ("values", "counts")), strict=True):
                self.counts[value] = self.counts.get(value, 0) + count
            if len(self.counts) > MOST_VALUES:
                self.counts = None

    def add_numbers(self, values: np.ndarray) -> None:
        """Add finite numbers."""
        if len(values):
            self.least = min(self.least, float(values.min()))
            self.most = max(self.most, float(values.max()))
            self.zeros += len(values) - int(np.count_nonzero(values))

    def merge(self, other: ColumnStatistics) -> None:
        """Add the statistics of another part of the table."""
        self.numbers = other.numbers if self.numbers is None else self.numbers
        self.missing, self.zeros = self.missing + other.missing, self.zeros + other.zeros
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        if self.counts is not None and other.counts is not None:
            for value, count in other.counts.items():
                self.counts[value] = self.counts.get(value, 0) + count
        if self.counts is not None and (other.counts is None or len(self.counts) > MOST_VALUES):
            self.counts = None


def short(texts: Any) -> Any:
    """Return the texts without those that are too long for a category."""
    from pyarrow import compute

    fits = compute.less_equal(compute.binary_length(texts), LONGEST_VALUE)
    return texts if compute.all(fits).as_py() else texts.filter(fits)


@dataclass
class TableStatistics:
    """The statistics of a table. `part` is the number of this part of it, `place` its name in messages.

    The sample has at most `size` rows and `most` bytes.
    """

    part: int = 0
    place: str = "X"
    rows: int = 0
    columns: dict[str, ColumnStatistics] = field(default_factory=dict)
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0))
    sample: Any = None
    size: int = SAMPLED_ROWS
    most: int = SAMPLED_BYTES

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.part, 2026])

    def add(self, batch: Any, skipped: Iterable[str] = ()) -> None:
        """Add one batch of the table; columns that are `skipped` are in the sample only."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name not in skipped:
                if name not in self.columns:
                    self.columns[name] = ColumnStatistics(name)
                self.columns[name].add(column, self.place, self.rows)
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
        order = np.argsort(every)[: self.size]
        self.sample, self.keys = table.take(order).combine_chunks(), every[order]
        while self.sample.nbytes > self.most and self.size > 1:
            self.size = min(self.size, len(self.keys)) // 2
            self.sample, self.keys = self.sample.take(np.arange(self.size)), self.keys[: self.size]

    def merge(self, other: TableStatistics) -> None:
        """Add the statistics of another part of the table; raise if its columns are different ones."""
        if not other.rows:
            return
        if self.rows:
            mine, theirs = alike(self, other)
        else:
            mine, theirs, self.place = None, other.sample, other.place
        self.rows += other.rows
        for name, column in other.columns.items():
            self.columns.setdefault(name, ColumnStatistics(name)).merge(column)
        self.size, self.most, self.sample = min(self.size, other.size), min(self.most, other.most), mine
        self.keep(theirs, other.keys)

    def copy(self) -> TableStatistics:
        """Return statistics that can be merged into, while these stay as they are."""
        columns = {
            name: replace(one, counts=None if one.counts is None else dict(one.counts))
            for name, one in self.columns.items()
        }
        return replace(self, columns=columns)


def alike(one: TableStatistics, other: TableStatistics) -> tuple[Any, Any]:
    """Return the samples of two parts of a table with the same types; raise if their columns are different ones."""
    names, there = one.sample.schema.names, other.sample.schema.names
    missing, extra = [name for name in names if name not in there], [name for name in there if name not in names]
    if missing or extra:
        said = f"it lacks {listed(missing)}" if missing else f"it has {listed(extra)} besides"
        raise DataError(f"{other.place}: its columns are not those of {one.place}: {said}: give all the same columns")
    kinds = []
    for name in names:
        own, theirs = one.sample.schema.field(name).type, other.sample.schema.field(name).type
        kinds.append(common_type(own, theirs))
        if kinds[-1] is None:
            shown = "y" if name == LABEL else f"column {name!r}"
            raise DataError(
                f"{other.place}: {shown} holds {kind_in_words(theirs)}, and {kind_in_words(own)} in {one.place}: "
                "make it one of them"
            )
    return as_types(one.sample, names, kinds), as_types(other.sample, names, kinds)


def as_types(table: Any, names: list[str], kinds: list[Any]) -> Any:
    """Return the columns of a table, in this order and as these types."""
    import pyarrow as pa

    columns = [table.column(name) for name in names]
    return pa.table(
        [column if column.type == kind else column.cast(kind) for column, kind in zip(columns, kinds, strict=True)],
        names=names,
    )
