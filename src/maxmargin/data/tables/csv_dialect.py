"""How a CSV file is written: separator, decimal comma, encoding, compression, column names. Found in its beginning.

separator    , ; tab or |, the one that cuts the first lines into the most fields of the same number
decimal      a comma, if fields are separated by something else and numbers such as 1,5 occur, and no 1.5
encoding     UTF-8 with or without a byte order mark, or UTF-16 with one
names        the first line, unless it holds numbers as the second does: then c1, c2 and so on
"""

from __future__ import annotations

import csv
import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from maxmargin.data.encoding.encoder import check_distinct
from maxmargin.data.tables.beginning import LONGEST, MARKS, beginning_of, check_is_table, decoded, is_cut
from maxmargin.errors import DataError

RECORDS = 50  # most records that are looked at
SEPARATORS = ",;\t|"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
YEARS = re.compile(r"[12]\d{3}")


class Dialect(NamedTuple):
    """How a CSV file is written. `longest` is the length of its longest line in the beginning, in bytes."""

    names: list[str]
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf8"
    header: bool = True
    longest: int = 0


def dialect_of(path: Path) -> Dialect:
    """Return how a CSV file is written."""
    head = beginning_of(path)
    check_is_table(head, path)
    encoding = next((name for mark, name in MARKS.items() if head.startswith(mark)), "utf8")
    text = decoded(head, encoding, path)
    records = {separator: records_of(text, separator, is_cut(head)) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda one: (uniform(records[one]), len(records[one][0]) if records[one] else 0))
    found = records[separator]
    if not found:
        raise DataError(f"{path}: no rows")
    header = is_header(found)
    names = [name.strip() or f"column {k}" for k, name in enumerate(found[0], 1)] if header else []
    check_distinct(names, str(path))
    longest = max(map(len, text.split("\n"))) * (2 if encoding == "utf-16" else 1)
    decimal = "," if separator != "," and has_decimal_commas(found[header:]) else "."
    return Dialect(
        names or [f"c{k}" for k in range(1, len(found[0]) + 1)], separator, decimal, encoding, header, longest
    )


def looks_like_csv(head: bytes) -> bool:
    """Whether the first lines have the same number of fields, two or more, with some separator."""
    encoding = next((name for mark, name in MARKS.items() if head.startswith(mark)), "utf-8-sig")
    text = head.decode(encoding, errors="replace")
    return any(len(found := records_of(text, one, is_cut(head))) > 1 and uniform(found) for one in SEPARATORS)


def records_of(text: str, separator: str, cut: bool) -> list[list[str]]:
    """Return the first records; the last one is left out if the text is `cut` there."""
    before = csv.field_size_limit(LONGEST)
    try:
        records = filter(None, csv.reader(text.splitlines(keepends=True), delimiter=separator))
        found = list(islice(records, RECORDS + 1))
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(before)
    return (found[:-1] if cut and len(found) > 1 else found)[:RECORDS]


def uniform(records: list[list[str]]) -> bool:
    """Whether all records have the same number of fields, two or more."""
    return len({len(record) for record in records}) == 1 and len(records[0]) > 1


def is_header(records: list[list[str]]) -> bool:
    """Whether the first record holds names: no field is a number where that of the second is, but for years."""
    if len(records) < 2:
        return True
    pairs = zip(records[0], records[1], strict=False)
    both = [one.strip() for one, other in pairs if NUMBER.fullmatch(one.strip()) and NUMBER.fullmatch(other.strip())]
    return all(YEARS.fullmatch(one) for one in both)


def has_decimal_commas(records: list[list[str]]) -> bool:
    """Whether numbers are written as 1,5."""
    fields = [field.strip() for record in records for field in record]
    commas = sum(COMMA_NUMBER.fullmatch(field) is not None for field in fields)
    return commas > 0 and not any("." in field and NUMBER.fullmatch(field) for field in fields)
