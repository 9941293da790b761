"""Validation of the arrays and numbers in a file, before they are used.

A digest shows that a file is complete, not that maxmargin wrote it. Compiled code does not check bounds, so types,
shapes, ranges and finiteness are checked here. An invalid part raises a ValueError with its name; `load` adds the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LARGEST_SIZE = 2**62  # Largest number of features or examples, and largest index in data files.
REAL = (np.float64,)
NARROW_REAL = (np.float32, np.float64)
WHOLE = (np.int32, np.int64)


def checked_array(tensors: dict[str, np.ndarray], name: str, kinds: tuple[Any, ...], ndim: int) -> np.ndarray:
    """Return the array `name`; raise unless its type and dimensions are right and its values finite."""
    array = tensors.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    if array.dtype not in kinds or array.ndim != ndim:
        raise ValueError(f"{name} has type {array.dtype} and {array.ndim} dimension(s)")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds a value that is not finite")
    return array


def row_numbers(tensors: dict[str, np.ndarray], name: str = "support") -> np.ndarray:
    """Return an array of row numbers or counts; raise if one is negative."""
    array = checked_array(tensors, name, WHOLE, 1)
    if array.size and array.min() < 0:
        raise ValueError(f"{name} holds {array.min()}, which is below 0")
    return array


def section(metadata: Any, name: str) -> dict[str, Any]:
    """Return the JSON object `name` of the metadata; raise if it is missing."""
    found = metadata.get(name) if isinstance(metadata, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"{name} is missing, or not an object")
    return found


def size(metadata: dict[str, Any], name: str) -> int:
    """Return the nonnegative integer `name`; raise if it is not one."""
    value = metadata.get(name)
    if type(value) is not int or not 0 <= value <= LARGEST_SIZE:
        raise ValueError(f"{name} is {short(value)}, not a whole number from 0 to 2**62")
    return value


def real(metadata: dict[str, Any], name: str, least: float = -np.inf, unbounded: bool = False) -> float:
    """Return the number `name`; raise if it is below `least`, or infinite unless `unbounded`."""
    value = metadata.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value < least:  # noqa: PLR0124
        raise ValueError(f"{name} is {short(value)}, not a number in its range")
    if not unbounded and abs(value) > np.finfo(float).max:
        raise ValueError(f"{name} is {short(value)}, not finite")
    return float(value)


def short(value: Any) -> str:
    """Format a value for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
