"""An encoder: what each column of a table becomes, fitted once and kept in the model.

Columns are matched by name, in any order. A missing column is refused, an extra one is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import shortened
from maxmargin.data.encoding.columns import Column, Unseen
from maxmargin.data.encoding.parts import put_together
from maxmargin.data.encoding.stored import column_of
from maxmargin.data.rows import Rows
from maxmargin.errors import DataError

SHOWN = 5  # names in a message
VERSION = 1


@dataclass(frozen=True, eq=False)
class Encoder:
    """Encoded columns of a table, in its order, and the column of labels.

    `dense` says whether rows are dense. `leaks` are columns that alone tell the label. `numbers` are columns
    that are read from a CSV file as numbers. `stored` estimates the values of all rows, after it has been fitted.
    """

    columns: Sequence[Column]
    label: str | None = None
    dense: bool = False
    leaks: Sequence[str] = ()
    numbers: Sequence[str] = ()
    stored: float = 0.0
    unseen: Unseen = field(default_factory=Unseen)

    @property
    def used(self) -> list[Column]:
        """The columns that become features."""
        return [column for column in self.columns if column.kind != "left out"]

    @cached_property
    def starts(self) -> np.ndarray:
        """The number of the first feature of each used column; last, the number of features."""
        return np.cumsum([0, *(column.size for column in self.used)])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.starts[-1])

    @cached_property
    def names(self) -> list[str]:
        """Names of the features."""
        return [name for column in self.used for name in column.names]

    def check(self, names: Sequence[str], place: str) -> None:
        """Raise if a column is missing in a table with these columns."""
        known = [column.name for column in self.columns]
        check_columns([column.name for column in self.used], names, place, (*known, self.label))

    def apply(self, columns: Mapping[str, Any], n: int, first: int = 0, place: str = "X") -> Rows:
        """Return the rows of some Arrow columns; `first` is the number of the first row, for messages."""
        self.unseen.place, self.unseen.first = place, first
        parts = [
            part
            for column, at in zip(self.used, self.starts.tolist(), strict=False)
            for part in column.parts(columns[column.name], at, self.unseen)
        ]
        return put_together(parts, n, self.d, self.dense)

    def anew(self) -> Encoder:
        """Return the same encoder, for other rows: it counts unseen values from 0."""
        return replace(self, unseen=Unseen())

    def saved(self) -> SavedEncoder:
        """Return the encoder as JSON."""
        found = SavedEncoder(
            version=VERSION, label=self.label, dense=self.dense, leaks=list(self.leaks),
            numbers=list(self.numbers), columns=[column.saved() for column in self.columns],
        )  # fmt: skip
        found.decoded = self
        return found

    def note(self) -> str:
        """Return a sentence about values that the training had not seen; "" if there were none."""
        told = [
            f"{count:,} unknown value{'s' * (count != 1)} in {name!r}" for name, count in self.unseen.values.items()
        ]
        told += [
            f"{count:,} missing value{'s' * (count != 1)} in {name!r}" for name, count in self.unseen.missing.items()
        ]
        more = f" and {len(told) - SHOWN} more columns" if len(told) > SHOWN else ""
        return f"{', '.join(told[:SHOWN])}{more}: encoded as zeros or means" if told else ""


class SavedEncoder(dict[str, Any]):
    """An encoder as the JSON of a model file. It is decoded once, at the latest when it is first used."""

    @cached_property
    def decoded(self) -> Encoder:
        """The encoder."""
        return encoder_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedEncoder, (dict(self),)


def encoder_of(found: Any) -> Encoder:
    """Return the encoder of a model file; raise ValueError if a part of it is wrong."""
    if not isinstance(found, dict) or found.get("version") != VERSION or not isinstance(found.get("columns"), list):
        raise ValueError("encoder is not one of this version")
    label, leaks, numbers = found.get("label"), found.get("leaks"), found.get("numbers")
    if not (label is None or isinstance(label, str)) or not isinstance(found.get("dense"), bool):
        raise ValueError("encoder: label or dense is wrong")
    for names in (leaks, numbers):
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("encoder: leaks or numbers are not names")
    columns = [column_of(one) for one in found["columns"]]
    if not any(column.kind != "left out" for column in columns):
        raise ValueError("encoder: no column becomes a feature")
    if len({column.name for column in columns}) < len(columns):
        raise ValueError("encoder: two columns have the same name")
    return Encoder(columns, label, found["dense"], tuple(leaks or ()), tuple(numbers or ()))


def check_columns(
    wanted: Sequence[str], names: Sequence[str], place: str, known: Sequence[str | None] | None = None
) -> None:
    """Raise if a column that a model was trained with is missing in a table with these columns.

    `known` are all columns that the model knows: others are named, since one of them may be misspelt.
    """
    there = set(names)
    missing = [name for name in wanted if name not in there]
    if missing:
        others = set(wanted if known is None else known)
        extra = [name for name in names if name not in others]
        unknown = f"; not known are {listed(extra)}" if extra else ""
        raise DataError(
            f"{place}: the model was trained with {listed(missing)}, missing here{unknown}: give the same columns"
        )


def check_distinct(names: Sequence[str], place: str) -> None:
    """Raise if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{place}: two columns have the same name, {listed([twice])}: give each one of its own")


def listed(names: Sequence[str]) -> str:
    """Return the first few names, long ones shortened."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(shortened(repr(name)) for name in names[:SHOWN]) + more
