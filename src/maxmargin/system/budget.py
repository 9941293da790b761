"""The memory limit of training from files, and how it is divided."""

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

# Fixed sizes, in bytes.
BYTES_A_VALUE = 12.0  # of sparse rows: a value and its index
LEAST = 4 << 20  # The smallest limit: less has no room for the blocks of a file.
MOST_BLOCK, LEAST_BLOCK = 1 << 20, 1 << 15  # Text that is parsed at once.
FEATURE_BYTES = 3 * 8  # For each feature: w, the w that is being certified, and w(α).
EXAMPLE_BYTES = 2 * 8  # For each example: α, and the α that is being certified.
FLAG_BYTES = 1  # For each example: its flags.
BYTES_PER_PARSER = 8_000_000  # A further parsing thread needs this much memory.
HUGE_PAGES_FROM = 256 << 20  # With this limit or more, megabytes lost to huge pages do not matter.
LEAST_LINE = 1 << 20  # A line of text of this length is allowed with any limit.
LEAST_BATCH = 16 << 20  # A record batch of this size is allowed with any limit; `convert` writes at most 5 MB.
LEAST_ROWS = 64 << 20  # Rows of this size may be read into memory with any limit: streaming would not pay.
UNCHECKED_BYTES = 1 << 26  # Vectors of features up to this size are allowed without asking for the free memory.

# Fractions of the memory limit.
RESERVE = 0.1  # For allocations that the plan does not include.
MOST_DUAL = 0.25  # Dual variables that take more than this go to a file.
HELD = 0.05  # Part of the dual variables in a file that is held in memory.
LEAST_FOR_ROWS_WITH_DUAL = 0.25  # Dual variables also go to a file if they leave less than this for rows.
LEAST_FOR_ROWS = 0.05  # A plan that leaves less than this for rows is refused.
LINES_PER_LIMIT = 8  # A line may take 1/8: its text, its values and their copy in the cache take 8 times its bytes.
BATCHES_PER_LIMIT = 2  # A record batch may take 1/2.

BLOCKS = 24  # Blocks in memory at once: text, parsed rows and rows that wait for the solver.
PARSERS = 4  # The most parsing threads; each holds some of the blocks.
MOST_EXAMPLE = 0.25  # Fraction of the free memory that one dense example of a kernel may take.


@dataclass(frozen=True)
class Budget:
    """A memory limit in bytes."""

    total: int

    @property
    def block(self) -> int:
        """Bytes of a file to read at once."""
        return int(min(max(self.total / 60, LEAST_BLOCK), MOST_BLOCK))

    @property
    def line(self) -> int:
        """The longest line of text, in bytes."""
        return max(self.total // LINES_PER_LIMIT, LEAST_LINE)

    @property
    def batch(self) -> int:
        """The largest record batch of a table, in bytes after decompression."""
        return max(self.total // BATCHES_PER_LIMIT, LEAST_BATCH)

    @property
    def rows(self) -> int:
        """The largest size of the rows, in bytes, if all of them are read into memory."""
        return max(self.total, LEAST_ROWS)

    @property
    def huge(self) -> bool:
        """Whether to use huge pages."""
        return self.total >= HUGE_PAGES_FROM

    def parsers(self, threads: int) -> int:
        """Return the number of parsing threads besides the reader; 0 if the blocks would be too small."""
        return int(min(threads, PARSERS, self.total // BYTES_PER_PARSER))

    def on_disk(self, n: float, d: int) -> bool:
        """Whether the dual variables go to a file: they are too large, or leave too little for rows."""
        return self.too_many(n) or self.left(n, d, EXAMPLE_BYTES * n) < LEAST_FOR_ROWS_WITH_DUAL * self.total

    def too_many(self, n: float) -> bool:
        """Whether two numbers for each of n examples take too much of the memory."""
        return EXAMPLE_BYTES * n > MOST_DUAL * self.total

    def for_rows(self, n: float, d: int) -> int:
        """Return the bytes that are left for rows; raise if there are none."""
        if not self.holds(n, d):
            raise ParameterError(
                f"memory={shown_size(self.total)} is too little for {d:,} features and {int(n):,} rows: "
                f"give at least {shown_size(self.least(n, d))}"
            )
        return int(self.planned(n, d))

    def holds(self, n: float, d: int) -> bool:
        """Whether enough is left for rows."""
        return self.planned(n, d) >= LEAST_FOR_ROWS * self.total

    def planned(self, n: float, d: int) -> float:
        """Return the bytes left for rows, with the dual variables in memory or in a file."""
        return self.left(n, d, HELD * self.total if self.on_disk(n, d) else EXAMPLE_BYTES * n)

    def left(self, n: float, d: int, variables: float) -> float:
        """Return the bytes left for rows if the dual variables take `variables` bytes."""
        return (1.0 - RESERVE) * self.total - BLOCKS * self.block - FEATURE_BYTES * d - FLAG_BYTES * n - variables

    def least(self, n: float, d: int, row: int = 0) -> int:
        """Return roughly the smallest limit for n rows, d features and a single row of `row` bytes."""
        total = float(LEAST)
        while not (Budget(int(total)).holds(n, d) and Budget(int(total)).planned(n, d) >= 2 * row):
            total *= 1.1
        return int(total)


def checked_memory(memory: Any) -> Budget | None:
    """Parse a memory limit such as 500_000_000, "500MB" or "1.5 GiB"; None stays None."""
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
    """Return the default limit: half of the free memory."""
    return Budget(max(int(free_memory() / 2), LEAST))


def check_columns(d: int) -> None:
    """Raise if one example with d columns does not fit in memory as a dense row, which kernels need."""
    size = 8 * d
    if size > UNCHECKED_BYTES and size > MOST_EXAMPLE * free_memory():
        raise DataError(
            f"{d:,} features: a kernel needs at least one dense example, which takes {shown_size(size)} of "
            f"{shown_size(free_memory())} free memory: renumber the features without the unused ones"
        )


def check_features(d: int, models: int = 1) -> None:
    """Raise if the weights of linear models with d features do not fit in memory.

    Every solver holds at least the w of each model, the w that is being trained and the w(α) of a certificate, in
    float64. A failed allocation cannot be relied on, because the system overcommits memory.
    """
    size = FEATURE_BYTES * d + 8 * d * (models - 1)
    if size > UNCHECKED_BYTES and size > total_memory():
        raise DataError(
            f"{d:,} features: training needs at least {2 + models} vectors of this length, which take "
            f"{shown_size(size)}, and the computer has {shown_size(total_memory())}: renumber the features without the "
            "unused ones, or hash them (expand='hash:2**20')"
        )


def too_many(name: str, most: int) -> DataError:
    """Return the error for a file whose rows take more memory than allowed."""
    return DataError(
        f"{name}: its rows take more than {shown_size(most)} in memory: "
        "stream them with solver='cached_loops' (--solver cached_loops), or raise memory"
    )


def shown_size(size: float) -> str:
    """Format a size for a message. It is rounded up, so that a size named as sufficient is."""
    unit, name = next(((unit, name) for unit, name in NAMED if size >= unit), (1, "B"))
    return f"{ceil(10 * size / unit) / 10:g}{name}"
