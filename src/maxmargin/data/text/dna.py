"""DNA sequences as rows: a line holds a label and a sequence, and its row counts the words of K letters (k-mers).

    +1 ACGTTGCAAN...

The letters are A, C, G and T (or U), in upper or lower case; a word with any other letter is not counted. Word
w_1 … w_K is column Σ w_i 4^(K−i), with A, C, G, T as 0, 1, 2, 3. Rows have norm 1, so that long sequences weigh no more
than short ones.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from maxmargin.data.file_labels import as_whole, is_name
from maxmargin.data.rows import Csr
from maxmargin.data.source import START, Facts, OneFile, Place, RowBlock
from maxmargin.data.text.parse import shown
from maxmargin.data.text.streams import LONGEST, Stream, blocks, is_plain, line_too_long, opened
from maxmargin.errors import DataError, FileError
from maxmargin.system.buffers import Lender
from maxmargin.system.compiled import compiled

END_OF_LINE, BLANK, COMMENT = 10, 32, 35  # \n, space, #
OTHER = 4
MANY = 1000  # most distinct labels in a block for linear search; more are sorted
LONGER = 4  # a block of sequences is this many times shorter than one of LIBSVM text: each letter becomes a value
CODES = np.full(256, OTHER, dtype=np.uint8)
for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
    CODES[list(letters)] = code


@dataclass
class DnaSource(OneFile):
    """A file of labelled sequences."""

    k: int
    capacity: int = 1 << 20
    longest: int = LONGEST  # most bytes of a line

    def __post_init__(self) -> None:
        super().__post_init__()
        self.facts: Facts | None = None
        self.places: list[Place] | None = None
        self.any_order = is_plain(self.path)

    def blocks(self, start: Place = START) -> Iterator[RowBlock]:
        """Yield the blocks from `start` on."""
        self.check()
        place = start
        with opened(self.path) as stream:
            for block in self.found(stream, start):
                place = block.next
                if len(block.labels):
                    yield block
        self.check()
        if place.row == 0:
            raise DataError(f"{self.path}: no rows: each line should read label sequence")

    def bytes_at(self, place: Place) -> tuple[int, int]:
        """Return the offset and approximate size of a block, in bytes."""
        return place.at, self.capacity // LONGER

    def block_at(self, place: Place) -> RowBlock:
        """Read the block at `place`."""
        with self.stream() as stream, closing(self.found(stream, place)) as found:
            for block in found:
                if len(block.labels):
                    return block
        raise FileError(f"{self.path}: the file has become shorter since training began: start again")

    def found(self, stream: Stream, place: Place) -> Generator[RowBlock]:
        """Yield all blocks from `place` on, including those without rows."""
        stream.skip(place.at)
        for block in blocks(stream, self.capacity // LONGER, self.spare, place.at == 0, self.longest):
            if block.too_long:
                raise line_too_long(self.path, place.line + 1, block.too_long)
            text = np.frombuffer(block.text, dtype=np.uint8, count=block.size)
            labels, spans, lines = self.cut(text, place.line)
            following = Place(0, place.at + block.size, place.row + len(labels), place.line + lines)
            rows = words_of(text, spans[:, 2], spans[:, 3], self.k, self.lender)
            del text  # the block will be filled again
            read = int(block.part_read * self.size)
            self.spare.append(block)
            yield RowBlock(rows, labels, place, following, read)
            place = following

    def cut(self, text: np.ndarray, before: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the labels, the spans (see `cut_lines`) and the number of lines of a block after `before` lines."""
        spans = np.empty((int(np.count_nonzero(text == END_OF_LINE)), 5), dtype=np.int64)
        rows, lines, wrong = cut_lines(text, spans)
        spans = spans[:rows]
        firsts, codes = coded(text, spans)
        labels = words_at(text, spans[firsts])
        for row, label in sorted(zip(firsts.tolist(), labels, strict=True)):
            if not is_label(label):
                number = before + int(spans[row, 4])
                raise DataError(f"{self.path}:{number}: label {shown(label)} is not finite, or not UTF-8")
        if wrong >= 0:
            parts = text[wrong:].tobytes().split(b"\n", 1)[0].split(b"#", 1)[0].split()
            said = shown(parts[1] if len(parts) > 1 else parts[0])
            where = f"{self.path}:{before + lines}"
            raise DataError(f"{where}: {said}: a line should read label sequence, with letters only")
        return labels_of(labels)[codes], spans, lines


def coded(text: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row in which each distinct label first occurs, and for each row the number of its label."""
    codes, firsts = np.empty(len(spans), dtype=np.int64), np.empty(len(spans), dtype=np.int64)
    count = code_labels(text, spans, codes, firsts[:MANY])
    if count > MANY:
        firsts, codes = np.unique(np.array(words_at(text, spans)), return_index=True, return_inverse=True)[1:]
        return firsts, codes
    return firsts[:count], codes


def words_at(text: np.ndarray, spans: np.ndarray) -> list[bytes]:
    """Return the labels of these rows as they are written."""
    return [text[start:stop].tobytes() for start, stop in spans[:, :2].tolist()]


@lru_cache(1000)
def is_label(text: bytes) -> bool:
    """Whether a text is a valid label: a finite number or a name."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return is_name(text)


def labels_of(labels: list[bytes]) -> np.ndarray:
    """Convert labels to numbers, or to text if any of them is not a number."""
    try:
        return as_whole(np.array([float(label) for label in labels]))
    except ValueError:
        return np.array([label.decode() for label in labels])


def rows_of(sequences: Sequence[bytes | str], k: int) -> Csr:
    """Return the word counts of each sequence, divided by their norm."""
    texts = [text.encode() if isinstance(text, str) else text for text in sequences]
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)]).astype(np.int64)
    return words_of(np.frombuffer(b"".join(texts), dtype=np.uint8), ends[:-1], ends[1:], k, Lender())


def words_of(text: np.ndarray, starts: np.ndarray, stops: np.ndarray, k: int, lender: Lender) -> Csr:
    """Return the word counts, divided by their norm, of each part of a text from starts[i] to stops[i]."""
    most = int(np.sum(np.maximum(stops - starts - k + 1, 0)))
    values, indices = lender.lend_pairs(most, np.float32, np.int32)
    indptr = np.zeros(len(starts) + 1, dtype=np.int64)
    end = count_words(text, starts, stops, k, values, indices, indptr)
    return Csr(values[:end], indices[:end], indptr, int(4**k))


@compiled
def cut_lines(text, spans):
    """Find the label and the sequence of each line; stop at a line that is neither blank nor of this form.

    Each row of `spans` receives start and stop of the label, start and stop of the sequence, and the line number.
    Return the number of rows, the number of lines, and the beginning of the invalid line, or −1.
    """
    rows = lines = at = 0
    while at < text.size:
        begin, lines = at, lines + 1
        at = behind_blanks(text, at)
        if not at_end(text, at):
            spans[rows, 0] = at
            while not (at_end(text, at) or is_blank(text[at])):
                at += 1
            spans[rows, 1] = at
            at = behind_blanks(text, at)
            spans[rows, 2] = at
            while at < text.size and 65 <= text[at] & ~32 <= 90:
                at += 1
            spans[rows, 3] = at
            at = behind_blanks(text, at)
            if spans[rows, 2] == spans[rows, 3] or not at_end(text, at):
                return rows, lines, begin
            spans[rows, 4] = lines
            rows += 1
        while at < text.size and text[at] != END_OF_LINE:
            at += 1
        at += 1
    return rows, lines, -1


@compiled
def at_end(text, at):
    """Whether the rest of a line is empty or a comment."""
    return at >= text.size or text[at] == END_OF_LINE or text[at] == COMMENT


@compiled
def is_blank(letter):
    """Whether a letter is a space, a tab, or another ASCII blank."""
    return letter == BLANK or (9 <= letter <= 13 and letter != END_OF_LINE)


@compiled
def behind_blanks(text, at):
    """Return the position after the blanks."""
    while at < text.size and is_blank(text[at]):
        at += 1
    return at


@compiled
def code_labels(text, spans, codes, firsts):
    """Number the distinct labels, and store the row in which each first occurs.

    Return the number of distinct labels, or firsts.size + 1 if there are more than that.
    """
    count = 0
    for i in range(codes.size):
        k = 0
        while k < count and not alike(text, spans[i, 0], spans[i, 1], spans[firsts[k], 0], spans[firsts[k], 1]):
            k += 1
        if k == count:
            if k == firsts.size:
                return k + 1
            firsts[k] = i
            count += 1
        codes[i] = k
    return count


@compiled
def alike(text, start, stop, other, other_stop):
    """Whether two parts of a text are equal."""
    while start < stop and other < other_stop and text[start] == text[other]:
        start, other = start + 1, other + 1
    return start == stop and other == other_stop


@compiled
def count_words(text, starts, stops, k, values, indices, indptr):
    """Count the words of every sequence, sorted, and divide the counts by their norm; return the number of values."""
    to, mask, longest = 0, np.uint32((1 << (2 * k)) - 1), 1
    for i in range(starts.size):
        longest = max(longest, stops[i] - starts[i])
    words, spare = np.empty(longest, dtype=np.uint32), np.empty(longest, dtype=np.uint32)
    places = np.empty((-(-2 * k // 8), 256), dtype=np.int64)
    for i in range(starts.size):
        found, word, letters = 0, np.uint32(0), 0
        places[:, :] = 0
        for p in range(starts[i], stops[i]):
            code = CODES[text[p]]
            if code == OTHER:
                letters = 0
                continue
            word = ((word << np.uint32(2)) | np.uint32(code)) & mask
            letters += 1
            if letters >= k:
                words[np.uintp(found)] = word
                found += 1
                for digit in range(places.shape[0]):
                    places[np.uintp(digit), digit_of(word, digit)] += 1
        words, spare = sort_words(words, spare, found, places)
        first, p, square = to, 0, 0.0
        while p < found:
            count, word = 1, words[p]
            while p + count < found and words[p + count] == word:
                count += 1
            indices[to], values[to] = word, count
            square += np.float64(count) * count
            to, p = to + 1, p + count
        length = np.sqrt(square)
        for p in range(first, to):
            values[p] /= length
        indptr[i + 1] = to
    return to


@compiled
def digit_of(word, digit):
    """Return eight bits of a word; digit 0 is the lowest."""
    return np.uintp((word >> np.uint32(8 * digit)) & np.uint32(255))


@compiled
def sort_words(words, spare, found, places):
    """Radix-sort the words, eight bits at a time, with the counts in `places`; return them and the unused memory."""
    for digit in range(places.shape[0]):
        start = 0
        for value in range(256):
            count = places[digit, value]
            places[digit, value] = start
            start += count
        for p in range(found):
            value = digit_of(words[np.uintp(p)], digit)
            spare[np.uintp(places[np.uintp(digit), value])] = words[np.uintp(p)]
            places[np.uintp(digit), value] += 1
        words, spare = spare, words
    return words, spare
