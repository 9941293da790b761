"""What a partition tells of itself, and whether all partitions are alike."""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from maxmargin.data.files import Files
from maxmargin.data.frames import frame_names, is_frame
from maxmargin.data.reduction import RowFacts
from maxmargin.errors import DataError


class Columns(NamedTuple):
    """The names of the features of a table that is not encoded, and of its column of labels, if it is in the table."""

    names: list[str]
    label: str | None = None


class PartitionFacts(NamedTuple):
    """Sizes of a partition, whether its rows are sparse, the type of its labels, whether it has weights; columns."""

    sizes: RowFacts
    sparse: bool
    labels: str
    weighted: bool
    columns: Columns | None


def columns_of_files(files: Files) -> Columns | None:
    """Return the columns of files, after they have been read; None if they are encoded, or have no names."""
    names = None if files.encoder is not None else files.column_names
    return None if names is None else Columns(list(names), files.label_of_table)


def columns_of_frame(X: object) -> Columns | None:
    """Return the columns of a data frame; None for other data, and for columns without names."""
    names = frame_names(X) if is_frame(X) else None
    return None if names is None or not all(isinstance(name, str) for name in X.columns) else Columns(names)  # type: ignore[attr-defined]


def check_alike(found: dict[int, PartitionFacts]) -> None:
    """Raise unless all partitions with rows are dense of the same columns, or sparse, with labels of one sort.

    All of them or none must have weights.
    """
    if not found:
        raise DataError("X has 0 rows in all partitions: there is nothing to train on")
    first, one = next(iter(found.items()))
    for number, other in found.items():
        if other.weighted != one.weighted:
            raise DataError(
                f"partition {number} has {'' if other.weighted else 'no '}weights, partition {first} "
                f"{'has' if one.weighted else 'has none'}: give weights for all or for none"
            )
        if other.sparse != one.sparse:
            raise DataError(
                f"partition {number} is {form(other.sparse)}, partition {first} {form(one.sparse)}: make them alike"
            )
        if not one.sparse and other.sizes.d != one.sizes.d:
            raise DataError(
                f"partition {number} has {other.sizes.d} features, partition {first} {one.sizes.d}: "
                "give all the same columns"
            )
        if (other.labels == "U") != (one.labels == "U"):
            raise DataError(
                f"y of partition {number} is {sort(other.labels)}, that of partition {first} {sort(one.labels)}: "
                "y mixes text and numbers: give labels of one type"
            )
        check_names(number, other.columns, first, one.columns)


def check_names(number: int, other: Columns | None, first: int, one: Columns | None) -> None:
    """Raise if the columns of two partitions have other names, or another order."""
    if other is None or one is None:
        return
    for place, (name, known) in enumerate(zip_longest(other.names, one.names)):
        if name != known:
            raise DataError(
                f"partition {number} has {name!r} as column {place}, partition {first} {known!r}: "
                "give all the same columns, in the same order"
            )


def form(sparse: bool) -> str:
    """Return how rows are stored, in words."""
    return "sparse" if sparse else "dense"


def sort(kind: str) -> str:
    """Return the sort of labels, in words."""
    return "text" if kind == "U" else "numbers"
