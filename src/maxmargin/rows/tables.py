"""Tables as sources of rows: CSV, Parquet and Arrow files, a batch at a time, through pyarrow.

One column holds the label. The others are the features, in one of three forms:

    numbers               each column a feature, in the order of the table
    indices and values    two columns of lists: the columns and values of a sparse row, columns counted from 0
    values                one column of lists, all of the same length: a dense row

That is also how `maxmargin convert` writes its block files (see blocks).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import DataError, FileError
from maxmargin.rows.labels import as_whole
from maxmargin.rows.memory import Csr, Dense, Rows
from maxmargin.rows.source import START, Facts, OneFile, Place, RowBlock
from maxmargin.rows.take import first_not_finite, not_finite

LABELS = ("label", "y", "target", "class")  # what a column of labels is called where nobody says
KEY = b"maxmargin"
AT_ONCE = 1 << 16  # rows of a Parquet file
LONG_LINE = 1 << 18  # bytes of a CSV file that are parsed at once, at least
LARGE = 1 << 20  # bytes of a block: then there is memory for threads
NARROW = 2**31 - 1


@dataclass
class TableSource(OneFile):
    """A CSV, Parquet or Arrow file."""

    kind: str
    label: str | None = None
    capacity: int = 1 << 20
    width: int | None = None  # features, where labels are not needed: a column may still be one if it is one too many

    def __post_init__(self) -> None:
        super().__post_init__()
        self.facts = block_file_facts(self.path) if self.kind == "arrow" else None
        self.readers: list[Any] = []  # open, and not in use
        self.names: list[str] | None = None  # of the columns that hold features

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """The batches from there on."""
        import pyarrow as pa

        self.check()
        row = start.row
        try:
            for number, (batch, read) in enumerate(self.batches(start.at), start.at + 1):
                if batch.num_rows:
                    rows, labels = self.taken(batch, row)
                    place, row = Place(0, number - 1, row), row + batch.num_rows
                    yield RowBlock(rows, labels, place, Place(0, number, row), read)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{self.path}: cannot read as {self.kind}: {' '.join(str(error).split())}") from error
        self.check()
        if row == 0:
            raise DataError(f"{self.path}: no rows")

    @property
    def places(self) -> list[Place] | None:
        """Of a block file, which says where blocks end."""
        if self.facts is None or self.facts.ends is None:
            return None
        starts = [0, *self.facts.ends[:-1].tolist()]
        return [Place(0, number, row) for number, row in enumerate(starts)]

    @property
    def any_order(self) -> bool:
        """Whether it is a block file: of any other the blocks are not known, nor how large they are."""
        return self.places is not None

    def block_at(self, place: Place) -> RowBlock:
        """One batch of an Arrow file, which stays open for the next: as often as there are readers at once."""
        import pyarrow as pa

        try:
            try:
                reader = self.readers.pop()
            except IndexError:
                reader = opened(pa.OSFile(str(self.path)), self.capacity >= LARGE)
            batch, total = reader.get_batch(place.at), reader.num_record_batches
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{self.path}: cannot read as {self.kind}: {' '.join(str(error).split())}") from error
        self.readers.append(reader)
        rows, labels = self.taken(batch, place.row)
        last = place.row + batch.num_rows
        read = self.size * (place.at + 1) // total
        return RowBlock(rows, labels, place, Place(0, place.at + 1, last), read)

    def batches(self, first: int) -> Iterator[tuple[Any, int]]:
        """Batches from number `first` on, each with the bytes read up to its end."""
        return {"csv": self.from_csv, "parquet": self.from_parquet, "arrow": self.from_arrow}[self.kind](first)

    def from_csv(self, first: int) -> Iterator[tuple[Any, int]]:
        """The lines of a CSV file with a line of names at its head, plain or compressed."""
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ReadOptions(block_size=max(self.capacity, LONG_LINE), use_threads=False)
        with self.path.open("rb") as file:
            with csv.open_csv(self.text_of(file), read_options=options) as reader:
                names = reader.schema.names
            file.seek(0)
            label = self.label_among(names)
            types = {name: pa.string() if name == label else pa.float64() for name in names}
            convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
            for number, batch in enumerate(csv.open_csv(self.text_of(file), options, convert_options=convert)):
                if number >= first:
                    yield batch, min(file.tell(), self.size)

    def text_of(self, file: Any) -> Any:
        """The text of a CSV file, decompressed."""
        import pyarrow as pa

        return pa.input_stream(pa.PythonFile(file, mode="r"), compression=compression_of(self.path))

    def from_parquet(self, first: int) -> Iterator[tuple[Any, int]]:
        """The row groups of a Parquet file, cut into batches."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=self.capacity) as file:
            total, seen = max(file.metadata.num_rows, 1), 0
            bytes_in_all = sum(file.metadata.row_group(k).total_byte_size for k in range(file.metadata.num_row_groups))
            at_once = max(1, min(AT_ONCE, int(self.capacity * total / max(bytes_in_all, 1))))
            for number, batch in enumerate(file.iter_batches(at_once, use_threads=False)):
                seen += batch.num_rows
                if number >= first:
                    yield batch, self.size * seen // total

    def from_arrow(self, first: int) -> Iterator[tuple[Any, int]]:
        """The batches of an Arrow file: read, not mapped, for a file that shrinks must be an error and not a crash."""
        import pyarrow as pa

        with pa.OSFile(str(self.path)) as file:
            reader = opened(file, self.capacity >= LARGE)
            total = reader.num_record_batches
            number = 0
            for k in range(total):
                batch, read = reader.get_batch(k), self.size * (k + 1) // total
                step = batch.num_rows if self.facts else self.rows_at_once(batch)
                for start in range(0, max(batch.num_rows, 1), max(step, 1)):
                    if number >= first:
                        yield batch.slice(start, step), read
                    number += 1

    def rows_at_once(self, batch: Any) -> int:
        """How many rows of a batch make a block."""
        return max(1, int(self.capacity * batch.num_rows / max(batch.nbytes, 1)))

    def taken(self, batch: Any, first: int) -> tuple[Rows, np.ndarray]:
        """Rows and labels of a batch."""
        names = batch.schema.names
        if len(set(names)) < len(names):
            raise DataError(f"{self.path}: two columns have the same name: give each one of its own")
        label = self.label_among(names)
        self.names = [name for name in names if name != label]
        if not self.names:
            raise DataError(f"{self.path}: there is no column but {label!r}: features are missing")
        rows = self.features({name: batch.column(name) for name in self.names}, first)
        labels = np.zeros(batch.num_rows) if label is None else self.labels(batch.column(label), label, first)
        return rows, labels

    def label_among(self, names: list[str]) -> str | None:
        """Which column holds labels; none, where none is needed and all columns are features."""
        name = self.label or next((name for name in LABELS if name in names), None)
        if self.width is not None and self.label is None and (name is None or len(names) == self.width):
            return None
        if name is None or name not in names:
            said = f"no column {name!r}" if name else f"no column is called {', '.join(LABELS[:-1])} or {LABELS[-1]}"
            listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise DataError(f"{self.path}: {said}: name the column of labels with label= (--label), one of {listed}")
        return name

    def features(self, columns: dict[str, Any], first: int) -> Rows:
        """The rows, whatever form they have."""
        import pyarrow as pa

        lists = {name for name, column in columns.items() if is_list(column.type)}
        for name in lists:
            self.check_whole(columns[name], name, first)
        if set(columns) == lists == {"indices", "values"} and not any(
            pa.types.is_fixed_size_list(columns[name].type) for name in lists
        ):
            return self.sparse(columns["indices"], columns["values"], first)
        if set(columns) == lists == {"values"}:
            return self.dense_lists(columns["values"], first)
        return self.dense_columns(columns, first)

    def check_whole(self, column: Any, name: str, first: int) -> None:
        """Refuse a column with holes."""
        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0), column {name!r} is empty: fill it in")

    def sparse(self, indices: Any, values: Any, first: int) -> Csr:
        """Two columns of lists."""
        ends = indices.offsets.to_numpy().astype(np.int64)
        if not np.array_equal(ends - ends[0], values.offsets.to_numpy().astype(np.int64) - values.offsets[0].as_py()):
            raise DataError(f"{self.path}: a row has more indices than values, or fewer")
        found = indices.flatten().to_numpy(zero_copy_only=False)
        if found.dtype.kind not in "iu":
            raise DataError(f"{self.path}: the lists in column 'indices' hold {found.dtype}: indices are whole numbers")
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
        kind = np.int32 if width <= NARROW else np.int64
        return Csr(numbers, np.ascontiguousarray(found, dtype=kind), indptr, max(width, known))

    def dense_lists(self, values: Any, first: int) -> Dense:
        """A column of lists of the same length."""
        import pyarrow as pa

        flat = self.numbers(values.flatten(), "values", first)
        n = len(values)
        if not pa.types.is_fixed_size_list(values.type):
            lengths = np.diff(values.offsets.to_numpy())
            if np.any(lengths != lengths[0]):
                raise DataError(f"{self.path}: lists in the column 'values' differ in length: add a column 'indices'")
        matrix = flat.reshape(n, -1)
        fault = first_not_finite(flat)
        if fault >= 0:
            row, column = divmod(fault, matrix.shape[1])
            raise not_finite(self.name, first + row, column, flat[fault])
        return Dense(np.ascontiguousarray(matrix))

    def dense_columns(self, columns: dict[str, Any], first: int) -> Dense:
        """Each column a feature."""
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
        """A column as float32 or float64, without holes."""
        import pyarrow as pa

        self.check_whole(column, name, first)
        kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
        if not any(is_kind(column.type) for is_kind in kinds):
            raise DataError(f"{self.path}: column {name!r} is {column.type}, not numbers: encode it, or leave it out")
        array = column.to_numpy(zero_copy_only=False)
        return np.asarray(array if array.dtype in (np.float32, np.float64) else array.astype(np.float64))

    def labels(self, column: Any, name: str, first: int) -> np.ndarray:
        """Labels as numbers or text."""
        import pyarrow as pa

        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0) has no label in column {name!r}")
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        array = column.to_numpy(zero_copy_only=False)
        array = np.asarray(array.astype(str) if array.dtype.kind == "O" else array)
        if self.kind == "csv":
            array = as_numbers(array)
        check_labels(array, self.name, first)
        return array


def opened(file: Any, threads: bool) -> Any:
    """A reader of an Arrow file; threads, which unpack columns side by side, keep some memory each."""
    import pyarrow as pa

    return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=threads))


def increasing(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether the columns of each row increase."""
    rises = indices[1:] > indices[:-1]
    ends = indptr[1:-1]
    rises[ends[(ends > 0) & (ends < len(indices))] - 1] = True
    return bool(np.all(rises))


def is_list(kind: Any) -> bool:
    """Whether a column holds lists."""
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def as_numbers(labels: np.ndarray) -> np.ndarray:
    """Labels that are all numbers as numbers: the columns of a CSV file have no types."""
    try:
        return as_whole(labels.astype(np.float64))
    except ValueError:
        return labels


def check_labels(labels: np.ndarray, name: str, first: int = 0) -> None:
    """Refuse labels that are no numbers."""
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        place = int(np.argmin(np.isfinite(labels)))
        raise DataError(
            f"{name}: row {first + place} (counted from 0) has the label {labels[place]}: labels are finite"
        )


def compression_of(path: Path) -> str | None:
    """By the ending of the name, as CSV files go."""
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(path.suffix)


def block_file_facts(path: Path) -> Facts | None:
    """What a block file says of itself, in its last batch, which is empty; None for any other Arrow file."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            ours = {"label", "values"} <= set(reader.schema.names) <= {"label", "indices", "values"}
            count = reader.num_record_batches if ours else 0
            said = reader.get_batch_with_custom_metadata(count - 1).custom_metadata if count else None
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path}: is not an Arrow file, or it is cut short ({' '.join(str(error).split())})") from error
    if not said or KEY not in said:
        return None
    words = json.loads(said[KEY])
    return Facts(words["n"], words["d"], np.array(words["classes"]), np.array(words["ends"]))
