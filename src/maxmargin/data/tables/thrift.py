"""Thrift's compact protocol, in which Parquet writes its metadata: the fields that are asked for, by their numbers.

    struct     a byte for each field: its number less the last one's and its type, then its value; 0 ends the struct
    integer    zigzag, seven bits a byte
    text       its length, then its bytes
    list       a byte for length and type, then its items

Every value is read from bytes that are there: a length that lies runs into the end of the data (IndexError), and
nothing is allocated for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, TEXT, LIST, SET, MAP, STRUCT = range(1, 13)
BITS = {I16: 16, I32: 32, I64: 64}
FIXED = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}  # bytes; truth values take one in a list only
DEEPEST = 32  # values within values: Parquet's own are at most 8 deep
LONG = 15  # a list of this many items or more states its length in bytes of its own


class Struct(NamedTuple):
    """Which fields of a struct to read, by number, and what to make of them; the others are passed over."""

    fields: dict[int, Struct | None]
    make: Callable[[dict[int, Any]], Any]


NOTHING = Struct({}, lambda _: None)


class Compact:
    """A reader of bytes, at a place in them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.depth = data, 0, 0

    def struct(self, wanted: Struct) -> Any:
        """A struct, made of those of the wanted fields that are there."""
        found: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer(I16)
            kind = head & 15
            value = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, wanted.fields.get(number))
            if number in found:
                raise ValueError(f"field {number} is twice in a struct")
            if number in wanted.fields:
                found[number] = value
        return wanted.make(found)

    def value(self, kind: int, wanted: Struct | None) -> Any:
        """A value of that type; None if it is one that is not read here, such as text."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} values within each other")
        value: Any = None
        if kind in BITS:
            value = self.integer(kind)
        elif kind == STRUCT:
            value = self.struct(wanted or NOTHING)
        elif kind in (LIST, SET):
            value = self.items(wanted)
        elif kind == MAP:
            self.skip_pairs()
        elif kind == TEXT:
            self.skip(self.varint())
        elif kind in FIXED:
            self.skip(FIXED[kind])
        else:
            raise ValueError(f"a value of the unknown type {kind}")
        self.depth -= 1
        return value

    def items(self, wanted: Struct | None) -> list[Any]:
        """A list of structs; passed over, and empty, if it is not wanted."""
        head = self.byte()
        count, kind = (self.varint() if head >> 4 == LONG else head >> 4), head & 15
        if wanted is not None:
            return [self.value(kind, wanted) for _ in range(count)]
        for _ in range(count):
            self.value(kind, None)
        return []

    def skip_pairs(self) -> None:
        """Pass over a map."""
        count = self.varint()
        kinds = self.byte() if count else 0
        for _ in range(count):
            self.value(kinds >> 4, None)
            self.value(kinds & 15, None)

    def integer(self, kind: int) -> int:
        """A number with a sign, which must fit in its type."""
        coded = self.varint()
        if coded >> BITS[kind]:
            raise ValueError(f"a number of more than {BITS[kind]} bits")
        return (coded >> 1) ^ -(coded & 1)

    def varint(self) -> int:
        """A number without a sign."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number of more than ten bytes")

    def byte(self) -> int:
        """The next one."""
        self.at += 1
        return self.data[self.at - 1]

    def skip(self, count: int) -> None:
        """Pass over `count` bytes, which must be there."""
        self.at += count
        if self.at > len(self.data):
            raise IndexError("the data end within a value")
