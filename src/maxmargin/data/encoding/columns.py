"""What each column of a table becomes: a number, a group of categories, hashed text, parts of a date, or nothing.

A column is fitted once, to the statistics of a table (see choice.py), and kept in the model file as JSON. It is applied
to Arrow columns of any type that can be converted.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from maxmargin.data.encoding.arrow_columns import as_numbers, check_not_infinite, is_text
from maxmargin.data.encoding.arrow_text import as_text, bytes_of
from maxmargin.data.encoding.dates import days_of, form_of, hours_of, months_of, seconds_of, weekdays_of
from maxmargin.data.encoding.ngrams import hashed, weighted
from maxmargin.data.encoding.parts import Hashed, OneHot, Part, Values
from maxmargin.data.tables.arrays import array_of

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
STEPS = 16.0  # idf is kept in steps of 1/16, from 1 to 16.9
RARE, ABSENT = "(rare)", "(missing)"


@dataclass
class Unseen:
    """Where the rows are, for messages, and what the training had not seen: the number of values for each column."""

    place: str = "X"
    first: int = 0
    values: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)

    def count(self, counts: dict[str, int], name: str, number: Any) -> None:
        """Add to one of the counts."""
        if number:
            counts[name] = counts.get(name, 0) + int(number)


@dataclass(frozen=True)
class Column:
    """A column of the table, and what it becomes."""

    kind: ClassVar[str]
    name: str

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def names(self) -> Sequence[str]:
        """Names of the features."""
        raise NotImplementedError

    @property
    def described(self) -> str:
        """What became of the column, in a few words."""
        raise NotImplementedError

    def parts(self, column: Any, at: int, unseen: Unseen) -> list[Part]:
        """Return the features of some rows, the first of which has the number `at`."""
        raise NotImplementedError

    def saved(self) -> dict[str, Any]:
        """Return the column as JSON."""
        return {"kind": self.kind, **{one.name: getattr(self, one.name) for one in fields(self)}}

    def place(self, unseen: Unseen) -> str:
        """Return a name of the column for messages."""
        return f"{unseen.place}: column {self.name!r}"


@dataclass(frozen=True)
class Number(Column):
    """(x − mean) / scale, with x limited to [low, high]; a missing x is the mean, and `missing` adds an indicator."""

    kind = "number"
    mean: float
    scale: float
    low: float
    high: float
    missing: bool

    @property
    def names(self) -> Sequence[str]:
        """The column itself, and its indicator."""
        return [self.name, f"{self.name} {ABSENT}"] if self.missing else [self.name]

    @property
    def described(self) -> str:
        """Mean and scale."""
        if self.mean == 0.0 and self.scale == 1.0:
            told = "as it is"
        elif self.mean == 0.0:
            told = f"divided by {self.scale:.4g}"
        else:
            told = f"standardised: mean {self.mean:.4g}, scale {self.scale:.4g}"
        return told + (", and whether it is missing" if self.missing else "")

    def parts(self, column: Any, at: int, unseen: Unseen) -> list[Part]:
        """Return the number, and whether it is missing."""
        values = as_numbers(column, self.place(unseen))
        absent = np.isnan(values)
        check_not_infinite(values, self.place(unseen), unseen.first)
        values = (np.clip(values, self.low, self.high) - self.mean) / self.scale
        if absent.any():
            values[absent] = 0.0
        if self.missing:
            return [Values(values, at), Values(absent.astype(np.float64), at + 1)]
        unseen.count(unseen.missing, self.name, np.count_nonzero(absent))
        return [Values(values, at)]


@dataclass(frozen=True)
class Category(Column):
    """One feature for each value, one for all `rare` values, one for missing ones; other values are all zeros.

    Two values make one feature, which is 1 for the second.
    """

    kind = "category"
    values: Sequence[str]
    rare: Sequence[str]
    missing: bool

    @property
    def is_flag(self) -> bool:
        """Whether there is but one feature."""
        return len(self.values) == 2 and not self.rare and not self.missing

    @property
    def names(self) -> Sequence[str]:
        """The column and a value."""
        shown = self.values[1:] if self.is_flag else self.values
        extra = [RARE] * bool(self.rare) + [ABSENT] * self.missing
        return [f"{self.name}={value}" for value in (*shown, *extra)]

    @property
    def described(self) -> str:
        """The number of values."""
        if self.is_flag:
            return f"1 for {self.values[1]!r}, 0 for {self.values[0]!r}"
        extra = f", {len(self.rare)} rare ones together" * bool(self.rare) + ", missing ones apart" * self.missing
        return f"one-hot: {len(self.values)} values{extra}"

    def parts(self, column: Any, at: int, unseen: Unseen) -> list[Part]:
        """Return the place of each value among the features."""
        import pyarrow as pa
        from pyarrow import compute

        column = as_text(column)
        known = pa.array([*self.values, *self.rare], column.type)
        found = compute.index_in(column, known)
        codes = np.array(array_of(compute.fill_null(found, -1)), dtype=np.int32)
        absent = np.asarray(array_of(column.is_null().cast(pa.uint8()))).astype(bool) if column.null_count else None
        rare_place = len(self.values)
        codes[codes > rare_place] = rare_place
        unseen.count(unseen.values, self.name, np.count_nonzero(codes < 0) - column.null_count)
        if absent is not None:
            if self.missing:
                codes[absent] = rare_place + bool(self.rare)
            else:
                unseen.count(unseen.missing, self.name, column.null_count)
        return [OneHot(codes - 1, at) if self.is_flag else OneHot(codes, at)]


@dataclass(frozen=True)
class Text(Column):
    """Hashed n-grams of words or of characters, weighted by TF-IDF (see ngrams.py).

    `idf` holds one byte for each bucket, compressed: 16 (idf − 1). `grams` are names of the most frequent buckets.
    """

    kind = "text"
    words: bool
    buckets: int
    idf: str
    grams: Sequence[Sequence[Any]] = ()

    @property
    def size(self) -> int:
        """Number of buckets."""
        return self.buckets

    @property
    def names(self) -> Sequence[str]:
        """The column and an n-gram of the bucket, or the number of the bucket."""
        shown = [f"{self.name}: bucket {bucket}" for bucket in range(self.buckets)]
        for bucket, gram in self.grams:
            shown[bucket] = f"{self.name}: {gram!r}"
        return shown

    @property
    def described(self) -> str:
        """The number of buckets."""
        what = "words and pairs of words" if self.words else "three and four letters in a row"
        return f"TF-IDF of {what} in {self.buckets:,} buckets"

    @cached_property
    def weights(self) -> np.ndarray:
        """The idf of each bucket."""
        return unpacked(self.idf, self.buckets)

    def parts(self, column: Any, at: int, unseen: Unseen) -> list[Part]:
        """Return the weighted n-grams. Values that repeat are hashed once."""
        texts = as_text(column)
        if self.words:
            return [Hashed(self.rows_of(texts), at)]
        distinct, codes = distinct_of(texts)
        rows = self.rows_of(distinct)
        return [Hashed(rows if distinct is texts else gathered(rows, codes), at)]

    def rows_of(self, texts: Any) -> Any:
        """Return the weighted n-grams of texts."""
        return weighted(hashed(*bytes_of(texts), self.words, self.buckets), self.weights)


def distinct_of(column: Any) -> tuple[Any, np.ndarray]:
    """Return the distinct values of a column, then a missing one, and the place of each row's value among them.

    If most values differ, they are those of the column itself.
    """
    import pyarrow as pa

    coded = column.dictionary_encode()
    values = coded.dictionary
    if 2 * len(values) > len(coded):
        return column, np.arange(len(column))
    codes = np.asarray(array_of(coded.indices.fill_null(len(values)).cast(pa.int64())))
    return pa.concat_arrays([values, pa.nulls(1, values.type)]), codes


def gathered(rows: Any, chosen: np.ndarray) -> Any:
    """Return the chosen sparse rows."""
    starts, lengths = rows.indptr[:-1][chosen], np.diff(rows.indptr)[chosen]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
    return rows._replace(values=rows.values[places], indices=rows.indices[places], indptr=indptr)


def packed(idf: np.ndarray) -> str:
    """Return idf as text: a byte for each, compressed."""
    steps = np.clip(np.rint(STEPS * (idf - 1.0)), 0, 255).astype(np.uint8)
    return base64.b64encode(zlib.compress(steps.tobytes(), 9)).decode()


def unpacked(text: str, count: int) -> np.ndarray:
    """Return the idf that `packed` wrote; raise ValueError unless there are `count` of them."""
    found = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), count + 1)
    if len(found) != count:
        raise ValueError(f"idf has {len(found)} values, not {count}")
    return np.asarray(1.0 + np.frombuffer(found, np.uint8) / STEPS)


@dataclass(frozen=True)
class Date(Column):
    """A trend, the month, the day of the week, the day of the month on a circle, and the hour on another.

    `form` is that of dates in text; `clock` tells whether hours differ; mean and scale of the trend are in seconds.
    """

    kind = "date"
    form: str | None
    mean: float
    scale: float
    clock: bool
    missing: bool

    @property
    def names(self) -> Sequence[str]:
        """The column and a part of the date."""
        circles = ["day of the month (sine)", "day of the month (cosine)"]
        circles += ["hour (sine)", "hour (cosine)"] * self.clock
        parts = ["trend", *MONTHS, *WEEKDAYS, *circles, *([ABSENT] * self.missing)]
        return [f"{self.name}: {part}" for part in parts]

    @property
    def described(self) -> str:
        """The parts of the date."""
        form = f" (written {self.form})" if self.form else ""
        return f"date{form}: trend, month, weekday, day of the month{', hour' * self.clock}"

    def parts(self, column: Any, at: int, unseen: Unseen) -> list[Part]:
        """Return the parts of the dates; all of them are 0 for a missing date. Dates that repeat are parsed once."""
        column = as_text(column) if is_text(column.type) else column
        distinct, codes = distinct_of(column)
        form = self.form or (form_of(distinct) if is_text(distinct.type) else None)
        seconds, there = seconds_of(distinct, form)
        gone = np.count_nonzero(~there[codes])
        unseen.count(unseen.values, self.name, gone - column.null_count)
        if not self.missing:
            unseen.count(unseen.missing, self.name, column.null_count)
        return [part.gathered(codes) for part in self.parts_of(seconds, there, at)]

    def parts_of(self, seconds: np.ndarray, there: np.ndarray, at: int) -> list[Values | OneHot]:
        """Return the parts of times in seconds since 1970."""
        circles = [(days_of(seconds) / 31.0), *([hours_of(seconds) / 24.0] if self.clock else [])]
        turns = [turn(2.0 * np.pi * part) for part in circles for turn in (np.sin, np.cos)]
        parts: list[Values | OneHot] = [
            Values(np.where(there, (seconds - self.mean) / self.scale, 0.0), at),
            OneHot(np.where(there, months_of(seconds), -1).astype(np.int32), at + 1),
            OneHot(np.where(there, weekdays_of(seconds), -1).astype(np.int32), at + 13),
        ]
        parts += [Values(np.where(there, part, 0.0), at + 20 + k) for k, part in enumerate(turns)]
        return [*parts, Values((~there).astype(np.float64), at + 20 + len(turns))] if self.missing else parts


@dataclass(frozen=True)
class LeftOut(Column):
    """A column that becomes no feature, and why."""

    kind = "left out"
    why: str

    @property
    def names(self) -> Sequence[str]:
        """None."""
        return []

    @property
    def described(self) -> str:
        """The reason."""
        return self.why

    def parts(self, column: Any, at: int, unseen: Unseen) -> list[Part]:
        """Return nothing."""
        return []
