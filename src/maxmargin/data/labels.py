"""Labels: of any type outside, ±1 inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.errors import DataError

KEPT_KINDS = "biufU"  # the types of labels that a model file can hold: truth values, numbers, text


def encode(y: Any, n: int, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """The classes, sorted, and for each example the number of its class."""
    y = check_length(y, n)
    if n == 0:
        raise DataError("X has 0 rows: there is nothing to train on")
    if y.dtype.kind in "fc" and not np.all(np.isfinite(y)):
        place = int(np.argmin(np.isfinite(y)))
        raise DataError(f"y[{place}] is {y[place]}: every example needs a label")
    classes, codes = two_numbers(y) or np.unique(plain(y) if y.dtype.kind in "OT" else y, return_inverse=True)
    check_kept(classes)
    if len(classes) < 2:
        raise DataError(f"{name} holds 1 class only, {show(classes[0])}: training needs examples of at least two")
    return classes, codes.reshape(-1)


def two_numbers(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """What `unique` would answer, found without sorting, if there are two labels and they are numbers."""
    if y.dtype.kind not in "iuf":
        return None
    classes = np.array([np.min(y), np.max(y)])
    upper = y == classes[1]
    if upper.all() or not np.all(upper | (y == classes[0])):
        return None
    return classes, upper.astype(np.intp)


def check_length(y: Any, n: int) -> np.ndarray:
    """The labels as an array, one for each of n rows; a single column counts as one."""
    given, y = y, np.asarray(y)
    if y.dtype.kind == "U" and not isinstance(given, np.ndarray):
        y = np.array(given, dtype=object)  # NumPy has made text of numbers among text, and of NaN
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(f"y has shape {y.shape}: give one label for each row")
    if len(y) != n:
        raise DataError(f"y has {len(y)} labels, but X has {n} rows: give one label for each row")
    return np.asarray(y)


def plain(y: np.ndarray) -> np.ndarray:
    """An array of Python objects as the type they share: all text, or all numbers."""
    for place, label in enumerate(y):
        if label is None or label != label:  # noqa: PLR0124
            raise DataError(f"y[{place}] is {label}: every example needs a label")
    kinds = {isinstance(label, str) for label in y}
    if len(kinds) > 1:
        raise DataError("y mixes text and numbers: give labels of one type")
    return np.array(y.tolist())


def check_kept(classes: np.ndarray) -> None:
    """Refuse labels that a model file cannot keep."""
    if classes.dtype.kind not in KEPT_KINDS or (classes.dtype.itemsize > 8 and classes.dtype.kind != "U"):
        raise DataError(f"labels of type {classes.dtype} cannot be kept in a model: use numbers or text")
    if classes.dtype.kind == "U":
        try:
            "".join(classes.tolist()).encode()
        except UnicodeEncodeError as error:
            raise DataError(f"a label is not valid Unicode ({error}): use text that can be written") from error


def sides(classes: np.ndarray) -> list[int]:
    """The class on the positive side of each two-class problem: the second of two; of more, each in turn."""
    return [1] if len(classes) == 2 else list(range(len(classes)))


def signs(codes: np.ndarray, positive: int) -> np.ndarray:
    """+1.0 for the examples of class number `positive`, −1.0 for the others."""
    return np.where(codes == positive, 1.0, -1.0)


def show(label: Any) -> str:
    """A label as people write it: 1, not 1.0; cat, not 'cat'."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)
