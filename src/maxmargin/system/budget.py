"""The memory promise: how many bytes a training may take beyond what the program takes at its start, and for what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import Any

from maxmargin.errors import DataError, ParameterError
from maxmargin.system.threads import free_memory, total_memory

UNITS = {
    "": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
NAMED = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
SIZE = re.compile(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
LEAST = 4 << 20  # bytes: below, there is no room for the blocks of a file
ASIDE = 0.1  # of the memory, for what no plan foresees
MOST_BLOCK, LEAST_BLOCK = 1 << 20, 1 << 15  # bytes of text that are parsed at once
BLOCKS = 24  # times the size of a block, for text, parsed rows and rows that wait
PARSERS = 4  # threads that parse at once, at most: each holds some of these blocks,
A_PARSER = 8_000_000  # and one more for so many bytes
FEATURE = 3 * 8  # bytes: w, the w that is being certified, and w(α)
EXAMPLE = 2 * 8  # bytes: α, and the α that is being certified
MARK = 1
ON_DISK = 0.25  # of the memory: more than that is not given to dual variables,
HELD = 0.05  # and so much is for what is held of a file of them;
ROWS = 0.25  # nor any, if less than that were left for rows
HUGE = 256 << 20  # bytes: from there on a few megabytes more or less do not matter
SOME = 0.05  # of the memory, at least, must be left for rows
LEAST_LINE = 1 << 20  # bytes: a line of text that any budget allows
LINE = 8  # a longer one may take this part of the memory: text, values and the copy in the cache take 8 times its bytes
LEAST_BATCH = 16 << 20  # bytes: a record batch that any budget allows; `convert` writes at most 5 MB
BATCH = 2  # a larger one may take this part of the memory
COLUMN = 0.25  # of the free memory: what one example of a kernel may take, written out
SMALL_COLUMN = 1 << 26  # bytes: nobody is asked for the memory of the machine
LEAST_ROWS = 64 << 20  # bytes of rows in memory that any budget allows: small files are not worth a stream


@dataclass(frozen=True)
class Budget:
    """So many bytes."""

    total: int

    @property
    def block(self) -> int:
        """How many bytes of a file to read at once."""
        return int(min(max(self.total / 60, LEAST_BLOCK), MOST_BLOCK))

    @property
    def line(self) -> int:
        """The longest line of text, in bytes."""
        return max(self.total // LINE, LEAST_LINE)

    @property
    def batch(self) -> int:
        """The largest record batch of a table, in bytes once it is unpacked."""
        return max(self.total // BATCH, LEAST_BATCH)

    @property
    def rows(self) -> int:
        """The most bytes that rows may take where all of them are read into memory."""
        return max(self.total, LEAST_ROWS)

    @property
    def huge(self) -> bool:
        """Whether to take memory by megabytes."""
        return self.total >= HUGE

    def parsers(self, threads: int) -> int:
        """How many threads may parse beside the one that reads: none in a memory whose blocks are too small for it."""
        return int(min(threads, PARSERS, self.total // A_PARSER))

    def on_disk(self, n: float, d: int) -> bool:
        """Whether so many dual variables should be in a file: they are too many, or leave too little for rows."""
        return self.too_many(n) or self.left(n, d, EXAMPLE * n) < ROWS * self.total

    def too_many(self, n: float) -> bool:
        """Whether two numbers each of so many examples take too much of the memory."""
        return EXAMPLE * n > ON_DISK * self.total

    def for_rows(self, n: float, d: int) -> int:
        """What is left for rows; refused if that is nothing."""
        if not self.holds(n, d):
            raise ParameterError(
                f"memory={shown_size(self.total)} is too little for {d:,} features and {int(n):,} rows: "
                f"give at least {shown_size(self.least(n, d))}"
            )
        return int(self.planned(n, d))

    def holds(self, n: float, d: int) -> bool:
        """Whether something is left for rows."""
        return self.planned(n, d) >= SOME * self.total

    def planned(self, n: float, d: int) -> float:
        """What is left for rows, with the dual variables where they should be."""
        return self.left(n, d, HELD * self.total if self.on_disk(n, d) else EXAMPLE * n)

    def left(self, n: float, d: int, variables: float) -> float:
        """What is left for rows beside dual variables that take so much."""
        return (1.0 - ASIDE) * self.total - BLOCKS * self.block - FEATURE * d - MARK * n - variables

    def least(self, n: float, d: int, row: int = 0) -> int:
        """The smallest budget, nearly, that has room for so many rows and features, and for a row of so many bytes."""
        total = float(LEAST)
        while not (Budget(int(total)).holds(n, d) and Budget(int(total)).planned(n, d) >= 2 * row):
            total *= 1.1
        return int(total)


def checked_memory(memory: Any) -> Budget | None:
    """A budget from 500_000_000, "500MB", "1.5 GiB"; None if none was given."""
    if memory is None:
        return None
    found = SIZE.fullmatch(str(memory)) if isinstance(memory, (int, float, str)) and memory is not True else None
    if found is None or found[2].lower() not in UNITS:
        raise ParameterError(f"memory={memory!r} is not a size: give bytes, or text such as 500MB or 2GiB")
    try:
        total = float(found[1]) * UNITS[found[2].lower()]
    except ValueError:
        raise ParameterError(f"memory={memory!r} is not a size: give bytes, or text such as 500MB or 2GiB") from None
    if not LEAST <= total < float("inf"):
        raise ParameterError(f"memory={memory!r} must be at least {shown_size(LEAST)}: blocks of a file need that much")
    return Budget(int(total))


def half_of_free() -> Budget:
    """Where nobody says."""
    return Budget(max(int(free_memory() / 2), LEAST))


def check_columns(d: int) -> None:
    """Refuse sparse examples of so many columns that a kernel cannot write one out."""
    size = 8 * d
    if size > SMALL_COLUMN and size > COLUMN * free_memory():
        raise DataError(
            f"{d:,} features: a kernel writes out one example at least, which takes {shown_size(size)} of the "
            f"{shown_size(free_memory())} that are free: number the features anew, without those that are never used"
        )


def check_features(d: int, models: int = 1) -> None:
    """Refuse so many features that the weights of that many linear models, trained in memory, cannot be held.

    Counted are the least that any solver holds: w of each model, the w that is being trained and w(α) of a certificate,
    float64 each. An allocation need not fail where there is no such memory: the system promises more than it has.
    """
    size = FEATURE * d + 8 * d * (models - 1)
    if size > SMALL_COLUMN and size > total_memory():
        raise DataError(
            f"{d:,} features: training needs {2 + models} vectors of so many weights at least, which take "
            f"{shown_size(size)} of the {shown_size(total_memory())} that there are: number the features anew, without "
            "those that are never used, or hash them (expand='hash:2**20')"
        )


def too_many(name: str, most: int) -> DataError:
    """The error for a file whose rows take more memory than there is for them."""
    return DataError(
        f"{name}: its rows take more than {shown_size(most)} in memory: "
        "stream them with solver='cached_loops' (--solver cached_loops), or raise memory"
    )


def shown_size(size: float) -> str:
    """A size for people, rounded up: what is said to be enough must be."""
    unit, name = next(((unit, name) for unit, name in NAMED if size >= unit), (1, "B"))
    return f"{ceil(10 * size / unit) / 10:g}{name}"
