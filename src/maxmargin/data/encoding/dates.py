"""Dates as numbers: text in one of a few forms is parsed; a date becomes a trend and its place in each cycle."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import is_date
from maxmargin.data.encoding.arrow_text import FEW, all_match
from maxmargin.data.tables.arrays import array_of

ISO = "%Y-%m-%d"
FORMS = (
    ISO, "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%b %d %Y", "%d-%b-%Y",
    "%b %d, %Y",
)  # fmt: skip
CLOCKS = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S")
LIKE_DATES = r"^\d.*[-/. ]|^[A-Z][a-z]{2} \d"
FRACTION = r"(\.\d+)?(Z|[+-]\d\d:?\d\d)?$"  # of a second, and a time zone: both are left out
SECONDS_A_DAY = 86_400


def form_of(texts: Any) -> str | None:
    """Return the form of dates that all texts have; None if there is none, or no text. Month before day if both fit."""
    texts = texts.drop_null()
    if not len(texts) or not all_match(texts[:FEW], LIKE_DATES) or not all_match(texts := texts.unique(), LIKE_DATES):
        return None
    for clock in CLOCKS:
        for form in FORMS:
            if all(parsed(some, form + clock).null_count == 0 for some in (texts[:FEW], texts)):
                return form + clock
    return None


def parsed(texts: Any, form: str) -> Any:
    """Return the times that texts in this form mean; missing if they have another form."""
    from pyarrow import compute

    if "%S" in form:
        texts = compute.replace_substring_regex(texts, FRACTION, "")
    return compute.strptime(texts, format=form, unit="s", error_is_null=True)


def seconds_of(column: Any, form: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds since 1970 of a column of dates or texts, and whether each one is there."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_null(column.type):
        column = column.cast(pa.timestamp("s"))
    times = column if is_date(column.type) else parsed(column, form or ISO)
    if pa.types.is_timestamp(times.type) and times.type.tz is not None:
        times = times.cast(pa.timestamp(times.type.unit))
    times = times.cast(pa.timestamp("s"), safe=False)
    there = np.asarray(array_of(compute.fill_null(times.is_valid(), False).cast(pa.uint8()))).astype(bool)
    return np.asarray(array_of(compute.fill_null(times.cast(pa.int64()), 0))), there


def months_of(seconds: np.ndarray) -> np.ndarray:
    """Return the month of each time, from 0 to 11."""
    return (seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12).astype(np.int32)


def weekdays_of(seconds: np.ndarray) -> np.ndarray:
    """Return the day of the week of each time, from 0 for Monday to 6."""
    return np.asarray((seconds // SECONDS_A_DAY + 3) % 7, dtype=np.int32)


def days_of(seconds: np.ndarray) -> np.ndarray:
    """Return the day of the month of each time, from 0."""
    moments = seconds.astype("datetime64[s]")
    since = moments.astype("datetime64[D]") - moments.astype("datetime64[M]").astype("datetime64[D]")
    return np.asarray(since.astype(np.int64))


def hours_of(seconds: np.ndarray) -> np.ndarray:
    """Return the time of day in hours."""
    return np.asarray((seconds % SECONDS_A_DAY) / 3600.0)
