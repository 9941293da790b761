"""The batches of a CSV file, read by pyarrow: columns of numbers, and columns of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maxmargin.data.encoding.arrow_columns import MISSING, NotNumbersError, is_number
from maxmargin.data.tables.csv_dialect import Dialect, compression_of, dialect_of, opened
from maxmargin.errors import DataError

LEAST_BLOCK = 1 << 18  # bytes that are parsed at once
LINES_A_BLOCK = 16  # at least, if lines are long
CONVERSION = re.compile(r"In CSV column #(\d+): .*?invalid value '?(.*)", re.DOTALL)
NOT_UTF8 = "invalid UTF8 data"
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
            with file, self.reader(text, {}) as reader:
                return {field.name: is_number(field.type) for field in reader.schema}

    def batches(self, numbers: Mapping[str, bool]) -> Iterator[tuple[Any, int]]:
        """Yield the batches with the bytes read so far. Columns that are not `numbers` are text."""
        import pyarrow as pa

        types = {name: pa.float64() if numbers.get(name) else pa.string() for name in self.dialect.names}
        with self.refusing():
            text, file = opened(self.path, self.compression)
            size = self.path.stat().st_size
            with file, self.reader(text, types) as reader:
                for batch in reader:
                    yield batch, min(file.tell(), size)

    def reader(self, text: Any, types: Mapping[str, Any]) -> Any:
        """Return the reader of Arrow."""
        from pyarrow import csv

        dialect = self.dialect
        block = max(self.capacity, LEAST_BLOCK, LINES_A_BLOCK * dialect.longest)
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

    def explained(self, text: str) -> Exception | None:
        """Return the error that says what is wrong; None if Arrow's own must do."""
        path, names = self.path, self.dialect.names
        if found := CONVERSION.search(text):
            column = names[int(found[1])]
            if NOT_UTF8 in text:
                return DataError(f"{path}: column {column!r} holds text that is not UTF-8: save the file as UTF-8")
            return NotNumbersError(column, found[2].rstrip("'"))
        if found := RAGGED.search(text):
            line = f"line {int(found[1])}" if found[1] else "a line"
            return DataError(
                f"{path}: {line} has {found[3]} fields, and the first line {found[2]}: correct it (a field with "
                f"{self.dialect.separator!r} needs quotes)"
            )
        if LONG_RECORD in text:
            return DataError(f"{path}: a line does not end, or is very long: is a quote never closed? Or raise memory")
        return None
