"""The files that a user names: read into memory, opened as a source where they are too large, and written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.collect import collect
from maxmargin.data.columns import widened
from maxmargin.data.expand import Expansion, Kmers
from maxmargin.data.labels import check_length
from maxmargin.data.open_source import files_of, format_of, open_source
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored, matrix_of
from maxmargin.data.source import Source
from maxmargin.data.take import take
from maxmargin.data.text.write import write_text
from maxmargin.errors import DataError, ParameterError
from maxmargin.system.budget import PARSERS, Budget, half_of_free
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.overwriting import check_replaces, is_libsvm_data
from maxmargin.system.threads import free_memory, thread_count
from maxmargin.system.values import check_column, check_flag, is_whole

COPIES = 4.0  # memory that training takes relative to the rows: themselves, and what solvers keep beside them
SAMPLED_BLOCKS, SAMPLED_BYTES = 64, 1 << 14  # parts of a file that its digest covers: 1 MB, read in milliseconds
WAYS = ("refuse", "skip")


def is_file(X: Any) -> bool:
    """Whether X names files."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(one, (str, os.PathLike)) for one in X)


@dataclass(frozen=True, eq=False)
class Files:
    """One file or several, and how to read them."""

    given: str | os.PathLike | Sequence[str | os.PathLike]
    y: Any = None
    label: str | None = None
    zero_based: bool = False
    on_bad_line: str = "refuse"
    threads: int = 1
    memory: Budget | None = None
    expansion: Expansion | None = None
    width: int | None = None  # features of rows that need no labels

    def __post_init__(self) -> None:
        check_way(self.on_bad_line)
        check_flag("zero_based", self.zero_based)
        check_column("label", self.label)

    @property
    def name(self) -> str:
        """What to call them in a message."""
        return str(self.given) if isinstance(self.given, (str, os.PathLike)) else str(self.given[0])

    @property
    def budget(self) -> Budget:
        """How much memory training may take."""
        return self.memory or half_of_free()

    @property
    def again(self) -> bool:
        """Whether they can be read more than once."""
        return all(path.is_file() for path in files_of(self.given))

    @property
    def identity(self) -> str:
        """What tells these rows from others: the content of the files, and how they are read."""
        parts = [*map(content_of, files_of(self.given)), f"label {self.label}", f"zero_based {self.zero_based}"]
        parts.append(self.on_bad_line)
        if isinstance(self.y, (str, os.PathLike)):
            parts.append(f"labels {content_of(Path(self.y))}")
        elif self.y is not None:
            parts.append(hashlib.blake2b(repr(np.asarray(self.y).tolist()).encode(), digest_size=8).hexdigest())
        return ", ".join(parts)

    @property
    def allowed(self) -> Budget:
        """The memory that rows may take: the limit that was given, or all that is free."""
        return self.memory or Budget(int(free_memory()))

    def read(self) -> tuple[Rows, Any]:
        """All rows, as solvers take them, and labels."""
        rows, labels = self.load()
        return take(rows), labels

    def load(self, d: int | None = None) -> tuple[Any, Any]:
        """All rows and labels, of d features where that is known."""
        paths = files_of(self.given)
        read = format_of(paths[0]).read if len(paths) == 1 and not self.kmers else None
        if read is None or self.on_bad_line == "skip":
            rows, labels = collect(self.source, self.allowed)
            if d is not None and count_columns(rows) > d:
                raise DataError(f"{self.name} has {count_columns(rows)} features: more than d={d}")
            return widened(rows, d or 0), labels
        if self.y is not None:
            raise DataError(f"{paths[0]}: a file brings its own labels: leave y out, or read the file first")
        return read(paths[0], zero_based=self.zero_based, d=d, threads=self.threads, budget=self.allowed)

    @property
    def column_names(self) -> list[str] | None:
        """The names of the features, after `read`, where the files are tables of numbers with one column each."""
        source = self.__dict__.get("source")
        names = getattr(source, "names", None)
        return None if names is None or set(names) <= {"indices", "values"} else list(names)

    @property
    def kmers(self) -> int | None:
        """How long words are, if the files hold sequences."""
        return self.expansion.k if isinstance(self.expansion, Kmers) else None

    @cached_property
    def source(self) -> Source:
        """The files as a source; while one thread trains, the others parse."""
        return open_source(
            self.given, self.y, label=self.label, zero_based=self.zero_based,
            threads=min(max(1, self.threads - 1), PARSERS),
            capacity=self.budget.block, lenient=self.on_bad_line == "skip",
            kmers=self.kmers, width=self.width, budget=self.budget,
        )  # fmt: skip

    @property
    def left_out(self) -> dict[str, Any]:
        """Skipped lines, for the summary of a run; empty if there were none."""
        if self.on_bad_line != "skip" or not self.source.left_out:
            return {}
        return {"left_out": self.source.left_out, "left_out_first": self.source.bad[0]}

    def too_large(self) -> bool:
        """Whether rows in memory, with what solvers need, would take more than is allowed."""
        sizes = sum(size_in_memory(path) for path in files_of(self.given))
        return COPIES * self.growth() * sizes > self.budget.total

    def growth(self) -> float:
        """By how much the expansion lengthens rows, estimated from the first block."""
        if self.expansion is None:
            return 1.0
        rows = next(self.source.blocks()).rows
        return float(np.sum(self.expansion.sizes(rows))) / max(count_stored(rows), 1)

    def check(self) -> None:
        """Refuse parameters that have no meaning for files of these formats."""
        found = [format_of(path) for path in files_of(self.given)] if self.again else []
        if self.label is not None and found and not any(one.has_columns for one in found):
            raise ParameterError(f"label={self.label!r} names a column of a table: {self.name} is none")
        if self.zero_based and found and not any(one.has_indices for one in found):
            raise ParameterError(f"zero_based is for rows that name their columns: {self.name} has them in order")


@memory_errors()
def read(
    path: str | os.PathLike | Sequence[str | os.PathLike],
    y: Any = None,
    *,
    label: str | None = None,
    zero_based: bool = False,
    on_bad_line: str = "refuse",
    d: int | None = None,
    threads: int | None = None,
) -> tuple[Any, np.ndarray]:
    """Read whatever `train` reads: LIBSVM text (plain, .gz, .bz2, .xz, .zst), CSV, Parquet, Arrow or .npy.

    Parameters
    ----------
    path : the file, several, or a pattern such as "part-*.svm"
    y : for .npy, the file that holds the labels, or an array; other files bring their own
    label : the column of labels in a table; by default the one called label, y, target or class
    zero_based : whether features are counted from 0 in LIBSVM text; from 1 by default
    on_bad_line : "refuse" the file for a line that cannot be read, or "skip" such lines
    d : number of features, where it is known; as many as the file has otherwise
    threads : how many threads parse; all cores by default

    Returns
    -------
    X : csr_array of float64 from LIBSVM text and other sparse rows, an array from tables of numbers
    y : labels: whole numbers, numbers or names, whatever the file holds

    Examples
    --------
    >>> import maxmargin
    >>> X, y = maxmargin.read("train.svm.xz")  # doctest: +SKIP
    """
    if d is not None and not (is_whole(d) and d >= 1):
        raise ParameterError(f"d={d!r} must be a whole number, 1 or above, or None")
    files = Files(path, y, label, zero_based, on_bad_line, thread_count(threads))
    files.check()
    rows, labels = files.load(d)
    return matrix_of(rows), labels


def write(path: str | Path, X: Any, y: Any, *, zero_based: bool = False, force: bool = False) -> None:
    """Write a LIBSVM/SVMlight file; reading it gives the same rows and labels back, to the last bit.

    It replaces only a LIBSVM file; with `force` any file.

    Examples
    --------
    >>> import maxmargin
    >>> maxmargin.write("train.svm.gz", [[0.0, 1.5]], [1])  # doctest: +SKIP
    """
    check_replaces(path, "a LIBSVM file", is_libsvm_data, force)
    rows = take(X)
    write_text(path, rows, check_length(y, count_rows(rows)), zero_based=zero_based)


def check_way(on_bad_line: Any) -> None:
    """Refuse a value of on_bad_line that is not known."""
    if not (isinstance(on_bad_line, str) and on_bad_line in WAYS):
        raise ParameterError(f"on_bad_line={on_bad_line!r} is not known: choose one of {', '.join(WAYS)}")


def content_of(path: Path) -> str:
    """The size of a file and a digest of its bytes: all of a small file, blocks at even distances of a large one."""
    digest, size = hashlib.blake2b(digest_size=16), path.stat().st_size
    with path.open("rb") as stream:
        for k in range(SAMPLED_BLOCKS):
            stream.seek(max(size - SAMPLED_BYTES, 0) * k // (SAMPLED_BLOCKS - 1))
            digest.update(stream.read(SAMPLED_BYTES))
    return f"{size} bytes {digest.hexdigest()}"


def size_in_memory(path: Path) -> float:
    """About how many bytes the rows of a file will take."""
    try:
        size = float(path.stat().st_size)
    except OSError:
        return 0.0  # what is wrong with it is said by whoever reads it
    return format_of(path).growth(path) * size if path.is_file() else size
