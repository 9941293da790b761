"""The batches of a CSV file, read by pyarrow: columns of numbers, and columns of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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

    def refusing(self) -> Any:
        """Return a context that turns errors of Arrow into one clear line."""
        return Refusing(self)


class Refusing:
    """Turns errors of Arrow about a CSV file into errors with place, value and remedy."""

    def __init__(self, file: CsvBatches) -> None:
        self.file = file

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Raise another error for one of Arrow."""
        import pyarrow as pa

        if isinstance(error, pa.ArrowInvalid):
            self.explain(str(error), error)

    def explain(self, text: str, error: BaseException) -> None:
        """Raise the error that says what is wrong; leave others to the caller."""
        path, names = self.file.path, self.file.dialect.names
        if found := CONVERSION.search(text):
            column = names[int(found[1])]
            if NOT_UTF8 in text:
                raise DataError(
                    f"{path}: column {column!r} holds text that is not UTF-8: save the file as UTF-8"
                ) from error
            raise NotNumbersError(column, found[2].rstrip("'")) from error
        if found := RAGGED.search(text):
            line = f"line {int(found[1])}" if found[1] else "a line"
            raise DataError(
                f"{path}: {line} has {found[3]} fields, and the first line {found[2]}: correct it (a field with "
                f"{self.file.dialect.separator!r} needs quotes)"
            ) from error
        if LONG_RECORD in text:
            raise DataError(
                f"{path}: a line does not end, or is very long: is a quote never closed? Or raise memory"
            ) from error
