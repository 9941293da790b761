"""The batches of a CSV file, read by pyarrow: columns of numbers, and columns of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maxmargin.data.encoding.arrow_columns import MISSING, NotNumbersError, is_number
from maxmargin.data.tables.beginning import compression_of, not_utf8, opened
from maxmargin.data.tables.csv_dialect import Dialect, dialect_of
from maxmargin.errors import DataError

LEAST_BLOCK = 1 << 18  # bytes that are parsed at once
LINES_A_BLOCK = 64  # at least, if lines are long
READ_AHEAD = 32  # blocks of text that Arrow's reader holds: kDefaultBackgroundMaxQ in its source
CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?.*?invalid (?:value '?(.*)|UTF8 data)", re.DOTALL)
NOT_UTF8 = "\ufffd"  # stands in the message for bytes that are not UTF-8
REPEATED = "repeats the names of the columns: leave it out"
LONG_RECORD = "straddling object"
RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class CsvBatches:
    """A CSV file as batches of Arrow columns."""

    def __init__(self, path: Path, capacity: int, limit: int) -> None:
        self.path, self.capacity, self.limit = path, capacity, limit
        self.compression = compression_of(path)
        self.dialect: Dialect = dialect_of(path)

    def guessed(self) -> dict[str, bool]:
        """Return whether each column is numbers, judged by the first rows."""
        with self.refusing():
            text, file = opened(self.path, self.compression)
            with file, self.reader(text, {}, 0) as reader:
                return {field.name: is_number(field.type) for field in reader.schema}

    def batches(self, numbers: Mapping[str, bool]) -> Iterator[tuple[Any, int]]:
        """Yield the batches with the bytes read so far. Columns that are not `numbers` are text."""
        import pyarrow as pa

        types = {name: pa.float64() if numbers.get(name) else pa.string() for name in self.dialect.names}
        with self.refusing():
            text, file = opened(self.path, self.compression)
            size = self.path.stat().st_size
            with file, self.reader(text, types, self.capacity) as reader:
                first = 0
                for batch in reader:
                    self.check_names_once(batch, first)
                    first += batch.num_rows
                    yield batch, min(file.tell(), size)

    def check_names_once(self, batch: Any, first: int) -> None:
        """Raise if a row holds the names of the columns again: then all columns are text."""
        from pyarrow import compute

        if not self.dialect.header or any(is_number(field.type) for field in batch.schema):
            return
        repeated = None
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            same = compute.equal(column, name)
            repeated = same if repeated is None else compute.and_(repeated, same)
            if not compute.any(repeated).as_py():
                return
        row = compute.index(repeated, value=True).as_py()
        raise DataError(f"{self.path}: row {first + row:,} (counted from 0) {REPEATED}")

    def reader(self, text: Any, types: Mapping[str, Any], capacity: int) -> Any:
        """Return the reader of Arrow, for blocks of `capacity` bytes if they may be as small and as large as that."""
        from pyarrow import csv

        dialect = self.dialect
        block = min(capacity, self.limit // (2 * READ_AHEAD))  # half a batch of the largest size is read ahead
        block = max(block, LEAST_BLOCK, LINES_A_BLOCK * dialect.longest)
        options = csv.ReadOptions(
            block_size=min(block, max(self.limit, LEAST_BLOCK)), use_threads=False, column_names=dialect.names,
            skip_rows=int(dialect.header), encoding=dialect.encoding,
        )  # fmt: skip
        convert = csv.ConvertOptions(
            column_types=dict(types), null_values=list(MISSING), strings_can_be_null=True, decimal_point=dialect.decimal
        )
        parse = csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True)
        return csv.open_csv(text, options, parse, convert)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Turn errors of Arrow about the file into errors with place, value and remedy."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            found = self.explained(str(error))
            if found is None:
                raise
            raise found from error
        except UnicodeDecodeError as error:
            raise not_utf8(self.path, "the text", f", nor {self.dialect.encoding} throughout") from error

    def explained(self, text: str) -> Exception | None:
        """Return the error that says what is wrong; None if Arrow's own must do."""
        path, names = self.path, self.dialect.names
        if found := CONVERSION.search(text):
            column, value = names[int(found[1])], (found[3] or "").rstrip("'")
            line = f"line {int(found[2]):,}" if found[2] else f"column {column!r}"
            if found[3] is None or NOT_UTF8 in value:
                return not_utf8(path, line)
            if self.dialect.header and value.strip() == column:
                return DataError(f"{path}: {line} {REPEATED}")
            return NotNumbersError(column, value)
        if found := RAGGED.search(text):
            line, counts = f"line {int(found[1]):,}" if found[1] else "a line", (int(found[3]), int(found[2]))
            quote = "; or is a quote never closed?" if counts[0] < counts[1] else ""
            return DataError(
                f"{path}: {line} has {counts[0]} field{'s' * (counts[0] != 1)}, and the first line {counts[1]}: "
                f"correct it (a field with {self.dialect.separator!r} needs quotes{quote})"
            )
        if LONG_RECORD in text:
            return DataError(f"{path}: a line does not end, or is very long: is a quote never closed? Or raise memory")
        return None
