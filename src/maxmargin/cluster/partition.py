"""One partition of the rows, checked on the worker that computes it.

A fault is returned and not raised: the client names the partition, and the worker's log stays free of tracebacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cluster.facts import Columns, columns_of_files, columns_of_frame
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.encoding.frames import encoded_frame
from maxmargin.data.file_rows import FileRows
from maxmargin.data.files import Files
from maxmargin.data.labels import check_length, plain
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.rows import Rows, count_rows
from maxmargin.data.scaling import divided
from maxmargin.data.take import read_only, take
from maxmargin.errors import DataError, MaxmarginError
from maxmargin.system.budget import Budget

STREAMED_SHARE = 0.5  # part of a worker's memory for its partitions: the rest is Dask's, and that of the solver


@dataclass(eq=False)
class Partition:
    """Rows with labels and weights, and the columns of a table; or files that are too large for memory; or a fault."""

    number: int
    rows: Rows | None = None
    labels: np.ndarray | None = None
    weights: np.ndarray | None = None
    files: Files | None = None
    fault: MaxmarginError | None = None
    columns: Columns | None = None

    def executor(self, threads: int) -> MemoryRows | FileRows:
        """Return the executor of this partition."""
        if self.files is not None:
            files, done = self.files, self.files.preparation()
            return FileRows(files.source, files.budget, preparation=done, weights=self.weights, threads=threads)
        assert self.rows is not None
        assert self.labels is not None
        return MemoryRows(self.rows, self.labels, self.weights, threads)


def from_blocks(
    number: int,
    X: Any,
    y: Any,
    weights: Any = None,
    encoder: Encoder | None = None,
    divisors: np.ndarray | None = None,
) -> Partition:
    """Return a partition of blocks in memory, encoded if there is an encoder, or divided."""
    try:
        rows = take(X) if encoder is None else encoded_frame(encoder.anew(), X)
        rows = rows if divisors is None else divided(rows, divisors)
        n = count_rows(rows)
        columns = columns_of_frame(X) if encoder is None else None
        return Partition(number, rows, labels_of(y, n), weights_of(weights, n), columns=columns)
    except MaxmarginError as error:
        return Partition(number, fault=placed(error, f"partition {number}"))


def from_file(
    number: int,
    path: Path,
    how: dict[str, Any],
    share: int,
    encoder: Encoder | None = None,
    divisors: np.ndarray | None = None,
) -> Partition:
    """Return a partition of one file. If it exceeds the memory of its share of the worker, it is streamed."""
    try:
        own = None if encoder is None else encoder.anew()
        files = files_on_worker(path, how, share, given_encoder=own, divisors=divisors)
        if files.too_large() and files.y is None:
            return Partition(number, weights=files.weights_in_files(), files=files)
        rows, labels, weights = files.read_weighted()
        rows, n = rows if divisors is None else divided(rows, divisors), count_rows(rows)
        found = labels_of(labels, n), weights_of(weights, n)
        return Partition(number, rows, *found, columns=columns_of_files(files))
    except MaxmarginError as error:
        return Partition(number, fault=placed(error, f"partition {number}"))
    except OSError as error:
        return Partition(number, fault=DataError(f"partition {number}: {path}: {error.strerror or error}"))


def files_on_worker(path: Path, how: dict[str, Any], share: int, **more: Any) -> Files:
    """Return a file that a worker reads within its share of the memory."""
    files = Files(path, memory=memory_of_worker(share), **how, **more)
    files.check()
    return files


def memory_of_worker(share: int) -> Budget | None:
    """Return the memory for one of `share` partitions of a worker; None if the worker has no limit."""
    from distributed import get_worker

    limit = get_worker().memory_manager.memory_limit
    return None if not limit else Budget(int(STREAMED_SHARE * limit / max(share, 1)))


def labels_of(y: Any, n: int) -> np.ndarray:
    """Return one label for each row: numbers, or text."""
    if y is None:
        raise DataError("y is missing: give one label for each row of X")
    y = check_length(y, n)
    y = plain(y) if y.dtype.kind in "OT" and n else y
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        place = int(np.argmin(np.isfinite(y)))
        raise DataError(f"y[{place}] is {y[place]}: every example needs a label")
    return read_only(y)


def weights_of(weights: Any, n: int) -> np.ndarray | None:
    """Return one finite weight ≥ 0 for each row; None if there are none."""
    if weights is None:
        return None
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights are not numbers ({error}): give one number for each row") from error
    if found.shape != (n,):
        raise DataError(f"weights have shape {found.shape}, but X has {n} rows: give one number for each row")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if wrong.size:
        raise DataError(f"weights[{wrong[0]}] is {found[wrong[0]]}: a weight must be a finite number, 0 or above")
    return read_only(found)


def placed(error: MaxmarginError, place: str) -> MaxmarginError:
    """Return the error with its place in front."""
    return type(error)(f"{place}: {error}")
