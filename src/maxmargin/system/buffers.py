"""Arrays that are used again: for small problems fresh memory, got page by page, costs more than the arithmetic."""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import threading
import weakref
from collections import deque
from contextlib import suppress

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
    """Memory that is lent to an object as long as it lives, and then to the next one; some of it is kept for that."""

    def __init__(self, some: int = SOME, waste: float = math.inf) -> None:
        self.some, self.waste = some, waste
        self.lock, self.free = threading.Lock(), list[mmap.mmap]()
        self.returned: deque[mmap.mmap] = deque()

    def lend(self, to: object | None, size: int, dtype: type) -> np.ndarray:
        """An array with whatever is in it; the system hands out new pages one by one as they are written to.

        Without an object it is lent to the array itself, and whatever is a view of it.
        """
        needed = max(size, 1) * np.dtype(dtype).itemsize
        memory = self.held(needed) or untouched(needed)
        array: np.ndarray = np.frombuffer(memory, dtype, count=size)
        if len(memory) <= LENT:  # what is called at the end may be so at any moment: no lock, nothing else
            weakref.finalize(array if to is None else to, self.returned.append, memory).atexit = False
        return array

    def lend_pairs(self, size: int, values: type, indices: type) -> tuple[np.ndarray, np.ndarray]:
        """Room for so many values with their indices, of one of few sizes, so that others like it will do next time."""
        middle = size * np.dtype(values).itemsize
        end = middle + size * np.dtype(indices).itemsize
        both = self.lend(None, 1 << max(end, 1).bit_length(), np.uint8)  # what is not written to takes no memory
        return both[:middle].view(values), both[middle:end].view(indices)

    def held(self, needed: int) -> mmap.mmap | None:
        """What is free and large enough; of what is free and not far too large, the largest few are kept."""
        with self.lock:
            while self.returned:
                self.free.append(self.returned.popleft())
            fitting = (memory for memory in self.free if len(memory) <= self.waste * needed)
            self.free = sorted(fitting, key=len)[-self.some :]
            place = next((k for k, memory in enumerate(self.free) if len(memory) >= needed), None)
            return None if place is None else self.free.pop(place)


lender = Lender()


def untouched(size: int) -> mmap.mmap:
    """Bytes; as shared memory, the default, they would cost more."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        return mmap.mmap(-1, size, **private)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes at once: take a smaller cache, or less memory") from error


def reserved(size: int, kind: type, huge: bool = False) -> np.ndarray:
    """Room for so many numbers, all 0, which takes memory only where something is written.

    In huge pages, where there are such, it takes it by megabytes, and reaching for numbers here and there is faster.
    """
    size = max(int(size), 1)
    memory = untouched(size * np.dtype(kind).itemsize)
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype=kind, count=size)


class FileMap(mmap.mmap):
    """A file in the place of memory."""


def memory_of(array: np.ndarray) -> object:
    """What the numbers of an array lie in."""
    memory: object = array
    while isinstance(memory, np.ndarray):
        memory = memory.base
    return memory.obj if isinstance(memory, memoryview) else memory


def forget(array: np.ndarray) -> None:
    """Let the file of an array, if it lies in one, have back what memory holds of it."""
    memory = memory_of(array)
    if isinstance(memory, FileMap) and hasattr(memory, "madvise"):
        memory.madvise(mmap.MADV_DONTNEED)


def tidy() -> None:
    """Give the system back what was freed and is still kept, by the C library and by Arrow, for whoever comes next."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):  # no such library, or not such a one
        ctypes.CDLL(None).malloc_trim(0)


def release(array: np.ndarray, size: int) -> None:
    """Give back the memory of a `reserved` array behind its first numbers; they are 0 again."""
    memory = memory_of(array)
    start = -(-size * array.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
    if isinstance(memory, mmap.mmap) and hasattr(memory, "madvise") and start < len(memory):
        memory.madvise(mmap.MADV_DONTNEED, start, len(memory) - start)


def room(purpose: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of a type and shape with whatever is in it, in the memory of the last one for the same purpose."""
    size, name = math.prod(shape), purpose + dtype.char
    array = kept.arrays.get(name)
    if array is None or array.size < size:
        array = np.empty(size, dtype)
        if size <= MOST:
            kept.arrays[name] = array
    return array[:size].reshape(shape)
