"""A text file as a source of rows: parsed anew in each pass, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.file_labels import label_array
from maxmargin.data.formats import UNPACKED, Format, How
from maxmargin.data.rows import Csr
from maxmargin.data.source import START, Facts, OneFile, Place, RowBlock
from maxmargin.data.text.blocks import (
    BLOCK,
    NARROW,
    Found,
    first_row,
    no_features,
    parsed_blocks,
    parsed_stream,
    text_task,
)
from maxmargin.data.text.read import read_text
from maxmargin.data.text.streams import LONGEST, is_plain
from maxmargin.errors import DataError, FileError

TOLD = 5  # most skipped lines that are reported


@dataclass
class TextSource(OneFile):
    """LIBSVM text, plain or compressed."""

    zero_based: bool = False
    d: int | None = None
    threads: int = 1
    capacity: int = BLOCK
    lenient: bool = False
    longest: int = LONGEST  # most bytes of a line

    def __post_init__(self) -> None:
        super().__post_init__()
        task = text_task(self.path, self.zero_based, self.d, self.lenient, self.longest)
        self.task = task._replace(spare_blocks=self.spare)
        self.facts: Facts | None = None
        self.places: list[Place] | None = None
        self.any_order = is_plain(self.path)

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """Parse and yield the blocks from `start` on."""
        self.check()
        place, pairs, line = start, 0, b""
        if start == START:
            self.left_out, self.bad = 0, []
        for found in parsed_blocks(self.task, self.threads, self.capacity, start.at, start.line):
            self.left_out += len(found.bad)
            self.bad += found.bad[: TOLD - len(self.bad)]
            block = self.block(found, place)
            place, pairs, line = block.next, pairs + found.parsed.pairs, line or first_row(found.block)
            if found.parsed.rows:
                yield block
        self.task.spare.clear()  # reading single blocks needs fewer
        self.task.spare_blocks.clear()
        self.check()
        if place.row == 0:
            raise DataError(f"{self.path}: no rows: each line should read label index:value ...")
        if start == START and pairs == 0 and self.d is None:
            raise no_features(self.path, line)

    def share(self, other: Any, stays_open: bool) -> None:
        """Use the memory of another source, including that of its parser."""
        super().share(other, stays_open)
        rooms = other.task.spare if isinstance(other, TextSource) else self.task.spare
        self.task = self.task._replace(spare=rooms, spare_blocks=self.spare)

    def bytes_at(self, place: Place) -> tuple[int, int]:
        """Return the offset and approximate size of a block, in bytes."""
        return place.at, self.capacity

    def block_at(self, place: Place) -> RowBlock:
        """Parse the block at `place`."""
        with (
            self.stream() as stream,
            closing(parsed_stream(stream, self.task, 1, self.capacity, place.at, place.line)) as found_blocks,
        ):
            for found in found_blocks:
                block = self.block(found, place)
                if found.parsed.rows:
                    return block
                place = block.next
        raise FileError(f"{self.path}: the file has become shorter since training began: start again")

    def block(self, found: Found, place: Place) -> RowBlock:
        """Return a parsed block, which begins at `place`, as rows and labels."""
        following = Place(0, found.end, place.row + found.parsed.rows, found.lines)
        read = int(found.block.part_read * self.size) if self.size else found.end
        return RowBlock(self.rows(found), labels(found), place, following, read)

    def rows(self, found: Found) -> Csr:
        """Return the rows of a block, copied to memory of their own."""
        count, pairs = found.parsed.rows, found.parsed.pairs
        indices = found.room.indices[:pairs]
        width = int(indices.max()) + 1 if pairs else 0
        indptr = np.zeros(count + 1, dtype=np.int64)
        indptr[1:] = found.room.ends[:count]
        values, columns = self.lender.lend_pairs(pairs, np.float64, np.int32 if width <= NARROW else np.int64)
        values[:], columns[:] = found.room.values[:pairs], indices
        return Csr(values, columns, indptr, self.d or width)


def labels(found: Found) -> np.ndarray:
    """Return the labels of a block."""
    numbers, text = found.room.labels[: found.parsed.rows], found.room.label_text[: found.parsed.label_bytes]
    return label_array(numbers.copy(), text, found.parsed.names > 0)


def opened(path: Path, how: How) -> TextSource:
    """Open LIBSVM text as a source."""
    return TextSource(path, how.zero_based, how.d, how.threads, how.capacity, how.lenient, how.budget.line)


TEXT = Format(
    "text", "LIBSVM text (plain, .gz, .bz2, .xz, .zst)", opened, has_indices=True, read=read_text,
    usual=(".svm", ".libsvm", ".svmlight", ".txt", ".gz", ".bz2", ".xz", ".zst"),
    growth=lambda path: 1.0 if is_plain(path) else UNPACKED,
)  # fmt: skip
