"""Rows of Dask collections, files and delayed blocks, as partitions on the workers. Nothing is pulled to the client."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cluster.cluster_rows import ClusterRows
from maxmargin.cluster.connection import check_workers, within
from maxmargin.cluster.origin import Blocks, FileParts, Origin
from maxmargin.cluster.scaling import divisors_on_cluster
from maxmargin.cluster.table_parts import Cluster, encoder_of_files, encoder_of_frames
from maxmargin.data.collections import is_blocks, is_collection
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.encoding.request import Request
from maxmargin.data.files import is_file
from maxmargin.data.open_source import files_of
from maxmargin.errors import ClusterError, DataError, FileError, MaxmarginError

TIMEOUT = 600.0  # seconds: longer than the 300 s after which a scheduler gives up a silent worker


def rows_on_cluster(
    X: Any,
    y: Any = None,
    weights: Any = None,
    client: Any = None,
    *,
    timeout: float = TIMEOUT,
    request: Request | None = None,
    scale: bool = False,
    **how: Any,
) -> ClusterRows:
    """Return the rows of a Dask collection, of files or of delayed blocks as an Executor.

    Tables and data frames are encoded as `request` says; without one, they hold numbers. With `scale`, each feature is
    divided by its largest absolute value. `how` are the options for
    files: label, zero_based, on_bad_line.
    """
    check_workers(client, timeout)
    origin = origin_of(X, y, weights, client, timeout, how)
    if request is not None:
        origin.encoder = encoder_for(origin, request, Cluster(client, timeout))
    if scale:
        origin.divisors = divisors_on_cluster(origin, Cluster(client, timeout))
    return ClusterRows(client, origin, timeout)


def encoder_for(origin: Origin, request: Request, cluster: Cluster) -> Encoder | None:
    """Return the encoder of tables and data frames; None for other rows."""
    if isinstance(origin, FileParts):
        return encoder_of_files(origin, request, cluster)
    return encoder_of_frames(origin, request, cluster) if isinstance(origin, Blocks) else None


def origin_of(X: Any, y: Any, weights: Any, client: Any, timeout: float, how: dict[str, Any]) -> Origin:
    """Return where the partitions come from."""
    if is_file(X):
        return file_parts(X, y, weights, client, timeout, how)
    if is_blocks(X):
        if y is not None or weights is not None:
            raise DataError("X holds delayed blocks (X, y) or (X, y, weights): leave y and weights out")
        return Blocks([(*block, None)[:3] for block in X])
    if not is_collection(X):
        raise DataError(
            f"X is a {type(X).__name__} in this process: leave client out, or make it a Dask array by "
            "dask.array.from_array(X, chunks=...)"
        )
    return Blocks(aligned(X, y, weights))


def aligned(X: Any, y: Any, weights: Any) -> list[tuple[Any, Any, Any]]:
    """Return the blocks of X, y and weights, one of each for every partition."""
    if hasattr(X, "columns"):
        names = [name for name in (y, weights) if isinstance(name, str)]
        for name in names:
            if name not in list(X.columns):
                known = ", ".join(map(str, list(X.columns)[:8]))
                raise DataError(f"X has no column {name!r}: its columns are {known}")
        y, weights = (X[given] if isinstance(given, str) else given for given in (y, weights))
        X = X.drop(columns=names) if names else X
    if y is None:
        raise DataError("y is missing: give a Dask array or series, or the name of a column of X")
    X = row_blocks(X)
    rows = blocks_of(X)
    return [
        (one, label, weight)
        for one, label, weight in zip(
            rows, like(X, y, "y", len(rows)), like(X, weights, "weights", len(rows)), strict=True
        )
    ]


def row_blocks(X: Any) -> Any:
    """Return an array whose blocks have all columns."""
    if not hasattr(X, "columns") and X.ndim == 2 and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def blocks_of(collection: Any) -> list[Any]:
    """Return the blocks of a collection as delayed objects."""
    found = collection.to_delayed()
    return list(np.asarray(found, dtype=object).ravel()) if isinstance(found, np.ndarray) else list(found)


def like(X: Any, y: Any, name: str, count: int) -> Sequence[Any]:
    """Return the blocks of y, cut at the same rows as those of X."""
    if y is None:
        return [None] * count
    if not is_collection(y):
        return pieces(X, np.asarray(y), name)
    if hasattr(y, "columns") and getattr(y, "ndim", 1) == 2:
        y = y[next(iter(y.columns))] if len(y.columns) == 1 else y
    if hasattr(y, "rechunk") and known(y) and sizes_of(X) is not None and y.chunks[0] != sizes_of(X):
        if sum(y.chunks[0]) != sum(sizes_of(X) or ()):
            raise DataError(
                f"{name} has {sum(y.chunks[0])} entries, but X has {sum(sizes_of(X) or ())} rows: give one each"
            )
        y = y.rechunk({0: sizes_of(X)})
    elif hasattr(y, "divisions") and divisions_of(X) not in (None, divisions_of(y)) and divisions_of(y) is not None:
        y = y.repartition(divisions=divisions_of(X))
    found = blocks_of(y)
    if len(found) != count:
        raise DataError(f"{name} has {len(found)} partitions, but X has {count}: cut both at the same rows")
    return found


def pieces(X: Any, y: np.ndarray, name: str) -> list[np.ndarray]:
    """Return the parts of an array in this process that belong to the blocks of X."""
    sizes = sizes_of(X)
    if sizes is None:
        raise DataError(f"{name} is no Dask collection, and the partitions of X have unknown sizes: make {name} one")
    if len(y) != sum(sizes):
        raise DataError(f"{name} has {len(y)} entries, but X has {sum(sizes)} rows: give one for each row")
    return np.split(y, np.cumsum(sizes)[:-1])


def known(array: Any) -> bool:
    """Whether the sizes of all chunks of an array are known."""
    return not np.isnan(np.array(array.chunks[0], dtype=float)).any()


def sizes_of(X: Any) -> tuple[int, ...] | None:
    """Return the number of rows of each block, None if unknown: data frames do not tell."""
    return tuple(X.chunks[0]) if hasattr(X, "chunks") and known(X) else None


def divisions_of(X: Any) -> tuple[Any, ...] | None:
    """Return the index values at which a data frame is cut, None if unknown."""
    found = getattr(X, "divisions", None)
    return None if found is None or any(value is None for value in found) else tuple(found)


def file_parts(X: Any, y: Any, weights: Any, client: Any, timeout: float, how: dict[str, Any]) -> FileParts:
    """Return files as partitions, after a check that every worker can see them."""
    paths = seen_by_all(X, client, timeout)
    labels = beside_files(y, "y", paths, client, timeout)
    own = beside_files(weights, "weights", paths, client, timeout)
    workers = within(client, timeout, client.scheduler.ncores)
    given = [{**how, "y": label, "weights": weight} for label, weight in zip(labels, own, strict=True)]
    column = own[0] if isinstance(own[0], str) else None
    return FileParts(paths, given, -(-len(paths) // max(len(workers), 1)), column)


def beside_files(given: Any, name: str, paths: Sequence[Path], client: Any, timeout: float) -> list[Any]:
    """Return the file that belongs to each file of X, or for weights the name of a column of all of them."""
    if given is None:
        return [None] * len(paths)
    if not is_file(given):
        raise DataError(f"{name} of files on a cluster must name files, one for each file of X")
    try:
        found = list(seen_by_all(given, client, timeout))
    except FileError:
        if name == "weights" and isinstance(given, str):
            return [given] * len(paths)  # the workers look for a column of this name
        raise
    if len(found) != len(paths):
        raise DataError(f"{name} names {len(found)} files, X {len(paths)}: give one file for each")
    return found


def seen_by_all(given: Any, client: Any, timeout: float) -> list[Path]:
    """Return the files that are named or match, in order; raise if one of them is not visible to all workers."""
    absolute = [str(Path(one).absolute()) for one in ([given] if isinstance(given, (str, os.PathLike)) else given)]
    found: dict[str, Any] = within(client, timeout, client._run, files_there, absolute, on_error="return")
    for worker, paths in found.items():
        if isinstance(paths, BaseException):
            raise ClusterError(f"worker {worker}: {paths}")
    seen: list[Path] = []
    for place, one in enumerate(absolute):
        own: dict[str, list[Path]] = {worker: paths[place] for worker, paths in sorted(found.items())}
        every = sorted({path for paths in own.values() for path in paths})
        if not every:
            raise FileError(f"{one}: no worker finds such a file: put it where all workers can read it")
        for path in every:
            for worker, paths in own.items():
                if path not in paths:
                    raise FileError(f"{path}: worker {worker} cannot read it, others can: put it where all workers can")
        seen += next(iter(own.values()))
    return seen


def files_there(given: list[str]) -> list[list[Path]]:
    """Return the files that exist on this worker for each name or pattern."""
    return [matched(one) for one in given]


def matched(name: str) -> list[Path]:
    """Return the readable files that have a name or match a pattern; none if there are none."""
    with suppress(MaxmarginError):
        return [path for path in files_of(name) if os.access(path, os.R_OK)]
    return []
