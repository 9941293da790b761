"""CSV, Parquet and Arrow files as sources of rows, read by pyarrow one batch at a time.

One column holds the label. The others are the features, in one of three forms:

    numbers               each column is a feature, in the order of the table
    indices and values    two columns of lists: the feature indices, from 0, and the values of a sparse row
    values                one column of lists, all of the same length: a dense row

`maxmargin convert` writes block files in the last two forms (see block_file).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.formats import UNPACKED, Format, How
from maxmargin.data.rows import Csr, Dense, Rows
from maxmargin.data.source import START, OneFile, Place, RowBlock
from maxmargin.data.tables.arrays import array_of, as_numbers, check_labels, increasing, is_list
from maxmargin.data.tables.arrow_sizes import UnpackedSizes
from maxmargin.data.tables.batches import check_batch, check_label_type, check_number_type, check_size, refusing, shown
from maxmargin.data.tables.block_facts import block_file_facts, check_labels_known, check_rows
from maxmargin.data.tables.parquet_pages import ENCRYPTED, MAGIC, RowGroup, row_groups
from maxmargin.data.take import first_not_finite, not_finite
from maxmargin.data.weights import check_weights
from maxmargin.errors import DataError, FileError

LABELS = ("label", "y", "target", "class")  # default names of the label column
AT_ONCE = 1 << 16  # most rows of a Parquet file that are read at once
LONG_LINE = 1 << 18  # least bytes of a CSV file that are parsed at once
LARGE = 1 << 20  # bytes: with blocks of this size or more, there is memory for threads that decompress columns
NARROW = 2**31 - 1
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sizes = UnpackedSizes(self.path) if self.kind == "arrow" else None
        self.facts = block_file_facts(self.path, self.sizes, self.limit) if self.sizes else None
        self.readers: list[Any] = []  # open readers that are not in use
        self.names: list[str] | None = None  # names of the feature columns

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
        """Yield the batches of a CSV file, plain or compressed. Its first line holds the column names."""
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ReadOptions(block_size=max(self.capacity, LONG_LINE), use_threads=False)
        with csv.open_csv(self.text_of(self.opened_csv()), read_options=options) as reader:
            names = reader.schema.names
        label = self.label_among(names)
        types = {name: pa.string() if name == label else pa.float64() for name in names}
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        file = self.opened_csv()
        for number, batch in enumerate(csv.open_csv(self.text_of(file), options, convert_options=convert)):
            if number >= first:
                yield batch, min(file.tell(), self.size)

    def opened_csv(self) -> Any:
        """Open the file for one CSV reader. A thread of Arrow reads ahead in it, and closes it at the end."""
        import pyarrow as pa

        return pa.OSFile(str(self.path))

    def text_of(self, file: Any) -> Any:
        """Return the decompressed text of a CSV file."""
        import pyarrow as pa

        kind = compression_of(self.path)
        return pa.CompressedInputStream(file, kind) if kind else file

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
        if len(set(names)) < len(names):
            raise DataError(f"{self.path}: two columns have the same name: give each one of its own")
        label = self.label_among(names)
        self.names = [name for name in names if name not in (label, self.weights)]
        if not self.names:
            raise DataError(f"{self.path}: there is no column but {label!r}: features are missing")
        rows = self.features({name: batch.column(name) for name in self.names}, first)
        labels = np.zeros(batch.num_rows) if label is None else self.labels(batch.column(label), label, first)
        if self.facts is not None:
            check_labels_known(self.path, self.facts, labels, first)
        return rows, labels, self.weights_of(batch, first)

    def weights_of(self, batch: Any, first: int) -> np.ndarray | None:
        """Return the weights of a batch; None if no column is named."""
        if self.weights is None:
            return None
        if self.weights not in batch.schema.names:
            raise DataError(f"{self.path}: no column {self.weights!r}: every table needs the column of weights")
        weights = self.numbers(batch.column(self.weights), self.weights, first).astype(np.float64)
        check_weights(weights, f"{self.path}: column {self.weights!r}, row", first)
        return weights

    def label_among(self, names: list[str]) -> str | None:
        """Return the label column; None if labels are not needed and all columns are features."""
        names = [name for name in names if name != self.weights]
        name = self.label or next((name for name in LABELS if name in names), None)
        if self.width is not None and self.label is None and (name is None or len(names) == self.width):
            return None
        if name is None or name not in names:
            said = f"no column {name!r}" if name else f"no column is called {', '.join(LABELS[:-1])} or {LABELS[-1]}"
            listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            if self.weights is not None and name == self.weights:
                said = f"column {name!r} holds the weights"
            raise DataError(f"{self.path}: {said}: name the column of labels with label= (--label), one of {listed}")
        return name

    def features(self, columns: dict[str, Any], first: int) -> Rows:
        """Return the rows, from columns in any of the three forms."""
        import pyarrow as pa

        lists = {name for name, column in columns.items() if is_list(column.type)}
        if set(columns) == lists == {"indices", "values"} and not any(
            pa.types.is_fixed_size_list(columns[name].type) for name in lists
        ):
            return self.sparse(columns["indices"], columns["values"], first)
        if set(columns) == lists == {"values"}:
            return self.dense_lists(columns["values"], first)
        return self.dense_columns(columns, first)

    def check_whole(self, column: Any, name: str, first: int) -> None:
        """Raise if a column has missing values."""
        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0), column {name!r} is empty: fill it in")

    def sparse(self, indices: Any, values: Any, first: int) -> Csr:
        """Return sparse rows from two columns of lists."""
        import pyarrow as pa

        if not pa.types.is_integer(indices.type.value_type):
            said = shown(indices.type.value_type)
            raise DataError(f"{self.path}: the lists in column 'indices' hold {said}: indices are whole numbers")
        check_number_type(values.type.value_type, self.path, "values")
        for column, name in ((indices, "indices"), (values, "values")):
            self.check_whole(column, name, first)
        ends = indices.offsets.to_numpy().astype(np.int64)
        if not np.array_equal(ends - ends[0], values.offsets.to_numpy().astype(np.int64) - values.offsets[0].as_py()):
            raise DataError(f"{self.path}: a row has more indices than values, or fewer")
        found = indices.flatten().to_numpy(zero_copy_only=False)
        if found.dtype.kind not in "iu":  # a missing number makes the array float64
            raise DataError(f"{self.path}: a list in column 'indices' has a missing number: fill it in")
        numbers = self.numbers(values.flatten(), "values", first)
        if found.size and (found.min() < 0 or found.max() >= 2**62):
            raise DataError(f"{self.path}: an index is below 0 or far too large: indices are counted from 0")
        indptr = ends - ends[0]
        if not increasing(found, indptr):
            raise DataError(f"{self.path}: indices must increase within a row: sort them, add up what is twice there")
        fault = first_not_finite(numbers)
        if fault >= 0:
            row = int(np.searchsorted(indptr, fault, side="right")) - 1
            raise not_finite(self.name, first + row, int(found[fault]), numbers[fault])
        width = int(found.max()) + 1 if found.size else 0
        known = self.facts.d if self.facts else 0
        if self.facts and width > known:
            raise DataError(
                f"{self.path}: rows from number {first} on have {width} features, the block file says {known}: "
                "convert the data again"
            )
        kind = np.int32 if width <= NARROW else np.int64
        return Csr(numbers, np.ascontiguousarray(found, dtype=kind), indptr, max(width, known))

    def dense_lists(self, values: Any, first: int) -> Dense:
        """Return dense rows from a column of lists of the same length."""
        import pyarrow as pa

        check_number_type(values.type.value_type, self.path, "values")
        self.check_whole(values, "values", first)
        if pa.types.is_fixed_size_list(values.type):
            width = values.type.list_size
        else:
            lengths = np.diff(values.offsets.to_numpy())
            width = int(lengths[0])
            if np.any(lengths != width):
                raise DataError(f"{self.path}: lists in the column 'values' differ in length: add a column 'indices'")
        if width == 0 or (self.facts and width != self.facts.d):
            said = f", the block file says {self.facts.d}" if self.facts else ""
            raise DataError(f"{self.path}: lists in the column 'values' have {width} values{said}: give each row some")
        flat = self.numbers(values.flatten(), "values", first)
        matrix = flat.reshape(len(values), width)
        fault = first_not_finite(flat)
        if fault >= 0:
            row, column = divmod(fault, matrix.shape[1])
            raise not_finite(self.name, first + row, column, flat[fault])
        return Dense(np.ascontiguousarray(matrix))

    def dense_columns(self, columns: dict[str, Any], first: int) -> Dense:
        """Return dense rows from columns that are features."""
        arrays = [self.numbers(column, name, first) for name, column in columns.items()]
        kind = np.float32 if all(array.dtype == np.float32 for array in arrays) else np.float64
        matrix = np.empty((len(arrays[0]), len(arrays)), dtype=kind)
        for place, (name, array) in enumerate(zip(columns, arrays, strict=True)):
            fault = first_not_finite(array)
            if fault >= 0:
                raise DataError(f"{self.path}: row {first + fault} (counted from 0), column {name!r} is {array[fault]}")
            matrix[:, place] = array
        return Dense(matrix)

    def numbers(self, column: Any, name: str, first: int) -> np.ndarray:
        """Return a column as float32 or float64; raise if values are missing."""
        check_number_type(column.type, self.path, name)
        self.check_whole(column, name, first)
        array = array_of(column)
        return np.asarray(array if array.dtype in (np.float32, np.float64) else array.astype(np.float64))

    def labels(self, column: Any, name: str, first: int) -> np.ndarray:
        """Return the labels as numbers or text."""
        import pyarrow as pa

        check_label_type(column.type, self.path, name)
        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0) has no label in column {name!r}")
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = column.dictionary_encode()
        array = array_of(column)
        array = np.asarray(array.astype(str) if array.dtype.kind == "O" else array)
        if self.kind == "csv":
            array = as_numbers(array)
        check_labels(array, self.name, first)
        return array


def opened(file: Any, threads: bool) -> Any:
    """Return a reader of an Arrow file. Threads decompress columns in parallel, but each keeps some memory."""
    import pyarrow as pa

    return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=threads))


def compression_of(path: Path) -> str | None:
    """Return the compression of a CSV file by the suffix of its name; None if it has none."""
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(path.suffix)


def table(name: str, title: str, **told: Any) -> Format:
    """Return a format that `TableSource` reads."""

    def opened(path: Path, how: How) -> TableSource:
        return TableSource(path, name, how.label, how.capacity, how.width, how.budget.batch, how.weights)

    return Format(name, title, opened, columns=partial(columns_of, kind=name), **told)


def columns_of(path: Path, kind: str) -> list[str]:
    """Return the names of the columns of a table."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    with refusing(path, kind), pa.OSFile(str(path)) as file:
        if kind == "parquet":
            return list(parquet.read_schema(file).names)
        if kind == "arrow":
            return list(opened(file, threads=False).schema.names)
        packed = compression_of(path)
        with csv.open_csv(pa.CompressedInputStream(file, packed) if packed else file) as reader:
            return list(reader.schema.names)


CSV = table(
    "csv", "CSV", suffixes=(".csv", ".csv.gz", ".csv.bz2", ".csv.zst"),
    growth=lambda path: 1.0 if path.suffix == ".csv" else UNPACKED,
)  # fmt: skip
PARQUET = table(  # an encrypted file also needs the suffix: PARE may begin a label such as PARENT
    "parquet",
    "Parquet",
    starts=((MAGIC, ""), (ENCRYPTED, ".parquet")),
    usual=(".parquet",),
    growth=lambda path: COMPRESSED,
)
ARROW = table("arrow", "Arrow", starts=((b"ARROW1", ""),), usual=(".arrow",), growth=lambda path: COMPRESSED)
