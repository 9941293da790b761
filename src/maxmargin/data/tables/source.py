"""CSV, Parquet and Arrow files as sources of rows, read by pyarrow one batch at a time.

One column holds the label. The others are the features: encoded, if there is an encoder (see data/encoding), else in
one of the forms of forms.py. `maxmargin convert` writes block files in two of these forms (see block_file).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import NotNumbersError
from maxmargin.data.encoding.encoder import Encoder, check_columns, check_distinct, listed
from maxmargin.data.formats import UNPACKED, Format, How
from maxmargin.data.rows import Rows
from maxmargin.data.source import START, OneFile, Place, RowBlock
from maxmargin.data.tables.arrays import is_list
from maxmargin.data.tables.arrow_sizes import UnpackedSizes
from maxmargin.data.tables.batches import check_batch, check_label_type, check_size, refusing
from maxmargin.data.tables.block_facts import block_file_facts, check_labels_known, check_rows
from maxmargin.data.tables.csv_batches import CsvBatches
from maxmargin.data.tables.csv_dialect import dialect_of
from maxmargin.data.tables.forms import Forms, is_dense_form, is_sparse_form
from maxmargin.data.tables.parquet_pages import ENCRYPTED, MAGIC, RowGroup, row_groups
from maxmargin.data.weights import check_weights
from maxmargin.errors import DataError, FileError

LABELS = ("label", "y", "target", "class")  # default names of the label column
AT_ONCE = 1 << 16  # most rows of a Parquet file that are read at once
LARGE = 1 << 20  # bytes: with blocks of this size or more, there is memory for threads that decompress columns
PACKED_SUFFIXES = ("", ".gz", ".bz2", ".zst", ".lz4", ".xz")
COMPRESSED = 4.0  # typical size of rows relative to their Parquet or Arrow file, which may be compressed


@dataclass
class TableSource(OneFile):
    """A CSV, Parquet or Arrow file."""

    kind: str
    label: str | None = None
    capacity: int = 1 << 20
    width: int | None = None  # number of features, if labels are not needed; one further column may hold labels
    limit: int = 1 << 30  # most bytes of a batch after decompression
    weights: str | None = None  # name of the column of weights, if there is one
    encoder: Encoder | None = None
    columns: Sequence[str] | None = None  # names of the feature columns without an encoder, in their order
    copied: str | None = None  # name of the table whose encoded rows these are, for messages

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sizes = UnpackedSizes(self.path) if self.kind == "arrow" else None
        self.facts = block_file_facts(self.path, self.sizes, self.limit) if self.sizes else None
        self.readers: list[Any] = []  # open readers that are not in use
        self.names: list[str] | None = None  # names of the feature columns

    @property
    def name(self) -> str:
        """Path of the file, or of the table that it is a copy of."""
        return self.copied or super().name

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """Yield the blocks from `start` on, one for each batch."""
        self.check()
        row = start.row
        with refusing(self.path, self.kind):
            for number, (batch, read) in enumerate(self.batches(start.at), start.at + 1):
                if batch.num_rows:
                    rows, labels, weights = self.taken(batch, row)
                    place, row = Place(0, number - 1, row), row + batch.num_rows
                    yield RowBlock(rows, labels, place, Place(0, number, row), read, weights)
        self.check()
        if row == 0:
            raise DataError(f"{self.path}: no rows")

    @property
    def matches_names(self) -> bool:
        """Whether columns are matched by their names, in any order."""
        return self.encoder is not None or self.columns is not None

    @property
    def places(self) -> list[Place] | None:
        """Places of the blocks of a block file; None for other files."""
        if self.facts is None or self.facts.ends is None:
            return None
        starts = [0, *self.facts.ends[:-1].tolist()]
        return [Place(0, number, row) for number, row in enumerate(starts)]

    @property
    def any_order(self) -> bool:
        """Whether the file is a block file: for other files, places and sizes of blocks are unknown."""
        return self.places is not None

    def block_at(self, place: Place) -> RowBlock:
        """Return one batch of an Arrow file. Readers stay open for reuse, one for each concurrent thread."""
        import pyarrow as pa

        with refusing(self.path, self.kind):
            try:
                reader = self.readers.pop()
            except IndexError:
                reader = opened(pa.OSFile(str(self.path)), self.capacity >= LARGE)
            batch, total = self.batch(reader, place.at), reader.num_record_batches
            self.readers.append(reader)
            rows, labels, weights = self.taken(batch, place.row)
        last = place.row + batch.num_rows
        read = self.size * (place.at + 1) // total
        return RowBlock(rows, labels, place, Place(0, place.at + 1, last), read, weights)

    def batches(self, first: int) -> Iterator[tuple[Any, int]]:
        """Yield the batches from number `first` on, each with the bytes read up to its end."""
        return {"csv": self.from_csv, "parquet": self.from_parquet, "arrow": self.from_arrow}[self.kind](first)

    def from_csv(self, first: int) -> Iterator[tuple[Any, int]]:
        """Yield the batches of a CSV file."""
        batches = self.csv.batches(self.csv_numbers())
        try:
            for number, (batch, read) in enumerate(batches):
                if number >= first:
                    yield batch, read
        except NotNumbersError as error:
            remedy = "correct it" if self.encoder else "give numbers, or train with encode='auto'"
            raise DataError(
                f"{self.path}: column {error.column!r} holds {error.value!r}, which is not a number: {remedy}"
            ) from error

    @cached_property
    def csv(self) -> CsvBatches:
        """The reader of a CSV file."""
        return CsvBatches(self.path, self.capacity, self.limit)

    def csv_numbers(self) -> dict[str, bool]:
        """Return which columns of a CSV file are numbers: as in training, or all but the labels."""
        names = self.csv.dialect.names
        if self.encoder is None:
            return dict.fromkeys(names, True) | {str(self.label_among(names)): False}
        return dict.fromkeys([*self.encoder.numbers, str(self.weights)], True)

    @property
    def label_of_file(self) -> str | None:
        """The column of labels, judged by the names of the columns of the file."""
        return self.label_among(self.names_of_file)

    @cached_property
    def names_of_file(self) -> list[str]:
        """The names of the columns of the file."""
        if self.kind == "csv":
            with refusing(self.path, self.kind):
                return self.csv.dialect.names
        return columns_of(self.path, self.kind)

    def scan(self, numbers: Mapping[str, bool]) -> Iterator[Any]:
        """Yield batches for the statistics of an encoder; `numbers` tells which columns of a CSV file are numbers."""
        self.check()
        with refusing(self.path, self.kind):
            if self.kind == "csv":
                label = self.label_among(self.csv.dialect.names)
                yield from (batch for batch, _ in self.csv.batches({**numbers, str(label): False}))
            else:
                for batch, _ in self.batches(0):
                    if (label := self.label_among(batch.schema.names)) is not None:
                        check_label_type(batch.column(label).type, self.path, label)
                    yield batch
        self.check()

    def guessed(self) -> dict[str, bool]:
        """Return which columns of a CSV file look like numbers, by its first rows; {} for other files."""
        if self.kind != "csv":
            return {}
        with refusing(self.path, self.kind):
            return self.csv.guessed()

    @cached_property
    def has_numbers_only(self) -> bool:
        """Whether rows are lists of numbers, which are not encoded."""
        if self.kind == "csv":
            return False
        with refusing(self.path, self.kind):
            batch = next((batch for batch, _ in self.batches(0)), None)
        if batch is None:
            return True
        label = self.label_among(batch.schema.names)
        columns = {name: batch.column(name) for name in batch.schema.names if name not in (label, self.weights)}
        return is_sparse_form(columns) or is_dense_form(columns) or any(is_list(one.type) for one in columns.values())

    @cached_property
    def row_groups(self) -> list[RowGroup]:
        """Row groups of a Parquet file. Their page headers are read once, before the first pass."""
        return row_groups(self.path, self.limit)

    def from_parquet(self, first: int) -> Iterator[tuple[Any, int]]:
        """Yield the row groups of a Parquet file, cut into batches."""
        from pyarrow import parquet

        groups = self.row_groups
        a_row = max((group.row for group in groups), default=1.0)
        check_size(int(a_row), self.limit, self.path, "a row")
        for k, group in enumerate(groups):
            check_size(group.pages, self.limit, self.path, f"row group {k}, one page of each column at a time,")
        at_once = max(1, min(AT_ONCE, int(self.capacity / max(a_row, 1.0))))
        with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=self.capacity) as file:
            total, seen = max(file.metadata.num_rows, 1), 0
            for number, batch in enumerate(file.iter_batches(at_once, use_threads=False)):
                check_size(batch.nbytes, self.limit, self.path, f"batch {number}")
                check_batch(batch, self.path, number)
                seen += batch.num_rows
                if number >= first:
                    yield batch, self.size * seen // total

    def from_arrow(self, first: int) -> Iterator[tuple[Any, int]]:
        """Yield the batches of an Arrow file.

        They are read, not mapped, so that a file that shrinks causes an error and not a crash.
        """
        import pyarrow as pa

        with pa.OSFile(str(self.path)) as file:
            reader = opened(file, self.capacity >= LARGE)
            total = reader.num_record_batches
            number = 0
            for k in range(total):
                batch, read = self.batch(reader, k), self.size * (k + 1) // total
                step = batch.num_rows if self.facts else self.rows_at_once(batch)
                for start in range(0, max(batch.num_rows, 1), max(step, 1)):
                    if number >= first:
                        yield batch.slice(start, step), read
                    number += 1

    def batch(self, reader: Any, number: int) -> Any:
        """Return a batch of an Arrow file. Its size is checked before decompression, its content before use."""
        assert self.sizes is not None
        if reader.num_record_batches != len(self.sizes.batches):
            raise FileError(f"{self.path}: the file has changed since training began: leave it alone, and start again")
        check_size(self.sizes[number], self.limit, self.path, f"batch {number}")
        batch = reader.get_batch(number)
        check_batch(batch, self.path, number)
        if self.facts is not None and number + 1 < reader.num_record_batches:
            check_rows(self.path, self.facts, number, batch.num_rows)
        return batch

    def rows_at_once(self, batch: Any) -> int:
        """Return the number of rows of a batch that make a block."""
        return max(1, int(self.capacity * batch.num_rows / max(batch.nbytes, 1)))

    def taken(self, batch: Any, first: int) -> tuple[Rows, np.ndarray, np.ndarray | None]:
        """Return the rows, labels and weights of a batch, whose first row has the number `first`."""
        names = batch.schema.names
        check_distinct(names, str(self.path))
        label = self.label_among(names)
        columns = {name: batch.column(name) for name in names if name not in (label, self.weights)}
        if not columns:
            raise DataError(f"{self.path}: there is no column but {label!r}: features are missing")
        rows = self.rows_of(columns, batch.num_rows, first)
        labels = np.zeros(batch.num_rows) if label is None else self.forms.labels(batch.column(label), label, first)
        if self.facts is not None:
            check_labels_known(self.path, self.facts, labels, first)
        return rows, labels, self.weights_of(batch, first)

    def rows_of(self, columns: dict[str, Any], n: int, first: int) -> Rows:
        """Return the rows of the columns of a batch: encoded, or the columns that are wanted, in their order."""
        self.names = names = list(columns)
        encoded = is_sparse_form(columns) or is_dense_form(columns)  # by `maxmargin convert`
        if self.encoder is not None and not encoded:
            self.encoder.check(names, str(self.path))
            return self.encoder.apply(columns, n, first, str(self.path))
        if self.columns is not None and not encoded:
            check_columns(self.columns, names, str(self.path))
            columns = {name: columns[name] for name in self.columns}
        return self.forms.features(columns, first)

    @cached_property
    def forms(self) -> Forms:
        """How columns become rows without an encoder."""
        return Forms(self.path, self.facts, self.kind == "csv")

    def weights_of(self, batch: Any, first: int) -> np.ndarray | None:
        """Return the weights of a batch; None if no column is named."""
        if self.weights is None:
            return None
        if self.weights not in batch.schema.names:
            raise DataError(f"{self.path}: no column {self.weights!r}: every table needs the column of weights")
        weights = self.forms.numbers(batch.column(self.weights), self.weights, first).astype(np.float64)
        check_weights(weights, f"{self.path}: column {self.weights!r}, row", first)
        return weights

    def label_among(self, names: list[str]) -> str | None:
        """Return the label column; None if labels are not needed and all columns are features."""
        if self.facts is not None:
            return LABELS[0]  # of a block file, whatever the label of the table was that it comes from
        names = [name for name in names if name != self.weights]
        name = self.label or next((name for name in LABELS if name in names), None)
        if self.width is not None and name not in names and (self.label is None or self.encoder or self.columns):
            return None
        if self.width is not None and self.label is None and self.encoder is None and len(names) == self.width:
            return None
        if name is None or name not in names:
            said = f"no column {name!r}" if name else f"no column is called {', '.join(LABELS[:-1])} or {LABELS[-1]}"
            if self.weights is not None and name == self.weights:
                said = f"column {name!r} holds the weights"
            other = "; or give the data of this model" if self.encoder is not None else ""
            raise DataError(
                f"{self.path}: {said}: name the column of labels with label= (--label), one of {listed(names)}{other}"
            )
        return name


def opened(file: Any, threads: bool) -> Any:
    """Return a reader of an Arrow file. Threads decompress columns in parallel, but each keeps some memory."""
    import pyarrow as pa

    return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=threads))


def table(name: str, title: str, **told: Any) -> Format:
    """Return a format that `TableSource` reads."""

    def opened(path: Path, how: How) -> TableSource:
        return TableSource(
            path, name, how.label, how.capacity, how.width, how.budget.batch, how.weights, how.encoder, how.columns
        )

    return Format(name, title, opened, columns=partial(columns_of, kind=name), **told)


def columns_of(path: Path, kind: str) -> list[str]:
    """Return the names of the columns of a table."""
    import pyarrow as pa
    from pyarrow import parquet

    with refusing(path, kind), pa.OSFile(str(path)) as file:
        if kind == "parquet":
            return list(parquet.read_schema(file).names)
        if kind == "arrow":
            return list(opened(file, threads=False).schema.names)
        return dialect_of(path).names


CSV = table(
    "csv", "CSV", suffixes=tuple(f".{name}{packed}" for name in ("csv", "tsv") for packed in PACKED_SUFFIXES),
    growth=lambda path: 1.0 if path.suffix in (".csv", ".tsv") else UNPACKED,
)  # fmt: skip
PARQUET = table(  # an encrypted file also needs the suffix: PARE may begin a label such as PARENT
    "parquet",
    "Parquet",
    starts=((MAGIC, ""), (ENCRYPTED, ".parquet")),
    usual=(".parquet",),
    growth=lambda path: COMPRESSED,
)
ARROW = table("arrow", "Arrow", starts=((b"ARROW1", ""),), usual=(".arrow",), growth=lambda path: COMPRESSED)
