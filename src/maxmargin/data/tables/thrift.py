"""Reader for Thrift's compact protocol, which encodes Parquet's metadata. It returns the requested fields by number.

    struct     for each field a byte with the difference of field numbers and the type, then the value; 0 ends it
    integer    zigzag, seven bits a byte
    text       its length, then its bytes
    list       a byte for length and type, then its items

Values are read only from bytes that exist: a false length runs into the end of the data (IndexError), and nothing is
allocated for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, TEXT, LIST, SET, MAP, STRUCT = range(1, 13)
BITS = {I16: 16, I32: 32, I64: 64}
FIXED = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}  # bytes; booleans take a byte only in a list
DEEPEST = 32  # most levels of nested values: Parquet's metadata have at most 8
LONG = 15  # a list of this many items or more states its length as a separate integer


class Struct(NamedTuple):
    """The fields of a struct to read, by number, and a function that converts them; other fields are skipped."""

    fields: dict[int, Struct | None]
    make: Callable[[dict[int, Any]], Any]


NOTHING = Struct({}, lambda _: None)


class Compact:
    """A reader at a position in the data."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.depth = data, 0, 0

    def struct(self, wanted: Struct) -> Any:
        """Read a struct, and convert the wanted fields that are present."""
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
        """Read a value of a type; return None for types that are skipped, such as text."""
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
        """Read a list of structs; if it is not wanted, skip it and return []."""
        head = self.byte()
        count, kind = (self.varint() if head >> 4 == LONG else head >> 4), head & 15
        if wanted is not None:
            return [self.value(kind, wanted) for _ in range(count)]
        for _ in range(count):
            self.value(kind, None)
        return []

    def skip_pairs(self) -> None:
        """Skip a map."""
        count = self.varint()
        kinds = self.byte() if count else 0
        for _ in range(count):
            self.value(kinds >> 4, None)
            self.value(kinds & 15, None)

    def integer(self, kind: int) -> int:
        """Read a signed integer, which must fit in its type."""
        coded = self.varint()
        if coded >> BITS[kind]:
            raise ValueError(f"a number of more than {BITS[kind]} bits")
        return (coded >> 1) ^ -(coded & 1)

    def varint(self) -> int:
        """Read an unsigned integer."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number of more than ten bytes")

    def byte(self) -> int:
        """Read the next byte."""
        self.at += 1
        return self.data[self.at - 1]

    def skip(self, count: int) -> None:
        """Skip `count` bytes; raise if the data end before."""
        self.at += count
        if self.at > len(self.data):
            raise IndexError("the data end within a value")
