"""Validation of record batches from files, before any other code uses them.

Checked   offsets, lengths and dictionary indices, by Arrow itself; names; types; sizes against a limit
Costs     half a percent of a pass over a block file
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maxmargin.errors import DataError, FileError
from maxmargin.system.budget import shown_size

LONGEST_LABEL = 1 << 16  # bytes
LONGEST_REASON = 200  # most characters of an error message that are shown


@contextmanager
def refusing(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of Arrow and of the system about a file into a one-line `FileError`."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: a column name is not UTF-8 ({error}): rename the columns") from error
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path}: cannot read as {kind}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Return the text of an error on one line, shortened and printable."""
    text = "".join(c if c.isprintable() else "?" for c in " ".join(str(error).split()))
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."


def check_batch(batch: Any, path: Path, number: int) -> None:
    """Raise if offsets, lengths or dictionary indices of a batch point outside its data."""
    import pyarrow as pa

    try:
        batch.validate(full=True)
    except pa.ArrowException as error:
        raise FileError(f"{path}: batch {number} is damaged ({reason(error)}): write the file again") from error


def check_size(size: int, most: int, path: Path, what: str) -> None:
    """Raise if `what` takes more than `most` bytes of memory."""
    if size > most:
        raise DataError(
            f"{path}: {what} takes {shown_size(size)} unpacked, the limit is {shown_size(most)}: "
            f"write smaller batches (maxmargin convert does), or raise memory to {shown_size(2 * size)}"
        )


def check_label_type(kind: Any, path: Path, name: str) -> None:
    """Raise unless the type of a label column is numbers or text."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_string,
        pa.types.is_large_string, pa.types.is_string_view,
    )  # fmt: skip
    if not any(is_kind(plain) for is_kind in kinds):
        raise DataError(f"{path}: column {name!r} is {shown(kind)}: labels are numbers or text")


def check_label_lengths(column: Any, path: Path, name: str, first: int) -> None:
    """Raise if a label is very long: an array of labels gives each one the memory of the longest."""
    import pyarrow as pa
    from pyarrow import compute

    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return
    longest = compute.max(compute.binary_length(texts)).as_py() or 0
    if longest > LONGEST_LABEL:
        raise DataError(
            f"{path}: column {name!r} holds a text of {longest:,} bytes between the rows {first:,} and "
            f"{first + len(column) - 1:,}: labels have at most {LONGEST_LABEL:,} bytes"
        )


def check_number_type(kind: Any, path: Path, name: str) -> None:
    """Raise unless the type of a feature column is numbers."""
    import pyarrow as pa

    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    if not any(is_kind(kind) for is_kind in kinds):
        raise DataError(f"{path}: column {name!r} is {shown(kind)}, not numbers: encode it, or leave it out")


def shown(kind: Any) -> str:
    """Format a type for a message, shortened: the type of a nested column may be long."""
    text = " ".join(str(kind).split())
    return text if len(text) <= 60 else text[:57] + "..."
