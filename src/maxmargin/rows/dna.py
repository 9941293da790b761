"""Sequences of letters as rows: a line holds a label and a sequence, a row counts its words of K letters.

    +1 ACGTTGCAAN...

A, C, G and T, small or large, are letters; a word with any other letter in it is not counted. Word w_1 … w_K is column
Σ w_i 4^(K−i), with A, C, G, T as 0, 1, 2, 3. Rows have length 1, so that long sequences weigh no more than short ones.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from maxmargin.compiled import compiled
from maxmargin.errors import DataError, FileError
from maxmargin.rows.labels import as_whole, is_name
from maxmargin.rows.memory import Csr
from maxmargin.rows.parse import shown
from maxmargin.rows.source import START, Facts, OneFile, Place, RowBlock
from maxmargin.rows.streams import Block, blocks, is_plain, opened

OTHER = 4
CODES = np.full(256, OTHER, dtype=np.uint8)
for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
    CODES[list(letters)] = code


@dataclass
class DnaSource(OneFile):
    """A file of labelled sequences."""

    k: int
    capacity: int = 1 << 20

    def __post_init__(self) -> None:
        super().__post_init__()
        self.spare: list[Block] = []
        self.facts: Facts | None = None
        self.places: list[Place] | None = None
        self.any_order = is_plain(self.path)

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """The rows from there on."""
        self.check()
        place = start
        for block in self.found(start):
            place = block.next
            if len(block.labels):
                yield block
        self.check()
        if place.row == 0:
            raise DataError(f"{self.path}: no rows: each line should read label sequence")

    def block_at(self, place: Place) -> RowBlock:
        """The block that begins there."""
        with closing(self.found(place)) as found:
            for block in found:
                if len(block.labels):
                    return block
        raise FileError(f"{self.path}: the file has become shorter since training began: start again")

    def found(self, place: Place) -> Generator[RowBlock]:
        """All blocks from there on, those without rows too."""
        with opened(self.path) as stream:
            stream.skip(place.at)
            for block in blocks(stream, self.capacity, self.spare, place.at == 0):
                lines = bytes(block.text[: block.size]).split(b"\n")[:-1]
                labels, sequences = self.split(lines, place.line)
                following = Place(0, place.at + block.size, place.row + len(labels), place.line + len(lines))
                read = int(block.part_read * self.size)
                self.spare.append(block)
                yield RowBlock(rows_of(sequences, self.k), labels_of(labels), place, following, read)
                place = following

    def split(self, lines: list[bytes], before: int) -> tuple[list[bytes], list[bytes]]:
        """Labels and sequences of lines; blank lines and comments hold none."""
        labels, sequences = [], []
        for number, line in enumerate(lines, before + 1):
            parts = line.split(b"#", 1)[0].split()
            if not parts:
                continue
            if len(parts) != 2 or not parts[1].isalpha():
                said = shown(parts[1] if len(parts) > 1 else parts[0])
                raise DataError(f"{self.path}:{number}: {said}: a line should read label sequence, with letters only")
            if not is_label(parts[0]):
                raise DataError(f"{self.path}:{number}: label {shown(parts[0])} is not finite, or not UTF-8")
            labels.append(parts[0])
            sequences.append(parts[1])
        return labels, sequences


@lru_cache(1000)
def is_label(text: bytes) -> bool:
    """Whether it is a finite number or a name."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return is_name(text)


def labels_of(labels: list[bytes]) -> np.ndarray:
    """Labels as numbers, or as names if any is one."""
    try:
        return as_whole(np.array([float(label) for label in labels]))
    except ValueError:
        return np.array([label.decode() for label in labels])


def rows_of(sequences: Sequence[bytes | str], k: int) -> Csr:
    """The words of each sequence."""
    texts = [text.encode() if isinstance(text, str) else text for text in sequences]
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)]).astype(np.int64)
    letters = np.frombuffer(b"".join(texts), dtype=np.uint8)
    values, indices = np.empty(len(letters)), np.empty(len(letters), dtype=np.int32)
    indptr = np.zeros(len(ends), dtype=np.int64)
    end = count_words(CODES[letters], ends, k, values, indices, indptr)
    return Csr(values[:end].copy(), indices[:end].copy(), indptr, int(4**k))


@compiled
def count_words(codes, ends, k, values, indices, indptr):
    """Count the words of every sequence, sorted, and divide by the length of the counts."""
    to, mask, longest = 0, (1 << (2 * k)) - 1, 1
    for i in range(ends.size - 1):
        longest = max(longest, ends[i + 1] - ends[i])
    words, spare = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    for i in range(ends.size - 1):
        found, word, letters = 0, 0, 0
        for p in range(ends[i], ends[i + 1]):
            if codes[p] == OTHER:
                letters = 0
                continue
            word = ((word << 2) | codes[p]) & mask
            letters += 1
            if letters >= k:
                words[found] = word
                found += 1
        first = to
        words, spare = in_order(words, spare, found, 2 * k)
        for p in range(found):
            if to > first and indices[to - 1] == words[p]:
                values[to - 1] += 1.0
            else:
                indices[to], values[to] = words[p], 1.0
                to += 1
        square = 0.0
        for p in range(first, to):
            square += values[p] * values[p]
        for p in range(first, to):
            values[p] /= np.sqrt(square)
        indptr[i + 1] = to
    return to


@compiled
def in_order(words, spare, found, bits):
    """The words sorted, eight bits after eight bits, and the memory that is free now."""
    starts = np.empty(257, dtype=np.int64)
    for shift in range(0, bits, 8):
        starts[:] = 0
        for p in range(found):
            starts[((words[p] >> shift) & 255) + 1] += 1
        for digit in range(256):
            starts[digit + 1] += starts[digit]
        for p in range(found):
            digit = (words[p] >> shift) & 255
            spare[starts[digit]] = words[p]
            starts[digit] += 1
        words, spare = spare, words
    return words, spare
