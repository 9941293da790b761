"""What counts as a number, a truth value or a name where a user gives one; numbers of NumPy are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.errors import ParameterError


def is_number(value: Any) -> bool:
    """Whether it is a real number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether it is an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_flag(name: str, value: Any) -> None:
    """True or false, and nothing that only looks like it."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name}={value!r} must be True or False")


def check_column(name: str, value: Any) -> None:
    """The name of a column, or none."""
    if value is not None and not isinstance(value, str):
        raise ParameterError(f"{name}={value!r} must be the name of a column")
