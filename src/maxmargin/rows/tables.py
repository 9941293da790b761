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
from maxmargin.rows.memory import Csr, Dense, Rows
from maxmargin.rows.source import START, Facts, Place, RowBlock, Unchanged
from maxmargin.rows.take import first_not_finite, not_finite

LABELS = ("label", "y", "target", "class")  # what a column of labels is called where nobody says
KEY = b"maxmargin"
AT_ONCE = 1 << 16  # rows of a Parquet file
NARROW = 2**31 - 1


@dataclass
class TableSource:
    """A CSV, Parquet or Arrow file."""

    path: Path
    kind: str
    label: str | None = None
    capacity: int = 1 << 20

    def __post_init__(self) -> None:
        self.unchanged = Unchanged(self.path)
        self.size = self.unchanged.check()
        self.left_out, self.bad = 0, list[str]()
        self.facts = block_file_facts(self.path) if self.kind == "arrow" else None
        self.opened: Any = None

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """The batches from there on."""
        import pyarrow as pa

        self.unchanged.check()
        row = start.row
        try:
            for number, (batch, read) in enumerate(self.batches(start.at), start.at + 1):
                if batch.num_rows:
                    rows, labels = self.taken(batch, row)
                    place, row = Place(0, number - 1, row), row + batch.num_rows
                    yield RowBlock(rows, labels, place, Place(0, number, row), read)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{self.path}: cannot read as {self.kind}: {' '.join(str(error).split())}") from error
        self.unchanged.check()
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
        """Whether it is an Arrow file."""
        return self.kind == "arrow"

    def check(self) -> None:
        """Refuse to go on if the file has changed."""
        self.unchanged.check()

    def block_at(self, place: Place) -> RowBlock:
        """One batch of an Arrow file, which stays open for the next."""
        import pyarrow as pa

        try:
            if self.opened is None:
                self.opened = pa.ipc.open_file(pa.OSFile(str(self.path)))
            batch = self.opened.get_batch(place.at)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{self.path}: cannot read as {self.kind}: {' '.join(str(error).split())}") from error
        rows, labels = self.taken(batch, place.row)
        total, last = self.opened.num_record_batches, place.row + batch.num_rows
        read = self.size * (place.at + 1) // total
        return RowBlock(rows, labels, place, Place(0, place.at + 1, last), read)

    def batches(self, first: int) -> Iterator[tuple[Any, int]]:
        """Batches from number `first` on, each with the bytes read up to its end."""
        return {"csv": self.from_csv, "parquet": self.from_parquet, "arrow": self.from_arrow}[self.kind](first)

    def from_csv(self, first: int) -> Iterator[tuple[Any, int]]:
        """The lines of a CSV file with a line of names at its head, plain or compressed."""
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ReadOptions(block_size=self.capacity, use_threads=False)
        with self.path.open("rb") as file:
            stream = pa.input_stream(pa.PythonFile(file, mode="r"), compression=compression_of(self.path))
            for number, batch in enumerate(csv.open_csv(stream, read_options=options)):
                if number >= first:
                    yield batch, min(file.tell(), self.size)

    def from_parquet(self, first: int) -> Iterator[tuple[Any, int]]:
        """The row groups of a Parquet file, cut into batches."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            total, seen = max(file.metadata.num_rows, 1), 0
            width = max(file.metadata.num_columns, 1)
            at_once = max(1, min(AT_ONCE, self.capacity // (8 * width)))
            for number, batch in enumerate(file.iter_batches(at_once, use_threads=False)):
                seen += batch.num_rows
                if number >= first:
                    yield batch, self.size * seen // total

    def from_arrow(self, first: int) -> Iterator[tuple[Any, int]]:
        """The batches of an Arrow file: read, not mapped, for a file that shrinks must be an error and not a crash."""
        import pyarrow as pa

        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            total = reader.num_record_batches
            for number in range(first, total):
                yield reader.get_batch(number), self.size * (number + 1) // total

    def taken(self, batch: Any, first: int) -> tuple[Rows, np.ndarray]:
        """Rows and labels of a batch."""
        name = self.label or next((name for name in LABELS if name in batch.schema.names), None)
        if name is None or name not in batch.schema.names:
            said = f"no column {name!r}" if name else f"no column is called {', '.join(LABELS[:-1])} or {LABELS[-1]}"
            listed = ", ".join(batch.schema.names[:8]) + (", ..." if len(batch.schema.names) > 8 else "")
            raise DataError(f"{self.path}: {said}: name the column of labels with label= (--label), one of {listed}")
        others = {other: batch.column(other) for other in batch.schema.names if other != name}
        if not others:
            raise DataError(f"{self.path}: there is no column but {name!r}: features are missing")
        return self.features(others, first), self.labels(batch.column(name), name, first)

    def features(self, columns: dict[str, Any], first: int) -> Rows:
        """The rows, whatever form they have."""
        import pyarrow as pa

        if set(columns) == {"indices", "values"}:
            return self.sparse(columns["indices"], columns["values"], first)
        if set(columns) == {"values"} and not pa.types.is_floating(columns["values"].type):
            return self.dense_lists(columns["values"], first)
        return self.dense_columns(columns, first)

    def sparse(self, indices: Any, values: Any, first: int) -> Csr:
        """Two columns of lists."""
        ends = indices.offsets.to_numpy().astype(np.int64)
        if not np.array_equal(ends - ends[0], values.offsets.to_numpy().astype(np.int64) - values.offsets[0].as_py()):
            raise DataError(f"{self.path}: a row has more indices than values, or fewer")
        found, numbers = indices.flatten().to_numpy(), self.numbers(values.flatten(), "values", first)
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

        if column.null_count:
            hole = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{self.path}: row {first + hole} (counted from 0), column {name!r} is empty: fill it in")
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
        return np.asarray(array.astype(str) if array.dtype.kind == "O" else array)


def increasing(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether the columns of each row increase."""
    rises = np.diff(indices) > 0
    ends = indptr[1:-1]
    rises[ends[(ends > 0) & (ends < len(indices))] - 1] = True
    return bool(np.all(rises))


def compression_of(path: Path) -> str | None:
    """By the ending of the name, as CSV files go."""
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(path.suffix)


def block_file_facts(path: Path) -> Facts | None:
    """What a block file says of itself, in its last batch, which is empty; None for any other Arrow file."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            count = reader.num_record_batches
            said = reader.get_batch_with_custom_metadata(count - 1).custom_metadata if count else None
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path}: is not an Arrow file, or it is cut short ({' '.join(str(error).split())})") from error
    if not said or KEY not in said:
        return None
    words = json.loads(said[KEY])
    return Facts(words["n"], words["d"], np.array(words["classes"]), np.array(words["ends"]))
