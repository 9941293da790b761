"""Weights of examples that a file holds: text with one number a line, or a .npy file of one axis.

Numbers that would take too much of the memory limit are stored in a temporary file, a part at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from maxmargin.data.tables.npy import checked_header
from maxmargin.errors import DataError, FileError
from maxmargin.system.budget import Budget
from maxmargin.system.buffers import forget
from maxmargin.system.spill_file import in_file

AT_ONCE = 1 << 20  # bytes of a file that are read at once
NPY = b"\x93NUMPY"


def weights_in(paths: Sequence[Path], budget: Budget) -> np.ndarray:
    """Return the weights in one or several files, one after the other; raise unless all are finite and ≥ 0."""
    sizes = [count_in(path) for path in paths]
    found = reserved_for(sum(sizes), budget)
    end = 0
    for path in paths:
        parts = parts_of_npy(path) if is_npy(path) else parts_of_text(path)
        for first, part in parts:
            check_weights(part, f"{path}: weight", first)
            start, end = end, end + len(part)
            if end > len(found):
                raise changed(path)
            found[start:end] = part
            forget(found)
    if end != len(found):
        raise changed(paths[-1])
    found.flags.writeable = False
    return found


def reserved_for(size: int, budget: Budget) -> np.ndarray:
    """Return zeros, in a temporary file if they take too much memory."""
    if budget.too_many(0.5 * size):  # it counts two numbers for each example
        return in_file(size, np.float64, "weights")
    return np.zeros(size)


def is_npy(path: Path) -> bool:
    """Whether a file begins like a .npy file."""
    try:
        with path.open("rb") as file:
            return file.read(len(NPY)) == NPY
    except OSError as error:
        raise FileError(f"{path}: cannot read weights: {error.strerror or error}") from error


def count_in(path: Path) -> int:
    """Return the number of weights in a file."""
    return header_of(path)[0] if is_npy(path) else lines_in(path)


def header_of(path: Path) -> tuple[int, np.dtype, int]:
    """Return length, type and offset of the numbers in a .npy file."""
    shape, _, dtype, offset = checked_header(path)
    if len(shape) != 1 or dtype.kind not in "biuf":
        raise DataError(f"{path}: holds an array of shape {shape}, type {dtype}: weights need one number for each row")
    return shape[0], dtype, offset


def lines_in(path: Path) -> int:
    """Return the number of lines of a text file; raise at a line that is far too long for one number."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(AT_ONCE):
            lines = block.count(b"\n")
            if len(block) == AT_ONCE and not lines:
                raise DataError(
                    f"{path}:{count + 1}: the line is longer than {AT_ONCE:,} bytes: give one number a line"
                )
            count, last = count + lines, block[-1:]
    return count + (last != b"\n")


def parts_of_npy(path: Path) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the numbers of a .npy file in parts, each with the number of its first one."""
    size, dtype, offset = header_of(path)
    step = max(1, AT_ONCE // dtype.itemsize)
    with path.open("rb") as file:
        file.seek(offset)
        for first in range(0, size, step):
            yield first, np.fromfile(file, dtype, min(step, size - first)).astype(np.float64)


def parts_of_text(path: Path) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the numbers of a text file in parts, each with the number of its first one."""
    first = 0
    with path.open("rb") as file:
        while lines := file.readlines(AT_ONCE):
            yield first, np.array([number_in(line, path, first + k) for k, line in enumerate(lines)])
            first += len(lines)


def number_in(line: bytes, path: Path, row: int) -> float:
    """Return the number on a line."""
    try:
        return float(line)
    except ValueError:
        text = line.decode(errors="replace").strip()
        said = f"{text[:40]!r} is no number" if text else "the line is empty"
        raise DataError(f"{path}:{row + 1}: {said}: weights need one number a line") from None


def check_weights(values: np.ndarray, name: str, first: int = 0) -> None:
    """Raise unless every weight is finite and ≥ 0; `first` is the row number of the first one."""
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if wrong.size:
        raise DataError(f"{name} {first + wrong[0]} is {values[wrong[0]]}: a weight must be a finite number ≥ 0")


def changed(path: Path) -> FileError:
    """Return the error for a file that changes while it is read."""
    return FileError(f"{path}: the file has changed while it was read: leave it alone, and start again")
