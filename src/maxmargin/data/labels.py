"""Labels: of any type for the user, ±1 in a two-class problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.frames import is_missing
from maxmargin.errors import DataError

CLOSE = 4  # Whole numbers whose range is at most this many times their count are counted instead of sorted.
MANY = 50  # rows from which a label for every other row is no class
KEPT_KINDS = "biufU"  # Kinds of NumPy types that a model file can store: booleans, numbers, text.


def encode(y: Any, n: int, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the class number of each example."""
    y = check_length(y, n)
    if n == 0:
        raise DataError("X has 0 rows: there is nothing to train on")
    if y.dtype.kind in "fc" and not np.all(np.isfinite(y)):
        place = int(np.argmin(np.isfinite(y)))
        raise DataError(f"y[{place}] is {y[place]}: every example needs a label")
    classes, codes = (
        close_numbers(y) or two_numbers(y) or np.unique(plain(y) if y.dtype.kind in "OT" else y, return_inverse=True)
    )
    check_kept(classes)
    check_classes(len(classes), n, name)
    if len(classes) < 2:
        raise DataError(f"{name} holds 1 class only, {show(classes[0])}: training needs examples of at least two")
    return classes, codes.reshape(-1)


def check_classes(count: int, n: int, name: str) -> None:
    """Raise if more than half of many labels differ: these are numbers to predict, or ids, but no classes."""
    if n >= MANY and 2 * count > n:
        raise DataError(
            f"{name} has {count:,} different labels in {n:,} rows, too many for classes: for numbers take "
            "task='regress' (--task regress), else another column of labels"
        )


def two_numbers(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the result of `np.unique` without sorting, if there are two labels and they are numbers; else None."""
    if y.dtype.kind not in "iuf":
        return None
    classes = np.array([np.min(y), np.max(y)])
    upper = y == classes[1]
    if upper.all() or not np.all(upper | (y == classes[0])):
        return None
    return classes, upper.astype(np.intp)


def close_numbers(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the result of `np.unique` without sorting, for whole numbers that lie close together; else None."""
    if y.dtype.kind not in "iu":
        return None
    least = y.min()
    if int(y.max()) - int(least) > CLOSE * len(y):
        return None
    wide = y if y.dtype.kind == "u" else y.astype(np.int64)  # the range of int8 labels may exceed int8
    places = (wide - least).astype(np.intp)
    found = np.flatnonzero(np.bincount(places))
    return found.astype(y.dtype) + least, found.searchsorted(places)  # the sum is right even if `found` wraps around


def check_length(y: Any, n: int) -> np.ndarray:
    """Return the labels as an array with one label for each of n rows. A matrix with one column is accepted."""
    given, y = y, np.asarray(y)
    if y.dtype.kind == "U" and not isinstance(given, np.ndarray):
        y = np.array(given, dtype=object)  # NumPy turns numbers and NaN among text into text
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(f"y has shape {y.shape}: give one label for each row")
    if len(y) != n:
        raise DataError(f"y has {len(y)} labels, but X has {n} rows: give one label for each row")
    return np.asarray(y)


def plain(y: np.ndarray) -> np.ndarray:
    """Convert an array of Python objects to their common type: text or numbers."""
    for place, label in enumerate(y):
        if is_missing(label):
            raise DataError(f"y[{place}] is {label}: every example needs a label")
    kinds = {isinstance(label, str) for label in y}
    if len(kinds) > 1:
        raise DataError("y mixes text and numbers: give labels of one type")
    return np.array(y.tolist())


def check_kept(classes: np.ndarray) -> None:
    """Raise if a model file cannot store the labels."""
    if classes.dtype.kind not in KEPT_KINDS or (classes.dtype.itemsize > 8 and classes.dtype.kind != "U"):
        raise DataError(f"labels of type {classes.dtype} cannot be kept in a model: use numbers or text")
    if classes.dtype.kind == "U":
        try:
            "".join(classes.tolist()).encode()
        except UnicodeEncodeError as error:
            raise DataError(f"a label is not valid Unicode ({error}): use text that can be written") from error


def sides(classes: np.ndarray) -> list[int]:
    """Return the positive class of each two-class problem: the second of two classes; each one of more."""
    return [1] if len(classes) == 2 else list(range(len(classes)))


def signs(codes: np.ndarray, positive: int) -> np.ndarray:
    """Return +1.0 for the examples of class number `positive`, −1.0 for the others."""
    return np.where(codes == positive, 1.0, -1.0)


def show(label: Any) -> str:
    """Format a label for people: 1, not 1.0; cat, not 'cat'."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)
