"""Labels read from a file: whole numbers, numbers or text.

All whole numbers          int64 (up to 2^53, beyond which float64 cannot represent every whole number)
All numbers                float64
Any that is not a number   text: every label as it was written
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

LARGEST_WHOLE = 2.0**53
AT_ONCE = 1 << 16
NOT_FINITE = {b"nan", b"inf", b"infinity"}


def label_array(numbers: np.ndarray, text: np.ndarray, named: bool) -> np.ndarray:
    """Return the labels of all rows: from `text`, one label a line, if `named`; otherwise from `numbers`."""
    return _names(text) if named else as_whole(numbers)


def as_whole(numbers: np.ndarray) -> np.ndarray:
    """Convert numbers to int64 if all of them are whole."""
    whole = bool(np.all((np.floor(numbers) == numbers) & (np.abs(numbers) <= LARGEST_WHOLE)))
    return numbers.astype(np.int64) if whole else numbers


def all_refused(lines: bytes) -> list[int]:
    """Return the rows whose labels are neither numbers nor valid text; each line is the label of a row."""
    return [row for row, label in enumerate(lines.split(b"\n")) if not is_name(label)]


def is_name(label: bytes) -> bool:
    """Whether a label that is not a finite number is valid text: UTF-8 without null bytes, and not nan or inf."""
    try:
        label.decode()
    except UnicodeDecodeError:
        return False
    return label.lstrip(b"+-").lower() not in NOT_FINITE and b"\0" not in label


def _names(text: np.ndarray) -> np.ndarray:
    """Return the labels as text, split in parts: a million rows need not be a million Python objects at once."""
    ends = np.flatnonzero(text == ord("\n")) + 1
    cuts = [0, *ends[AT_ONCE - 1 :: AT_ONCE].tolist()]
    if cuts[-1] != text.size:
        cuts.append(text.size)
    parts = (text[a : b - 1].tobytes().decode() for a, b in pairwise(cuts))
    return np.concatenate([np.array(part.split("\n")) for part in parts])
