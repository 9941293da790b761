"""Arrays that are reused. For small problems, allocating fresh pages costs more than the arithmetic."""

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

MOST_KEPT_NUMBERS = 1 << 21  # Larger arrays (16 MB) are not kept for reuse.
MOST_REUSED_BYTES = 1 << 26  # Larger pieces of memory are not lent a second time.
KEPT_PIECES = 2  # Free pieces of memory that a lender keeps.


class Kept(threading.local):
    """The arrays that each thread keeps for reuse."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}


kept = Kept()


def scratch(purpose: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of zeros. This thread gets the same array for the same purpose: do not keep references."""
    array = kept.arrays.get(purpose)
    if array is None or array.shape != shape:
        array = np.zeros(shape)
        if array.size <= MOST_KEPT_NUMBERS:
            kept.arrays[purpose] = array
        return array
    array.fill(0.0)
    return array


class Lender:
    """Lends memory to an object for its lifetime, and then to the next one. It keeps a few free pieces."""

    def __init__(self, some: int = KEPT_PIECES, waste: float = math.inf) -> None:
        self.some, self.waste = some, waste
        self.lock, self.free = threading.Lock(), list[mmap.mmap]()
        self.returned: deque[mmap.mmap] = deque()

    def lend(self, to: object | None, size: int, dtype: type) -> np.ndarray:
        """Return an uninitialised array that belongs to `to`, or to the array itself and its views if `to` is None.

        The system allocates new pages only when they are written to.
        """
        needed = max(size, 1) * np.dtype(dtype).itemsize
        memory = self.held(needed) or untouched(needed)
        array: np.ndarray = np.frombuffer(memory, dtype, count=size)
        if len(memory) <= MOST_REUSED_BYTES:  # a finaliser can run at any moment, so it must not take a lock
            weakref.finalize(array if to is None else to, self.returned.append, memory).atexit = False
        return array

    def lend_pairs(self, size: int, values: type, indices: type) -> tuple[np.ndarray, np.ndarray]:
        """Return uninitialised values and indices. Their memory has one of few sizes, so that it can be reused."""
        middle = size * np.dtype(values).itemsize
        end = middle + size * np.dtype(indices).itemsize
        both = self.lend(None, 1 << max(end, 1).bit_length(), np.uint8)  # unused pages take no memory
        return both[:middle].view(values), both[middle:end].view(indices)

    def held(self, needed: int) -> mmap.mmap | None:
        """Return a free piece that is large enough, or None. Keep only the largest few that waste little."""
        with self.lock:
            while self.returned:
                self.free.append(self.returned.popleft())
            fitting = (memory for memory in self.free if len(memory) <= self.waste * needed)
            self.free = sorted(fitting, key=len)[-self.some :]
            place = next((k for k, memory in enumerate(self.free) if len(memory) >= needed), None)
            return None if place is None else self.free.pop(place)


lender = Lender()


def untouched(size: int) -> mmap.mmap:
    """Return fresh memory. It is private, because shared memory, the default, is slower."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        return mmap.mmap(-1, size, **private)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes at once: take a smaller cache, or less memory") from error


def reserved(size: int, kind: type, huge: bool = False) -> np.ndarray:
    """Return an array of zeros that takes memory only where something is written.

    With huge pages, if available, it takes memory in megabytes, and random access is faster.
    """
    size = max(int(size), 1)
    memory = untouched(size * np.dtype(kind).itemsize)
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype=kind, count=size)


class FileMap(mmap.mmap):
    """A memory-mapped file."""


def memory_of(array: np.ndarray) -> object:
    """Return the object that owns the memory of an array."""
    memory: object = array
    while isinstance(memory, np.ndarray):
        memory = memory.base
    return memory.obj if isinstance(memory, memoryview) else memory


def forget(array: np.ndarray) -> None:
    """Drop the cached pages of a file-backed array."""
    memory = memory_of(array)
    if isinstance(memory, FileMap) and hasattr(memory, "madvise"):
        memory.madvise(mmap.MADV_DONTNEED)


def tidy() -> None:
    """Return to the system the memory that the C library and Arrow have freed but still hold."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):  # not the GNU C library
        ctypes.CDLL(None).malloc_trim(0)


def release(array: np.ndarray, size: int) -> None:
    """Release the memory of a `reserved` array after its first `size` numbers; the rest becomes 0 again."""
    memory = memory_of(array)
    start = -(-size * array.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
    if isinstance(memory, mmap.mmap) and hasattr(memory, "madvise") and start < len(memory):
        memory.madvise(mmap.MADV_DONTNEED, start, len(memory) - start)


def room(purpose: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array that reuses the memory of the last one for the same purpose."""
    size, name = math.prod(shape), purpose + dtype.char
    array = kept.arrays.get(name)
    if array is None or array.size < size:
        array = np.empty(size, dtype)
        if size <= MOST_KEPT_NUMBERS:
            kept.arrays[name] = array
    return array[:size].reshape(shape)
