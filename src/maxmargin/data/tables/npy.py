"""A .npy file as a source of rows. The labels come from another file or an array."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.formats import Format
from maxmargin.data.labels import check_length, plain
from maxmargin.data.rows import Dense
from maxmargin.data.source import START, Facts, OneFile, Place, RowBlock
from maxmargin.data.tables.arrays import check_labels
from maxmargin.data.tables.batches import reason
from maxmargin.data.take import as_float, first_not_finite, not_finite
from maxmargin.errors import DataError, FileError

READERS = {(1, 0): "read_array_header_1_0", (2, 0): "read_array_header_2_0", (3, 0): "read_array_header_2_0"}


@dataclass
class ArraySource(OneFile):
    """The rows of a .npy file, with labels `y` from another .npy file or an array."""

    y: Any
    capacity: int = 1 << 20
    unlabelled: bool = False  # whether labels are not needed

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shape, self.dtype, self.offset = header(self.path)
        if self.y is None and not self.unlabelled:
            raise DataError(f"{self.path}: an array has no labels: give y, an array or the .npy file that holds them")
        y = array_in(Path(self.y)) if isinstance(self.y, (str, Path)) else self.y
        if y is None:
            y = np.zeros(self.shape[0])
        self.labels = check_length(y, self.shape[0])
        if self.labels.dtype.kind in "OT":
            self.labels = plain(self.labels)
        check_labels(self.labels, self.name)
        if 0 in self.shape:
            raise DataError(f"{self.path}: holds {self.shape[0]} rows of {self.shape[1]} features: nothing to train on")
        self.facts = Facts(self.shape[0], self.shape[1], np.unique(self.labels))
        self.at_once = max(1, self.capacity // max(self.dtype.itemsize * self.shape[1], 1))
        self.places = [Place(0, 0, row) for row in range(0, self.shape[0], self.at_once)]
        self.any_order = True

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """Yield the blocks from `start` on. They are read, not mapped: a memory map would keep all pages in memory."""
        self.check()
        for row in range(start.row, self.shape[0], self.at_once):
            yield self.block_at(Place(0, 0, row))
        self.check()

    def bytes_at(self, place: Place) -> tuple[int, int]:
        """Return the offset and size of a block, in bytes."""
        width = self.shape[1] * self.dtype.itemsize
        return self.offset + place.row * width, self.at_once * width

    def block_at(self, place: Place) -> RowBlock:
        """Read the block at `place`."""
        (n, d), first = self.shape, place.row
        last = min(first + self.at_once, n)
        with self.path.open("rb") as file:
            file.seek(self.offset + first * d * self.dtype.itemsize)
            values = np.fromfile(file, self.dtype, (last - first) * d)
            read = file.tell()
        if values.size < (last - first) * d:
            raise FileError(f"{self.path}: the file is cut short at row {first + values.size // max(d, 1)}")
        values = as_float(values, self.name)
        fault = first_not_finite(values)
        if fault >= 0:
            row, column = divmod(fault, d)
            raise not_finite(self.name, first + row, column, values[fault])
        return RowBlock(Dense(values.reshape(-1, d)), self.labels[first:last], place, Place(0, 0, last), read)


def header(path: Path) -> tuple[tuple[int, int], np.dtype, int]:
    """Return shape and type of the matrix in a .npy file, and the offset of its values."""
    shape, columns_first, dtype, offset = checked_header(path)
    if len(shape) != 2 or columns_first or dtype.kind not in "biufc":
        raise DataError(f"{path}: holds an array of shape {shape}, type {dtype}: needs rows of numbers, row by row")
    return (shape[0], shape[1]), dtype, offset


def checked_header(path: Path) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Return shape, order, type and offset of an array; raise unless the file holds all of it."""
    from numpy.lib import format as npy

    try:
        with path.open("rb") as file:
            version = npy.read_magic(file)
            if version not in READERS:
                raise ValueError(f"version {version[0]}.{version[1]}")
            shape, columns_first, dtype = getattr(npy, READERS[version])(file)
            offset, size = file.tell(), path.stat().st_size
    except Exception as error:  # NumPy parses the header as Python text: TokenError, EOFError, RecursionError, ...
        raise FileError(f"{path}: is not a .npy file, or it is cut short ({reason(error)})") from error
    if dtype.hasobject or any(type(count) is not int or count < 0 for count in shape):
        raise DataError(f"{path}: holds an array of shape {shape}, type {dtype}: needs numbers or text")
    needed = offset + math.prod(shape) * dtype.itemsize
    if needed > size:
        raise FileError(
            f"{path}: is cut short: an array of shape {shape}, type {dtype} takes {needed:,} bytes, "
            f"the file has {size:,}"
        )
    return shape, columns_first, dtype, offset


def array_in(path: Path) -> np.ndarray:
    """Read a whole .npy file. Python objects in it are not allowed."""
    checked_header(path)
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise FileError(f"{path}: cannot read labels: {reason(error)}") from error


NPY = Format(
    "npy", ".npy", lambda path, how: ArraySource(path, how.y, how.capacity, how.width is not None),
    starts=((b"\x93NUMPY", ""),), usual=(".npy",), has_labels=False,
)  # fmt: skip
