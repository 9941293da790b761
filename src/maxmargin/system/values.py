"""Type checks of parameters: numbers (including those of NumPy), booleans and column names."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.errors import ParameterError


def is_number(value: Any) -> bool:
    """Whether a value is a real number; booleans are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; booleans are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_flag(name: str, value: Any) -> None:
    """Raise unless a value is a boolean; 0 and 1 are not."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name}={value!r} must be True or False")


def check_column(name: str, value: Any) -> None:
    """Raise unless a value is text or None."""
    if value is not None and not isinstance(value, str):
        raise ParameterError(f"{name}={value!r} must be the name of a column")


def same_class(one: type, other: type) -> bool:
    """Whether two classes have the same name and module: a notebook cell that is run twice defines its class anew."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
