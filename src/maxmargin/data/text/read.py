"""Reading of LIBSVM / SVMlight text on all cores.

Reads    label [qid:N] index:value ... [# comment], plain or compressed
How      one thread reads blocks of whole lines, compiled code parses several of them at a time, and the parts are
         joined in the order of the file, so the result depends neither on the threads nor on the block size
Refuses  the first invalid line, with its line number and a remedy
Costs    one pass; memory for the result and a few blocks
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from maxmargin.data.file_labels import label_array
from maxmargin.data.rows import Csr
from maxmargin.data.text.blocks import BLOCK, NARROW, Found, Task, first_row, no_features, parsed_blocks, text_task
from maxmargin.errors import DataError
from maxmargin.system.budget import Budget, too_many
from maxmargin.system.threads import free_memory, thread_count


def read_text(
    path: str | Path,
    *,
    zero_based: bool = False,
    d: int | None = None,
    threads: int | None = None,
    budget: Budget | None = None,
) -> tuple[Csr, np.ndarray]:
    r"""Read rows and labels from LIBSVM / SVMlight text, plain or compressed (gzip, bzip2, xz, Zstandard).

    Parameters
    ----------
    path : str or Path
        The file. Its compression is recognised by its content.
    zero_based : bool
        Whether the first feature has index 0; by default it has index 1, as in LIBSVM.
    d : int, optional
        Number of features. By default, the largest index in the file determines it.
    threads : int, optional
        Number of parsing threads; by default, the number of cores. The result does not depend on it.
    budget : Budget, optional
        Memory limit of the rows; by default, all free memory.

    Returns
    -------
    rows : Csr
        float64 values, each with the bits of Python's `float`; indices int32 if they fit, else int64.
    y : numpy.ndarray
        The labels: int64 if all are whole numbers, float64 if all are numbers, else text as written.

    Raises
    ------
    DataError
        The content of the file is invalid; the message names line, value and remedy.
    FileError
        The file cannot be read, or is cut short or damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.svm"
    ...     _ = file.write_text("+1 1:0.5 3:2\n-1 2:1e-3  # a comment\n")
    ...     rows, y = read_text(file)
    >>> rows.values.tolist(), rows.indices.tolist(), rows.indptr.tolist(), rows.d
    ([0.5, 2.0, 0.001], [0, 2, 1], [0, 2, 3], 3)
    >>> y.tolist()
    [1, -1]
    """
    budget = budget or Budget(int(free_memory()))
    task = text_task(Path(path), zero_based, d, longest=budget.line)
    read = _Read(task, budget.rows)
    for found in parsed_blocks(task, thread_count(threads), BLOCK):
        read.append(found)
    return read.rows(), read.labels()


class _Read:
    """The parts of the result that have been read, in the order of the file."""

    def __init__(self, task: Task, most: int) -> None:
        self.task, self.most = task, most
        self.names = 0
        self.line = b""  # text of the first row
        self.values = _Growing(np.float64)
        self.indices = _Growing(np.int32)
        self.ends = _Growing(np.int64)
        self.numbers = _Growing(np.float64)
        self.label_text = _Growing(np.uint8)
        self.arrays = self.values, self.indices, self.ends, self.numbers, self.label_text
        for array in self.arrays:
            array.most = most

    def append(self, found: Found) -> None:
        """Add a block."""
        room, parsed, part = found.room, found.parsed, found.block.part_read
        room.ends[: parsed.rows] += self.values.size
        self.ends.append(room.ends[: parsed.rows], part)
        self.values.append(room.values[: parsed.pairs], part)
        self.indices.append(room.indices[: parsed.pairs], part)
        self.numbers.append(room.labels[: parsed.rows], part)
        self.label_text.append(room.label_text[: parsed.label_bytes], part)
        self.names += parsed.names
        self.line = self.line or first_row(found.block)
        size = sum(array.size * array.room.itemsize for array in self.arrays)
        if size > self.most:
            raise too_many(str(self.task.path), self.most)

    def rows(self) -> Csr:
        """Return the rows, with the narrowest indices that hold them."""
        if self.ends.size == 0:
            raise DataError(f"{self.task.path}: no rows: each line should read label index:value ...")
        if self.values.size == 0 and self.task.d is None:
            raise no_features(self.task.path, self.line)
        values, indices = self.values.array(), self.indices.array()
        d = self.task.d or (int(indices.max()) + 1 if indices.size else 0)
        kind = np.int32 if max(d, values.size) <= NARROW else np.int64
        indptr = np.zeros(self.ends.size + 1, dtype=kind)
        indptr[1:] = self.ends.array()
        return Csr(values, indices.astype(kind, copy=False), indptr, d)

    def labels(self) -> np.ndarray:
        return label_array(self.numbers.array(), self.label_text.array(), self.names > 0)


class _Growing:
    """An array that grows. Its final size is estimated from the part of the file that has been read."""

    def __init__(self, kind: type) -> None:
        self.size = 0
        self.most = np.inf  # most bytes that are reserved in advance
        self.room: np.ndarray = np.empty(0, dtype=kind)

    def append(self, part: np.ndarray, part_read: float) -> None:
        size = self.size + part.size
        if part.dtype.itemsize > self.room.dtype.itemsize:
            self.room = self.room.astype(part.dtype)
        if size > self.room.size:
            foreseen = min(size / part_read * 1.05, self.most / part.itemsize)
            self._make_room(max(int(foreseen), size))
        self.room[self.size : size] = part
        self.size = size

    def _make_room(self, size: int) -> None:
        if self.size == 0:
            self.room = np.empty(size, dtype=self.room.dtype)
        else:  # the system moves the memory without a copy, if it can
            self.room.resize(size, refcheck=False)

    def array(self) -> np.ndarray:
        """Return the array, without unused memory."""
        self.room.resize(self.size, refcheck=False)
        return self.room
