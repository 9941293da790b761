"""Messages between the client and the workers: passes pickled once for all workers, totals sparse where shorter.

Arrays travel beside the pickled bytes, without a copy.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.reduction import Totals

LEAST_SPARSE = 1024  # smallest number of entries for which zeros are left out
SPARSE_SHARE = 0.5  # an entry of a sparse array takes 12 bytes instead of 8: below this share it is shorter


class Packed(NamedTuple):
    """A pickled object: its bytes, and the memory of its arrays."""

    head: bytes
    arrays: list[np.ndarray]

    @property
    def nbytes(self) -> int:
        """Number of bytes to send."""
        return len(self.head) + sum(array.nbytes for array in self.arrays)


class SparseArray(NamedTuple):
    """An array of float64 without its zeros."""

    shape: tuple[int, ...]
    places: np.ndarray
    values: np.ndarray


def pack(what: Any) -> Packed:
    """Pickle an object once; its arrays are not copied."""
    from distributed.protocol.pickle import dumps

    buffers: list[pickle.PickleBuffer] = []
    head = dumps(what, buffer_callback=buffers.append)
    return Packed(head, [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers])


def unpack(packed: Packed) -> Any:
    """Return the object."""
    from distributed.protocol.pickle import loads

    return loads(packed.head, buffers=packed.arrays)


def shortened(totals: Sequence[Totals]) -> list[tuple[Any, ...]]:
    """Return totals with sparse arrays in place of those that are mostly zeros."""
    return [tuple(sparse_or_dense(total) for total in one) for one in totals]


def restored(totals: Sequence[tuple[Any, ...]]) -> list[Totals]:
    """Return the totals as writable arrays."""
    return [tuple(dense_of(total) for total in one) for one in totals]


def sparse_or_dense(total: np.ndarray) -> Any:
    """Return an array without its zeros if that is shorter. Entries −0 are kept: the sum must have the same bits."""
    if total.dtype != np.float64 or total.size < LEAST_SPARSE:
        return total
    flat = np.ascontiguousarray(total).reshape(-1)
    places = np.flatnonzero(flat.view(np.int64))
    if len(places) > SPARSE_SHARE * flat.size:
        return total
    kind = np.int32 if flat.size < 2**31 else np.int64
    return SparseArray(total.shape, places.astype(kind), flat[places])


def dense_of(total: Any) -> np.ndarray:
    """Return an array with its zeros, writable."""
    if not isinstance(total, SparseArray):
        return np.require(total, requirements="W")
    found = np.zeros(int(np.prod(total.shape)))
    found[total.places] = total.values
    return found.reshape(total.shape)


def size_of(totals: Sequence[tuple[Any, ...]]) -> int:
    """Return the number of bytes of shortened totals."""
    return sum(
        total.places.nbytes + total.values.nbytes if isinstance(total, SparseArray) else total.nbytes
        for one in totals
        for total in one
    )
