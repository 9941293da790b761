"""Parsing of LIBSVM text in blocks, in the order of the file: shared by reading a whole file and by streaming.

One thread reads blocks of whole lines, and compiled code parses several of them at a time. The first invalid line
raises an error with its line number and a remedy; or all invalid lines are skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxmargin.data.file_labels import all_refused
from maxmargin.data.text.parse import LARGEST_INDEX, Parsed, Room, explanation, parse, shown
from maxmargin.data.text.streams import LONGEST, Block, Stream, blocks, line_too_long, opened
from maxmargin.errors import DataError, ParameterError
from maxmargin.system.threads import in_order

BLOCK = 1 << 20
NARROW = 2**31 - 1  # most columns and pairs that int32 can count
NUMBER = re.compile(rb"[-+.0-9eE]+")
SEPARATOR = re.compile(rb"[,;|\t]")
ROW = re.compile(rb"^[^\S\n]*[^\s#][^\n]*", re.MULTILINE)
LONG_INDEX = re.compile(rb"([0-9]{10,19}):")

Answer = tuple[Room, Parsed, list[int]]


class Found(NamedTuple):
    """A parsed block, valid until the next one is requested; `bad` holds the error messages of its skipped lines."""

    block: Block
    room: Room
    parsed: Parsed
    bad: list[str]
    end: int  # end of the block, in bytes of text from the beginning of the file
    lines: int  # lines of the file up to the end of the block


class Task(NamedTuple):
    """Settings for parsing the blocks of a file, and memory for reuse."""

    path: Path
    base: int
    d: int | None
    limit: int  # largest column
    lenient: bool  # whether invalid lines are skipped
    longest: int  # most bytes of a line
    spare: list[Room]
    spare_blocks: list[Block]

    def parse(self, block: Block) -> Answer:
        """Parse one block; return its arrays, the result, and the positions of faults in skipped lines.

        The `size` of the result is the position of the first fault if the block is refused.
        """
        room, start, bad = self._room(block.capacity), 0, list[int]()
        parsed, faults = self._checked(block, room, 0)
        if not self.lenient:
            return room, parsed._replace(size=min([parsed.size, *faults])), bad
        while faults or parsed.size < block.size:
            if parsed.size < block.size:
                faults = one_a_line(block, [*(fault for fault in faults if fault < parsed.size), parsed.size])
            bad += faults
            start = block.text.find(b"\n", faults[-1]) + 1
            if parsed.size == block.size:
                break
            parsed, faults = self._checked(block, room, start)
        return (room, self._without(block, room, bad), bad) if bad else (room, parsed, bad)

    def _without(self, block: Block, room: Room, bad: list[int]) -> Parsed:
        """Parse the block as if the lines with these faults were blank; the text of the block is restored."""
        starts = [block.text.rfind(b"\n", 0, fault) + 1 for fault in bad]
        lines = [bytes(block.text[start : block.text.find(b"\n", start)]) for start in starts]
        for start, line in zip(starts, lines, strict=True):
            block.text[start : start + len(line)] = b" " * len(line)
        parsed, _ = self._checked(block, room, 0)
        for start, line in zip(starts, lines, strict=True):
            block.text[start : start + len(line)] = line
        return parsed

    def _checked(self, block: Block, room: Room, start: int) -> tuple[Parsed, list[int]]:
        """Parse from `start` on; return the result and the faults that compiled code cannot see.

        All positions count from the beginning of the block.
        """
        parsed = self._compiled(block, room, start)
        if parsed.size < block.size and self._is_wide(block, parsed.size):
            room.indices = np.empty(room.indices.size, dtype=np.int64)
            parsed = self._compiled(block, room, start)
        faults = settle(block, room, parsed) if parsed.undecided else []
        if parsed.names:
            faults += wrong_names(block, room, parsed, start)
        return parsed, one_a_line(block, faults)

    def _room(self, capacity: int) -> Room:
        with suppress(IndexError):
            room = self.spare.pop()
            if room.capacity >= capacity:
                return room
        return Room(capacity)

    def _compiled(self, block: Block, room: Room, start: int) -> Parsed:
        limit = min(self.limit, NARROW - 1) if room.indices.dtype == np.int32 else self.limit
        arrays = room.labels, room.label_text, room.ends, room.indices, room.values
        parsed = parse(block.address() + start, block.size - start, self.base, limit, *arrays)
        return parsed._replace(size=parsed.size + start)  # type: ignore[no-any-return]

    def _is_wide(self, block: Block, position: int) -> bool:
        """Whether the pair at a position was refused only because int32 cannot hold its column."""
        found = LONG_INDEX.match(block.text, position)
        return found is not None and NARROW <= int(found[1]) - self.base <= self.limit


def text_task(path: Path, zero_based: bool, d: int | None, lenient: bool = False, longest: int = LONGEST) -> Task:
    """Return the settings for parsing a file; `d` is the number of features, if known."""
    if d is not None and d < 1:
        raise ParameterError(f"d = {d}: the number of features must be at least 1")
    base = 0 if zero_based else 1
    return Task(path, base, d, LARGEST_INDEX - base if d is None else d - 1, lenient, longest, [], [])


def settle(block: Block, room: Room, parsed: Parsed) -> list[int]:
    """Let float() parse what compiled code could not decide; return the positions of values that are not finite."""
    address, faults = block.address(), []
    for numbers in (room.labels[: parsed.rows], room.values[: parsed.pairs]):
        bits = numbers.view(np.int64)
        for k in np.flatnonzero(np.isnan(numbers)):
            position = (int(bits[k]) - address) & (2**51 - 1)
            found = NUMBER.match(block.text, position)
            numbers[k] = float(found[0]) if found else np.nan
            if not np.isfinite(numbers[k]):
                faults.append(position)
    return faults


def wrong_names(block: Block, room: Room, parsed: Parsed, start: int) -> list[int]:
    """Return the positions of lines whose labels are neither numbers nor valid text."""
    refused = set(all_refused(room.label_text[: parsed.label_bytes].tobytes()))
    if not refused:
        return []
    faults, position, row = [], start, 0
    for line in bytes(block.text[start : parsed.size]).split(b"\n"):
        if line.split(b"#")[0].strip():
            if row in refused:
                faults.append(position)
            row += 1
        position += len(line) + 1
    return faults


def one_a_line(block: Block, faults: list[int]) -> list[int]:
    """Return the first fault of each line, in order."""
    kept: list[int] = []
    for fault in sorted(faults):
        if not kept or block.text.find(b"\n", kept[-1]) < fault:
            kept.append(fault)
    return kept


def parsed_blocks(task: Task, threads: int, capacity: int = BLOCK, start: int = 0, lines: int = 0) -> Generator[Found]:
    """Yield the parsed blocks from byte `start` of the text on, after `lines` lines; raise at an invalid line."""
    with opened(task.path) as stream:
        yield from parsed_stream(stream, task, threads, capacity, start, lines)


def parsed_stream(stream: Stream, task: Task, threads: int, capacity: int, start: int, lines: int) -> Generator[Found]:
    """Like `parsed_blocks`, for an open file."""
    stream.skip(start)
    cut, at_start = blocks(stream, capacity, task.spare_blocks, start == 0, task.longest), start == 0
    for block, (room, parsed, bad) in in_order(task.parse, cut, threads if threads > 1 else 0):
        if block.too_long:
            raise line_too_long(task.path, lines + 1, block.too_long)
        if parsed.size < block.size:
            raise DataError(complaint(task, block, parsed.size, lines))
        if at_start and parsed.rows:
            check_is_no_table(task.path, block, parsed)
            at_start = False
        said = [complaint(task, block, position, lines) for position in bad]
        start, lines = start + block.size, lines + parsed.lines
        try:
            yield Found(block, room, parsed, said, start, lines)
        finally:
            task.spare_blocks.append(block)
            task.spare.append(room)


def check_is_no_table(path: Path, block: Block, parsed: Parsed) -> None:
    """Raise if the file looks like CSV under another name: separators in its first row, and no index:value."""
    line = first_row(block)
    if parsed.pairs == 0 and SEPARATOR.search(line):
        raise no_features(path, line)


def first_row(block: Block) -> bytes:
    """Return the first line that is neither empty nor a comment."""
    found = ROW.search(block.text, 0, block.size)
    return found[0].strip() if found else b""


def no_features(path: Path, line: bytes) -> DataError:
    """Return the error for rows that consist of labels only."""
    table = SEPARATOR.search(line) is not None
    said = "this is a table: name it .csv, with a line of column names" if table else "no row has a feature"
    return DataError(
        f"{path}: a row such as '{shown(line)}' has no index:value, and neither has another: {said}; "
        "a line in LIBSVM format reads label index:value ..."
    )


def complaint(task: Task, block: Block, position: int, lines: int) -> str:
    """Return the error message for the fault at a position, with file and line."""
    start = block.text.rfind(b"\n", 0, position) + 1
    line = bytes(block.text[start : block.text.find(b"\n", position)])
    number = lines + block.text.count(b"\n", 0, position) + 1
    return f"{task.path}:{number}: {explanation(line, position - start, task.base, task.d)}"
