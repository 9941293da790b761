"""Folds of rows that are reached by passes: a hash of the row number, so that every pass finds the same folds."""

from __future__ import annotations

import numpy as np

from maxmargin.data.reduction import Part
from maxmargin.data.rows import count_rows

ROW_NUMBERS = "row numbers"  # the vector of a sample: its rows do not follow each other


def folds_of_rows(part: Part, count: int) -> np.ndarray:
    """Return the fold of each row of a part, from 0 to count − 1: splitmix64 of its number."""
    numbers = part.vectors.get(ROW_NUMBERS)
    if numbers is None:
        numbers = part.first + np.arange(count_rows(part.rows))
    return folds_of_numbers(numbers, count)


def folds_of_numbers(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return the fold of each row number."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z % np.uint64(count)).astype(np.intp)
