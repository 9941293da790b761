"""Columns of text of Arrow tables: trimmed, as bytes in lower case, compared with patterns.

Most columns are plain: without spaces outside, in ASCII, longer than the names of missing values. They are looked at in
compiled code, and given to Arrow only if they are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import MISSING, decoded, is_text
from maxmargin.data.take import read_only
from maxmargin.system.compiled import compiled

FEW = 16  # texts that are looked at before all others
LONGEST_MISSING = max(map(len, MISSING))


def as_text(column: Any) -> Any:
    """Return a column as text without spaces at both ends. Text that stands for a missing value is missing."""
    import pyarrow as pa
    from pyarrow import compute

    column = decoded(column)
    if not is_text(column.type):
        return column.cast(pa.string(), safe=False)
    if has_outer_spaces(column):
        column = compute.utf8_trim_whitespace(column)
    kind = pa.large_string() if column.type == pa.large_string() else pa.string()
    column = column if column.type == kind else column.cast(kind)
    shortest = compute.min(compute.binary_length(column)).as_py()
    if shortest is None or shortest > LONGEST_MISSING:
        return column
    missing = compute.is_in(column, pa.array(MISSING, kind))
    return compute.if_else(missing, pa.scalar(None, kind), column)


def all_match(texts: Any, pattern: str) -> bool:
    """Whether all texts match a regular expression. Most columns that do not are told by their first few texts."""
    from pyarrow import compute

    parts = (texts[:FEW], texts[FEW:])
    return all(compute.all(compute.match_substring_regex(one, pattern), min_count=0).as_py() for one in parts)


def has_outer_spaces(column: Any) -> bool:
    """Whether a value may begin or end with a space, also one beyond ASCII."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type) or isinstance(column, pa.ChunkedArray):
        return True
    return bool(spaces_outside(*buffers_of(column)))


def bytes_of(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets and the bytes of a column of text in lower case; missing values are empty."""
    import pyarrow as pa
    from pyarrow import compute

    column = compute.fill_null(column, "") if column.null_count else column
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    offsets, text = buffers_of(column)
    own = text[offsets[0] : offsets[-1]]
    if not len(own) or own.max() < 128:
        return offsets - offsets[0], read_only(lower_ascii(own))
    return buffers_of(compute.utf8_lower(column))


def buffers_of(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets and the bytes of a column of text."""
    import pyarrow as pa

    wide = np.int64 if column.type == pa.large_string() else np.int32
    _, ends, text = column.buffers()
    if ends is None or not len(column):
        return np.zeros(1, dtype=np.int64), read_only(np.zeros(0, np.uint8))
    offsets = np.frombuffer(ends, wide, len(column) + 1, column.offset * np.dtype(wide).itemsize)
    return offsets.astype(np.int64), read_only(np.frombuffer(text or b"", np.uint8))


@compiled
def spaces_outside(offsets: Any, text: Any) -> bool:
    """Whether a value begins or ends with a byte that is a space, a control character or not ASCII."""
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        if stop > start and (text[start] <= 32 or text[start] >= 128 or text[stop - 1] <= 32 or text[stop - 1] >= 128):
            return True
    return False


@compiled
def lower_ascii(text: Any) -> Any:
    """Return ASCII text in lower case."""
    found = np.empty(len(text), dtype=np.uint8)
    for i in range(len(text)):
        found[i] = text[i] + np.uint8(32) if 65 <= text[i] <= 90 else text[i]
    return found
