"""Functions that raise an AssertionError with the expected values, also under `python -O`."""

from __future__ import annotations

from typing import Any

import numpy as np


def check(holds: Any, message: str) -> None:
    """Raise an AssertionError with the message unless the condition holds."""
    if not holds:
        raise AssertionError(message)


def check_close(found: Any, expected: Any, what: str, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Raise an AssertionError with both values if they differ by more than the larger of the two tolerances."""
    found, expected = np.asarray(found), np.asarray(expected)
    far = ~(np.abs(found - expected) <= np.maximum(atol, rtol * np.abs(expected)))
    if np.any(far):
        raise AssertionError(f"{what}: {found[far].ravel()[:3]}, expected {expected[far].ravel()[:3]}")
