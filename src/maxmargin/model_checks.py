"""What must hold of the parts of a model file before a model is made of them.

A digest shows that a file is whole, not that maxmargin wrote it. Compiled code does not check bounds, so types, shapes,
ranges and finite values are checked here. Whatever is wrong is a ValueError that names the part; `load` adds the file.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from maxmargin.budget import words
from maxmargin.rows.expand import find_expansion

LABEL_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|U[0-9]{1,9})")
LABEL_BYTES = 1 << 24  # that text labels may take, or what they need
LARGEST_SIZE = 2**62  # features and examples
REAL = (np.float64,)
NARROW_REAL = (np.float32, np.float64)
WHOLE = (np.int32, np.int64)


def checked_array(tensors: dict[str, np.ndarray], name: str, kinds: tuple[Any, ...], ndim: int) -> np.ndarray:
    """The array of that name, if its type and dimensions are as they should be and its values finite."""
    array = tensors.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    if array.dtype not in kinds or array.ndim != ndim:
        raise ValueError(f"{name} has type {array.dtype} and {array.ndim} dimension(s)")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds a value that is not finite")
    return array


def row_numbers(tensors: dict[str, np.ndarray], name: str = "support") -> np.ndarray:
    """Row numbers or counts, 0 or above."""
    array = checked_array(tensors, name, WHOLE, 1)
    if array.size and array.min() < 0:
        raise ValueError(f"{name} holds {array.min()}, which is below 0")
    return array


def centre_in(tensors: dict[str, np.ndarray], d: int, name: str = "centre") -> np.ndarray | None:
    """What is subtracted from each row of d columns, if the file holds it."""
    if name not in tensors:
        return None
    centre = checked_array(tensors, name, REAL, 1)
    if len(centre) != d:
        raise ValueError(f"{name} has {len(centre)} values for {d} features")
    return centre


def section(said: Any, name: str) -> dict[str, Any]:
    """A part of the metadata that holds names and values."""
    found = said.get(name) if isinstance(said, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"{name} is missing, or not an object")
    return found


def size(said: dict[str, Any], name: str) -> int:
    """A whole number, 0 or above."""
    value = said.get(name)
    if type(value) is not int or not 0 <= value <= LARGEST_SIZE:
        raise ValueError(f"{name} is {short(value)}, not a whole number from 0 to 2**62")
    return value


def real(said: dict[str, Any], name: str, least: float = -np.inf, unbounded: bool = False) -> float:
    """A number, finite unless it may be unbounded."""
    value = said.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value < least:  # noqa: PLR0124
        raise ValueError(f"{name} is {short(value)}, not a number in its range")
    if not unbounded and abs(value) > np.finfo(float).max:
        raise ValueError(f"{name} is {short(value)}, not finite")
    return float(value)


def training_in(said: Any) -> dict[str, Any]:
    """What is said about the training: sizes are whole numbers."""
    found = section(said, "training")
    for name in ("n", "d", "nnz", "input_d"):
        if name in found:
            size(found, name)
    if not isinstance(found.get("widens", False), bool):
        raise ValueError(f"widens is {short(found['widens'])}, not true or false")
    for name in ("loss", "machine", "solver", "status"):
        if not isinstance(found.get(name, ""), str):
            raise ValueError(f"{name} is {short(found[name])}, not text")
    return found


def check_input(training: dict[str, Any], d: int) -> None:
    """Rows that the model accepts must not reach beyond its d weights, also after they are expanded."""
    text = training.get("expand")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"expand is {short(text)}, not text")
    expansion = find_expansion(text)
    width = int(training.get("input_d", d))
    reached = width if expansion is None else expansion.columns(width)
    if reached > d:
        raise ValueError(f"input_d or expand lead to {reached} features, the weights have {d}")


def classes_in(said: Any) -> np.ndarray:
    """The labels: of one type, finite, in order, none twice."""
    found, name = said.get("classes"), said.get("class_type")
    if not isinstance(found, list) or len(found) < 2:
        raise ValueError("classes is not a list of two labels or more")
    if not isinstance(name, str) or LABEL_TYPE.fullmatch(name) is None:
        raise ValueError(f"class_type {short(name)} is not the type of labels")
    kind = np.dtype(name)
    if kind.kind == "U":
        needed = max((len(label) for label in found if isinstance(label, str)), default=0)
        if kind.itemsize * len(found) > max(4 * needed * len(found), LABEL_BYTES):
            raise ValueError(f"class_type {name} takes {words(kind.itemsize * len(found))}")
    classes = np.array(found, dtype=kind)
    if classes.ndim != 1 or classes.tolist() != found:
        raise ValueError(f"classes are not of type {name}")
    if kind.kind == "f" and not np.all(np.isfinite(classes)):
        raise ValueError("classes are not finite")
    if not np.all(classes[1:] > classes[:-1]):
        raise ValueError("classes are not in order, or one is there twice")
    return classes


def short(value: Any) -> str:
    """A value for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
