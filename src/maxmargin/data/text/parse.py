"""Parser for lines of LIBSVM text, in compiled code.

Reads    label [qid:N] index:value ... [# comment], one line a row, in a block of whole lines
Writes   the labels as numbers and as text, the columns and values of all rows, and the end of each row
Stops    at the first token that is not valid, and returns its position; `explanation` then gives the message
Costs    about 2 ns a byte
"""

from __future__ import annotations

import re
from bisect import bisect
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from maxmargin.data.text.decimal import LARGEST, ZERO, byte, digits, eight_bytes, inlined, number
from maxmargin.system.compiled import compiled

LARGEST_INDEX = 2**62
NEWLINE, QID = 10, int.from_bytes(b"qid:", "little")
TOKEN = re.compile(rb"[^\t\v\f\r #]+")
BLANK, LINE_END, COMMENT, COLON, OTHER = 1, 2, 4, 8, 16
TOKEN_END = np.int64(BLANK | LINE_END | COMMENT)  # int64: Numba would compile `until` anew for each literal
NAME_END, REST = np.int64(TOKEN_END | COLON), np.int64(LINE_END)
SOLID = np.int64(31 - BLANK)
NOTHING = np.int64(0)

KIND = np.full(256, OTHER, dtype=np.uint8)
KIND[list(b"\t\v\f\r ")] = BLANK
KIND[list(b"\n#:")] = LINE_END, COMMENT, COLON


class Parsed(NamedTuple):
    """The number of bytes of a block that were parsed, and of the items found in them."""

    size: int  # bytes read: all of them, or up to the token that was refused
    lines: int
    rows: int
    pairs: int
    label_bytes: int
    names: int  # labels that are not numbers
    undecided: int  # values and labels that are a NaN with their address


class Room:
    """Arrays that can hold the content of `capacity` bytes of text: a row takes at least two bytes, a pair four."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.labels = np.empty(capacity // 2 + 1)
        self.label_text = np.empty(capacity + 1, dtype=np.uint8)
        self.ends = np.empty(capacity // 2 + 1, dtype=np.int64)
        self.indices = np.empty(capacity // 4 + 1, dtype=np.int32)
        self.values = np.empty(capacity // 4 + 1)


@compiled
def parse(text, size, base, limit, labels, label_text, ends, indices, values):  # noqa: PLR0912
    """Parse the lines in `size` bytes from address `text` on; columns are index − base, at most `limit`."""
    lines = row = pair = letters = names = undecided = 0
    p = text
    while p < text + size:
        p = until(p, SOLID)
        if not KIND[byte(p)] & TOKEN_END:
            y, end = number(p)
            if end == p or not KIND[byte(end)] & TOKEN_END:
                y, end = 0.0, until(p, NAME_END)
                names += 1
            if KIND[byte(end)] == COLON or np.isinf(y):
                break
            undecided += np.isnan(y)
            labels[row] = y
            for at in range(p, end):
                label_text[letters] = byte(at)
                letters += 1
            label_text[letters] = NEWLINE
            letters += 1
            p = until(end, SOLID)
            if eight_bytes(p) & 0xFFFFFFFF == QID:
                p = until(until(p, TOKEN_END), SOLID)
            before = -1
            while ZERO <= byte(p) < ZERO + 10:
                index, colon, dropped = digits(p, NOTHING)
                j = index - base
                x, end = 1.0 * (byte(colon + 1) - ZERO), colon + 2  # many values are one digit
                if not (KIND[byte(end)] & TOKEN_END and 0.0 <= x <= 9.0):
                    x, end = number(colon + 1)
                if j <= before or j > limit or dropped > 0 or KIND[byte(colon)] != COLON:
                    break
                if end == colon + 1 or not KIND[byte(end)] & TOKEN_END:
                    break
                if not abs(x) <= LARGEST:
                    if np.isinf(x):
                        break
                    undecided += 1
                indices[pair], values[pair] = j, x
                before = j
                pair += 1
                p = until(end, SOLID)
            ends[row] = pair
            row += 1
        if KIND[byte(p)] == COMMENT:
            p = until(p, REST)
        if KIND[byte(p)] != LINE_END:
            break
        lines += 1
        p += 1
    return Parsed(p - text, lines, row, pair, letters, names, undecided)


@inlined
def until(p, kinds):
    """Return the position of the first byte from p on that is of one of these kinds."""
    while not KIND[byte(p)] & kinds:
        p += 1
    return p


def explanation(line: bytes, position: int, base: int, d: int | None) -> str:
    """Return the message for an invalid token at this position of a line, with a remedy."""
    tokens = [(found.start(), found[0]) for found in TOKEN.finditer(line, 0)]
    k = max(bisect(tokens, position, key=itemgetter(0)) - 1, 0)
    if k == 0:
        return _about_label(tokens[0][1])
    if b":" not in line and b"\t" in line:
        return f"{shown(tokens[k][1])} is not index:value: if this is a table, name it .csv and separate by commas"
    return _about_pair(tokens[k][1], tokens[k - 1][1], base, d)


def _about_label(token: bytes) -> str:
    label, colon, _ = token.partition(b":")
    if colon:
        return f"the label is missing: the line begins with {shown(token)}; put a number or a name in front"
    if not label.isascii():
        return f"label {shown(label)} is not UTF-8: save the file as UTF-8"
    return f"label {shown(label)} is not finite: labels are finite numbers or names"


def _about_pair(token: bytes, token_before: bytes, base: int, d: int | None) -> str:  # noqa: PLR0911
    index, colon, value = token.partition(b":")
    if not colon:
        return f"{shown(token)} is not index:value: give the index, a colon and the value, without blanks"
    if index[:1] == b"-":
        return f"feature index {shown(index)} is negative: indices start at {base}"
    if not (index.isdigit() and index.isascii()):
        return f"feature index {shown(index)} is not a whole number"
    j = int(index) if len(index) < 20 else LARGEST_INDEX + 1
    last, colon, _ = token_before.partition(b":")
    j_before = int(last) if colon and last.isdigit() else base - 1
    if j < base:
        return "feature index 0 before the first, 1: pass zero_based=True (--zero-based) if they start at 0"
    if j <= j_before:
        return f"feature index {shown(index)} after {j_before}: indices must increase within a row"
    if d is not None and j >= d + base:
        return f"feature index {j} is beyond {d - 1 + base}, the last of d = {d} features: give a larger d"
    if j > LARGEST_INDEX:
        return f"feature index {shown(index)} is larger than 2**62: number the features anew"
    return _about_value(shown(index), value)


def _about_value(index: str, value: bytes) -> str:
    if not value:
        return f"feature {index} has no value: give one behind the colon, without blanks"
    try:
        finite = abs(float(value)) <= LARGEST
    except ValueError:
        finite = True
    if finite:
        return f"feature {index} has the value {shown(value)}, which is not a number"
    return f"feature {index} has the value {shown(value)}: values must be finite (at most {LARGEST:.4g})"


def shown(token: bytes) -> str:
    """Format a token for a message: readable, and not too long."""
    text = token.decode(errors="replace")
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:60])
    return text if len(text) <= 40 else text[:37] + "..."
