"""Arrays that are used again: for small problems fresh memory, got page by page, costs more than the arithmetic."""

from __future__ import annotations

import math
import mmap
import threading
import weakref

import numpy as np

MOST = 1 << 21  # numbers that are kept: 16 MB
LENT = 1 << 26  # bytes that are lent again,
SOME = 2  # times so many


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


class Lender:
    """Memory that is lent to an object as long as it lives, and then to the next one."""

    def __init__(self) -> None:
        self.lock, self.free = threading.Lock(), list[mmap.mmap]()

    def lend(self, to: object, size: int, dtype: type) -> np.ndarray:
        """An array with whatever is in it; the system hands out new pages one by one as they are written to."""
        needed = max(size, 1) * np.dtype(dtype).itemsize
        with self.lock:
            fitting = [k for k, held in enumerate(self.free) if len(held) >= needed]
            memory = self.free.pop(fitting[0]) if fitting else untouched(needed)
        if len(memory) <= LENT:
            weakref.finalize(to, self.take_back, memory)
        return np.frombuffer(memory, dtype)[:size]

    def take_back(self, memory: mmap.mmap) -> None:
        """Keep it, and of those that are kept the largest few."""
        with self.lock:
            self.free = sorted([*self.free, memory], key=len)[-SOME:]


lender = Lender()


def untouched(size: int) -> mmap.mmap:
    """Bytes; as shared memory, the default, they would cost more."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return mmap.mmap(-1, size, **private)


def room(purpose: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same for arrays of a type, of whatever shape fits, and with whatever is in them."""
    size, name = math.prod(shape), purpose + dtype.char
    array = kept.arrays.get(name)
    if array is None or array.size < size:
        array = np.empty(size, dtype)
        if size <= MOST:
            kept.arrays[name] = array
    return array[:size].reshape(shape)
