"""Arrays that are used again: for small problems fresh memory, got page by page, costs more than the arithmetic."""

from __future__ import annotations

import threading

import numpy as np

MOST = 1 << 21  # numbers that are kept: 16 MB


class Kept(threading.local):
    """What each thread has kept."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}


kept = Kept()


def scratch(purpose: str, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros, for a purpose: the same array as the last time in this thread, so nothing may hold on to it."""
    array = kept.arrays.get(purpose)
    if array is None or array.shape != shape:
        array = np.zeros(shape)
        if array.size <= MOST:
            kept.arrays[purpose] = array
        return array
    array.fill(0.0)
    return array


def room(purpose: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same for arrays of a type, of whatever shape fits, and with whatever is in them."""
    size, name = int(np.prod(shape)), f"{purpose} {dtype}"
    array = kept.arrays.get(name)
    if array is None or array.size < size:
        array = np.empty(size, dtype)
        if size <= MOST:
            kept.arrays[name] = array
    return array[:size].reshape(shape)
