"""LIBSVM / SVMlight text, read on all cores.

Reads    label [qid:N] index:value ... [# comment], plain or compressed
How      one thread reads blocks of whole lines; compiled code parses several of them at a time; the parts are
         put together in the order of the file, so neither threads nor block size can be seen in the result
Refuses  the first thing that is wrong in the file, by line, with the remedy
Costs    one pass; memory for the result and a few blocks
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxmargin.cores import thread_count
from maxmargin.errors import DataError, ParameterError
from maxmargin.rows.labels import first_refused, label_array
from maxmargin.rows.memory import Csr
from maxmargin.rows.parse import LARGEST_INDEX, Parsed, Room, explanation, parse
from maxmargin.rows.streams import Block, blocks, opened

BLOCK = 1 << 20
NARROW = 2**31 - 1  # the most columns and pairs that int32 counts
NUMBER = re.compile(rb"[-+.0-9eE]+")
LONG_INDEX = re.compile(rb"([0-9]{10,19}):")

Answer = tuple[Room, Parsed]


def read_text(
    path: str | Path, *, zero_based: bool = False, d: int | None = None, threads: int | None = None
) -> tuple[Csr, np.ndarray]:
    r"""Read rows and labels from LIBSVM / SVMlight text, plain or compressed (gzip, bzip2, xz, Zstandard).

    Parameters
    ----------
    path : str or Path
        The file. What it is compressed with is seen from its content.
    zero_based : bool
        Whether the first feature has index 0; by default it has index 1, as LIBSVM writes it.
    d : int, optional
        The number of features. By default, the largest index in the file says.
    threads : int, optional
        How many threads parse; by default, as many as there are cores. The result does not depend on it.

    Returns
    -------
    rows : Csr
        float64 values, each the bits of Python's `float`; indices int32 where they fit, else int64.
    y : numpy.ndarray
        The labels: int64 if all are whole numbers, float64 if all are numbers, else text as written.

    Raises
    ------
    DataError
        Something in the file is not as it should be; the message names line, value and remedy.
    FileError
        The file cannot be read, is cut short or damaged.

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
    task = _task(Path(path), zero_based, d)
    read = _Read(task)
    spare: list[Block] = []
    with opened(path) as stream:
        for block, found in _in_order(task.parse, blocks(stream, BLOCK, spare), thread_count(threads)):
            read.append(block, *found)
            spare.append(block)
            task.spare.append(found[0])
    return read.rows(), read.labels()


class _Task(NamedTuple):
    """What is asked of every block."""

    path: Path
    base: int
    d: int | None
    limit: int  # the largest column
    spare: list[Room]

    def parse(self, block: Block) -> tuple[Room, Parsed]:
        """Parse one block; `size` of the answer is where it was refused, if it was."""
        room = self._room(block.capacity)
        parsed = self._compiled(block, room)
        if parsed.size < block.size and self._is_wide(block, parsed.size):
            room.indices = np.empty(room.indices.size, dtype=np.int64)
            parsed = self._compiled(block, room)
        if parsed.undecided:
            parsed = _settled(block, room, parsed)
        if parsed.names:
            parsed = _names_checked(block, room, parsed)
        return room, parsed

    def _room(self, capacity: int) -> Room:
        with suppress(IndexError):
            room = self.spare.pop()
            if room.capacity >= capacity:
                return room
        return Room(capacity)

    def _compiled(self, block: Block, room: Room) -> Parsed:
        limit = min(self.limit, NARROW - 1) if room.indices.dtype == np.int32 else self.limit
        arrays = room.labels, room.label_text, room.ends, room.indices, room.values
        return parse(block.address(), block.size, self.base, limit, *arrays)  # type: ignore[no-any-return]

    def _is_wide(self, block: Block, position: int) -> bool:
        """Whether the pair there was refused only because int32 cannot hold its column."""
        found = LONG_INDEX.match(block.text, position)
        return found is not None and NARROW <= int(found[1]) - self.base <= self.limit


def _task(path: Path, zero_based: bool, d: int | None) -> _Task:
    if d is not None and d < 1:
        raise ParameterError(f"d = {d}: the number of features must be at least 1")
    base = 0 if zero_based else 1
    return _Task(path, base, d, LARGEST_INDEX - base if d is None else d - 1, [])


def _in_order(
    function: Callable[[Block], Answer], blocks: Iterator[Block], threads: int
) -> Iterator[tuple[Block, Answer]]:
    """Each block with its answer, in order; the caller's thread reads, a block a thread ahead at most."""
    if threads == 1:
        yield from ((block, function(block)) for block in blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Block, Future[Answer]]] = deque()
        try:
            for block in blocks:
                waiting.append((block, pool.submit(function, block)))
                if len(waiting) > threads:
                    first, answer = waiting.popleft()
                    yield first, answer.result()
            for first, answer in waiting:
                yield first, answer.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _settled(block: Block, room: Room, parsed: Parsed) -> Parsed:
    """Let float() decide what compiled code could not; an infinite value is refused where it stands."""
    address = block.address()
    for numbers in (room.labels[: parsed.rows], room.values[: parsed.pairs]):
        bits = numbers.view(np.int64)
        for k in np.flatnonzero(np.isnan(numbers)):
            position = (int(bits[k]) - address) & (2**51 - 1)
            found = NUMBER.match(block.text, position)
            numbers[k] = float(found[0]) if found else np.nan
            if not np.isfinite(numbers[k]):
                parsed = parsed._replace(size=min(parsed.size, position))
    return parsed


def _names_checked(block: Block, room: Room, parsed: Parsed) -> Parsed:
    """Refuse a label that is neither a number nor a name where it stands."""
    row = first_refused(room.label_text[: parsed.label_bytes].tobytes())
    if row is None:
        return parsed
    position = 0
    for line in bytes(block.text[: block.size]).split(b"\n"):
        row -= bool(line.split(b"#")[0].strip())
        if row < 0:
            break
        position += len(line) + 1
    return parsed._replace(size=min(parsed.size, position))


class _Read:
    """What was read so far: the parts of the result, in the order of the file."""

    def __init__(self, task: _Task) -> None:
        self.task = task
        self.lines = 0
        self.names = 0
        self.values = _Growing(np.float64)
        self.indices = _Growing(np.int32)
        self.ends = _Growing(np.int64)
        self.numbers = _Growing(np.float64)
        self.label_text = _Growing(np.uint8)

    def append(self, block: Block, room: Room, parsed: Parsed) -> None:
        """Add a block, or refuse it."""
        if parsed.size < block.size:
            raise DataError(self._complaint(block, parsed.size))
        part = block.part_read
        room.ends[: parsed.rows] += self.values.size
        self.ends.append(room.ends[: parsed.rows], part)
        self.values.append(room.values[: parsed.pairs], part)
        self.indices.append(room.indices[: parsed.pairs], part)
        self.numbers.append(room.labels[: parsed.rows], part)
        self.label_text.append(room.label_text[: parsed.label_bytes], part)
        self.lines += parsed.lines
        self.names += parsed.names

    def rows(self) -> Csr:
        """The rows, with the narrowest indices that hold them."""
        if self.ends.size == 0:
            raise DataError(f"{self.task.path}: no rows: each line should read label index:value ...")
        values, indices = self.values.array(), self.indices.array()
        d = self.task.d or (int(indices.max()) + 1 if indices.size else 0)
        kind = np.int32 if max(d, values.size) <= NARROW else np.int64
        indptr = np.zeros(self.ends.size + 1, dtype=kind)
        indptr[1:] = self.ends.array()
        return Csr(values, indices.astype(kind, copy=False), indptr, d)

    def labels(self) -> np.ndarray:
        return label_array(self.numbers.array(), self.label_text.array(), self.names > 0)

    def _complaint(self, block: Block, position: int) -> str:
        start = block.text.rfind(b"\n", 0, position) + 1
        line = bytes(block.text[start : block.text.find(b"\n", position)])
        number = self.lines + block.text.count(b"\n", 0, position) + 1
        return f"{self.task.path}:{number}: {explanation(line, position - start, self.task.base, self.task.d)}"


class _Growing:
    """An array that grows; how much of the file is read says how large it will become."""

    def __init__(self, kind: type) -> None:
        self.size = 0
        self.room: np.ndarray = np.empty(0, dtype=kind)

    def append(self, part: np.ndarray, part_read: float) -> None:
        size = self.size + part.size
        if part.dtype.itemsize > self.room.dtype.itemsize:
            self.room = self.room.astype(part.dtype)
        if size > self.room.size:
            self._make_room(int(size / part_read * 1.05))
        self.room[self.size : size] = part
        self.size = size

    def _make_room(self, size: int) -> None:
        if self.size == 0:
            self.room = np.empty(size, dtype=self.room.dtype)
        else:  # moved by the system, where it can, without a copy
            self.room.resize(size, refcheck=False)

    def array(self) -> np.ndarray:
        """The array, without the room that was not needed."""
        self.room.resize(self.size, refcheck=False)
        return self.room
