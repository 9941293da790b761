"""The files that a user names: read into memory, streamed if they are too large, and written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.collect import collect, collect_weighted
from maxmargin.data.columns import widened
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.encoding.fit import fit_encoder
from maxmargin.data.encoding.request import Request, requested
from maxmargin.data.expand import Expansion, Kmers
from maxmargin.data.far_columns import Shift
from maxmargin.data.labels import check_length
from maxmargin.data.open_source import files_of, format_of, open_source
from maxmargin.data.preparation import Preparation
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored, matrix_of
from maxmargin.data.source import Source
from maxmargin.data.table_parts import agreed, look_at, whole_table
from maxmargin.data.tables.block_facts import WEIGHTS
from maxmargin.data.tables.source import TableSource
from maxmargin.data.take import take
from maxmargin.data.text.write import write_text
from maxmargin.data.weights import weights_in
from maxmargin.errors import DataError, FileError, ParameterError
from maxmargin.system.budget import BYTES_A_VALUE, PARSERS, Budget, half_of_free
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.overwriting import check_replaces, is_libsvm_data
from maxmargin.system.threads import free_memory, thread_count
from maxmargin.system.values import check_column, check_flag, is_whole

COPIES = 4.0  # Memory of training relative to that of the rows: the rows and the working memory of solvers.
SAMPLED_BLOCKS, SAMPLED_BYTES = 64, 1 << 14  # The digest of a large file covers these: 1 MB, read in milliseconds.
WAYS = ("refuse", "skip")


def is_file(X: Any) -> bool:
    """Whether X names files."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(one, (str, os.PathLike)) for one in X)


@dataclass(frozen=True, eq=False)
class Files:
    """One or several files, and how to read them."""

    given: str | os.PathLike | Sequence[str | os.PathLike]
    y: Any = None
    label: str | None = None
    zero_based: bool = False
    on_bad_line: str = "refuse"
    threads: int = 1
    memory: Budget | None = None
    expansion: Expansion | None = None
    width: int | None = None  # number of features, if labels are not needed
    weights: Any = None  # a column of a table, or files with one number for each row
    request: Request | None = None  # how columns of a table are encoded; None for numbers as they are
    given_encoder: Encoder | None = None  # of a model, for prediction
    columns: Sequence[str] | None = None  # feature columns of a table that is not encoded, for prediction
    divisors: np.ndarray | None = None  # what features are divided by as rows are streamed
    encoded_copy: Path | None = None  # a block file with the encoded rows of tables, which is read in their place

    def __post_init__(self) -> None:
        check_way(self.on_bad_line)
        check_flag("zero_based", self.zero_based)
        check_column("label", self.label)

    @property
    def name(self) -> str:
        """The file or pattern, or the first of several, for messages."""
        return str(self.given) if isinstance(self.given, (str, os.PathLike)) else str(self.given[0])

    @property
    def budget(self) -> Budget:
        """Memory limit of training: the given limit, or half of the free memory."""
        return self.memory or half_of_free()

    @property
    def again(self) -> bool:
        """Whether the files can be read more than once; pipes cannot."""
        return all(path.is_file() for path in files_of(self.given))

    @property
    def identity(self) -> str:
        """A text that identifies the data: sizes and digests of the files, and how they are read."""
        parts = [*map(content_of, files_of(self.given)), f"label {self.label}", f"zero_based {self.zero_based}"]
        parts.append(self.on_bad_line)
        if isinstance(self.y, (str, os.PathLike)):
            parts.append(f"labels {content_of(Path(self.y))}")
        elif self.y is not None:
            parts.append(hashlib.blake2b(repr(np.asarray(self.y).tolist()).encode(), digest_size=8).hexdigest())
        if self.encoder is not None:
            parts.append(f"encoder {digest_of(self.encoder)}")
        if self.column_of_weights is not None:
            parts.append(f"weights {self.column_of_weights}")
        elif self.weights is not None:
            parts += [f"weights {content_of(path)}" for path in files_of(self.weights)]
        if self.divisors is not None:
            parts.append("scaled")
        return ", ".join(parts)

    def preparation(self, shift: Shift | None = None) -> Preparation:
        """Return what is done to rows as they are streamed."""
        return Preparation(self.source.name, self.expansion, shift, self.divisors)

    @property
    def allowed(self) -> Budget:
        """Memory limit of rows that are read into memory: the given limit, or all free memory."""
        return self.memory or Budget(int(free_memory()))

    def read(self) -> tuple[Rows, Any]:
        """Read all rows, in the form that solvers take, and labels."""
        rows, labels = self.load()
        return take(rows), labels

    def read_weighted(self) -> tuple[Rows, Any, np.ndarray | None]:
        """Read all rows, labels and weights; no weights if none are named."""
        if self.column_of_weights is None:
            weights = self.weights_in_files()
            return *self.read(), weights
        rows, labels, weights = collect_weighted(self.source, self.allowed)
        return take(rows), labels, weights

    @cached_property
    def column_of_weights(self) -> str | None:
        """The column of weights, if `weights` names one of the first file."""
        if not isinstance(self.weights, str) or not self.again:
            return None
        first = files_of(self.given)[0]
        columns = format_of(first).columns
        return self.weights if columns is not None and self.weights in columns(first) else None

    def weights_in_files(self) -> np.ndarray | None:
        """Return the weights in files that `weights` names; None if it names a column, or nothing."""
        if self.weights is None or self.column_of_weights is not None:
            return None
        try:
            paths = files_of(self.weights)
        except FileError:  # a pattern that matches nothing
            paths = [Path(str(self.weights))]
        for path in paths:
            if not path.is_file():
                raise DataError(
                    f"weights={str(path)!r} is neither a column of {self.name} nor a file: name one of them"
                )
        return weights_in(paths, self.budget)

    def load(self, d: int | None = None) -> tuple[Any, Any]:
        """Read all rows and labels; `d` is the number of features, if known."""
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

    @cached_property
    def encoder(self) -> Encoder | None:
        """What the columns of tables become: as given, or fitted in one pass over the files; None for other files."""
        if self.given_encoder is not None or self.request is None or self.kmers is not None or not self.again:
            return self.given_encoder
        tables = self.tables
        looks = [look_at(one) for one in tables]
        if not looks or not all(look.encodable for look in looks):
            return None
        request = self.request._replace(label=looks[0].label, weights=self.column_of_weights)
        guessed = agreed(looks)
        return fit_encoder(
            lambda types: whole_table(tables, request, {**guessed, **types}), request, self.name, typed=not guessed
        )

    @property
    def tables(self) -> list[TableSource]:
        """The tables among the files, before they are encoded."""
        paths = [path for path in files_of(self.given) if format_of(path).has_columns]
        if not paths:
            return []
        return tables_in(
            open_source(
                paths, label=self.label, budget=self.budget, capacity=self.budget.block,
                weights=self.column_of_weights, width=self.width,
            )
        )  # fmt: skip

    @property
    def column_names(self) -> list[str] | None:
        """Names of the features, after `read`, if the files are tables with named columns."""
        if self.encoder is not None:
            return self.encoder.names
        found = tables_in(self.source) if "source" in self.__dict__ else []
        names = found[0].names if found else None
        return None if names is None or set(names) <= {"indices", "values"} else list(names)

    @property
    def label_of_table(self) -> str | None:
        """The column of labels, if the files are tables that are not encoded."""
        found = [] if self.encoder is not None else tables_in(self.source)
        return found[0].label_of_file if found and found[0].facts is None else None

    @property
    def kmers(self) -> int | None:
        """Length of the words to count if the files hold sequences, else None."""
        return self.expansion.k if isinstance(self.expansion, Kmers) else None

    @cached_property
    def source(self) -> Source:
        """The files as one source. One thread trains while the others parse."""
        if self.encoded_copy is not None:
            weights = WEIGHTS if self.column_of_weights is not None else None
            return TableSource(
                self.encoded_copy, "arrow", capacity=self.budget.block, limit=self.budget.batch, weights=weights,
                copied=self.name,
            )  # fmt: skip
        return open_source(
            self.given, self.y, label=self.label, zero_based=self.zero_based,
            threads=min(max(1, self.threads - 1), PARSERS),
            capacity=self.budget.block, lenient=self.on_bad_line == "skip",
            kmers=self.kmers, width=self.width, budget=self.budget, weights=self.column_of_weights,
            encoder=self.encoder, columns=self.columns,
        )  # fmt: skip

    @property
    def left_out(self) -> dict[str, Any]:
        """Number of skipped lines and the first error, for the summary of a run; empty if no line was skipped."""
        if self.on_bad_line != "skip" or not self.source.left_out:
            return {}
        return {"left_out": self.source.left_out, "left_out_first": self.source.bad[0]}

    def too_large(self) -> bool:
        """Whether the rows and the working memory of solvers would exceed the memory limit."""
        if self.encoder is not None and self.encoder.stored:
            return COPIES * self.growth() * BYTES_A_VALUE * self.encoder.stored > self.budget.total
        sizes = sum(size_in_memory(path) for path in files_of(self.given))
        return COPIES * self.growth() * sizes > self.budget.total

    def growth(self) -> float:
        """Estimate from the first block by which factor the expansion lengthens rows."""
        if self.expansion is None:
            return 1.0
        rows = next(self.source.blocks()).rows
        return float(np.sum(self.expansion.sizes(rows))) / max(count_stored(rows), 1)

    def check(self) -> None:
        """Raise if a parameter has no meaning for files of these formats."""
        found = [format_of(path) for path in files_of(self.given)] if self.again else []
        if self.label is not None and found and not any(one.has_columns for one in found):
            raise ParameterError(f"label={self.label!r} names a column of a table: {self.name} is none")
        if self.request is not None and self.request.named and found and not any(one.has_columns for one in found):
            raise ParameterError(f"{self.request.named[0]!r} names a column of a table: {self.name} is none")
        if self.zero_based and found and not any(one.has_indices for one in found):
            raise ParameterError(f"zero_based is for rows that name their columns: {self.name} has them in order")


@memory_errors()
def read(
    path: str | os.PathLike | Sequence[str | os.PathLike],
    y: Any = None,
    *,
    label: str | None = None,
    encode: str = "auto",
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    zero_based: bool = False,
    on_bad_line: str = "refuse",
    d: int | None = None,
    threads: int | None = None,
) -> tuple[Any, np.ndarray]:
    """Read data in any format of `train`: LIBSVM text (plain, .gz, .bz2, .xz, .zst), CSV, Parquet, Arrow or .npy.

    Parameters
    ----------
    path : one file, a list of files, or a pattern such as "part-*.svm"
    y : labels for .npy: an array, or the file that holds them; other formats contain the labels
    label : name of the label column of a table; by default label, y, target or class
    encode : "auto" encodes the columns of a table, as `train` does; "none" takes numbers as they are
    columns, drop, kinds : as for `train`
    zero_based : whether feature indices in LIBSVM text start at 0; by default they start at 1
    on_bad_line : "refuse" raises an error at a line that cannot be read, "skip" skips such lines
    d : number of features, if known; by default as many as the file has
    threads : number of parsing threads; all cores by default

    Returns
    -------
    X : csr_array from sparse rows, of float64 from LIBSVM text and of the stored type from tables; else an array
    y : labels: whole numbers, numbers or text, as in the file

    Examples
    --------
    >>> import maxmargin
    >>> X, y = maxmargin.read("train.svm.xz")  # doctest: +SKIP
    """
    if d is not None and not (is_whole(d) and d >= 1):
        raise ParameterError(f"d={d!r} must be a whole number, 1 or above, or None")
    request = requested(encode, columns, drop, kinds)
    files = Files(path, y, label, zero_based, on_bad_line, thread_count(threads), request=request)
    files.check()
    rows, labels = files.load(d)
    return matrix_of(rows), labels


def write(path: str | Path, X: Any, y: Any, *, zero_based: bool = False, force: bool = False) -> None:
    """Write a LIBSVM/SVMlight file. Reading it returns the same rows and labels, bit for bit.

    Only a LIBSVM file is replaced, unless `force` is true.

    Examples
    --------
    >>> import maxmargin
    >>> maxmargin.write("train.svm.gz", [[0.0, 1.5]], [1])  # doctest: +SKIP
    """
    check_replaces(path, "a LIBSVM file", is_libsvm_data, force)
    rows = take(X)
    write_text(path, rows, check_length(y, count_rows(rows)), zero_based=zero_based)


def check_way(on_bad_line: Any) -> None:
    """Raise if the value of on_bad_line is not known."""
    if not (isinstance(on_bad_line, str) and on_bad_line in WAYS):
        raise ParameterError(f"on_bad_line={on_bad_line!r} is not known: choose one of {', '.join(WAYS)}")


def tables_in(source: Source) -> list[TableSource]:
    """Return the tables among the files of a source."""
    return [one for one in getattr(source, "parts", [source]) if isinstance(one, TableSource)]


def digest_of(encoder: Encoder) -> str:
    """Return a digest of an encoder."""
    return hashlib.blake2b(json.dumps(encoder.saved(), sort_keys=True).encode(), digest_size=8).hexdigest()


def content_of(path: Path) -> str:
    """Return the size of a file and a digest: of all bytes of a small file, of evenly spaced blocks of a large one."""
    digest, size = hashlib.blake2b(digest_size=16), path.stat().st_size
    with path.open("rb") as stream:
        for k in range(SAMPLED_BLOCKS):
            stream.seek(max(size - SAMPLED_BYTES, 0) * k // (SAMPLED_BLOCKS - 1))
            digest.update(stream.read(SAMPLED_BYTES))
    return f"{size} bytes {digest.hexdigest()}"


def size_in_memory(path: Path) -> float:
    """Estimate how many bytes the rows of a file take in memory."""
    try:
        size = float(path.stat().st_size)
    except OSError:
        return 0.0  # the code that reads the file will report the error
    return format_of(path).growth(path) * size if path.is_file() else size
