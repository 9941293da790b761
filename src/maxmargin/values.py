"""What counts as a number where a user gives one: Python's and NumPy's, but no truth value."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """Whether it is a real number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether it is an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
