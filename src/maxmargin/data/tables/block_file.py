"""Block files: Arrow files that hold rows in their memory layout, one record batch for each block.

Columns   label; and either indices and values, lists in the layout of a CSR matrix, or only values, lists of one length
          weights too, in the temporary copy of a table with a column of weights
Facts     n, d, the labels and the ends of the blocks, in the metadata of the last batch, which is empty
Reading   by any Arrow library; with pyarrow  pyarrow.ipc.open_file(path).read_all()
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows, count_stored, part_of_rows
from maxmargin.data.source import Facts, RowBlock, Source
from maxmargin.data.tables.block_facts import KEY, WEIGHTS
from maxmargin.errors import DataError, FileError, ParameterError
from maxmargin.system.atomic_files import replacing

COMPRESSIONS = ("zstd", "lz4", "none")

Watch = Callable[[int, int], Any]


def convert(
    source: Source,
    path: str | Path,
    compression: str = "zstd",
    watch: Watch | None = None,
    encoder: Encoder | None = None,
) -> Facts:
    """Write the rows of a source to a block file, atomically; call watch(bytes read, rows written) after each block.

    `encoder` is what made the rows of a table; the file keeps it, for models that are trained on it.
    """
    if compression not in COMPRESSIONS:
        raise ParameterError(f"compression={compression!r} is not known: choose one of {', '.join(COMPRESSIONS)}")
    try:
        with replacing(path) as stream:
            return write(source, stream, compression, np.int32, watch, encoder)
    except WideError:
        with replacing(path) as stream:
            return write(source, stream, compression, np.int64, watch, encoder)


class WideError(Exception):
    """A column number does not fit in int32."""


def write(
    source: Source,
    stream: Any,
    compression: str,
    kind: type = np.int32,
    watch: Watch | None = None,
    encoder: Encoder | None = None,
    most: float = np.inf,
) -> Facts:
    """Write all blocks, cut into pieces of about `most` values, with indices of type `kind`, and the facts.

    Returns the facts.
    """
    import pyarrow as pa

    codec = None if compression == "none" else compression
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)  # each thread would hold memory
    writer, schema = None, None
    n, d, classes = 0, source.facts.d if source.facts else 0, np.zeros(0)
    ends: list[int] = []
    for block in (piece for one in source.blocks() for piece in pieces(one, most)):
        if isinstance(block.rows, Csr) and block.rows.d > 2**31 - 1 and kind is np.int32:
            raise WideError
        batch = batch_of(block, kind)
        if writer is None:
            schema = batch.schema
            writer = pa.ipc.new_file(stream, schema, options=options)
        if batch.schema != schema:
            raise mixed(source, schema, batch.schema, block.first)
        writer.write_batch(batch)
        n, d = n + batch.num_rows, max(d, count_columns(block.rows))
        found = np.unique(block.labels)
        classes = found if len(ends) == 0 else np.unique(np.concatenate([classes, found]))
        ends.append(n)
        if watch:
            watch(block.read, n)
    assert writer is not None
    saved = None if encoder is None else encoder.saved()
    told = {"n": n, "d": d, "classes": classes.tolist(), "ends": ends, **({"encoder": saved} if saved else {})}
    words = json.dumps(told)
    writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema), custom_metadata={KEY: words})
    writer.close()
    return Facts(n, d, classes, np.array(ends), saved)


def pieces(block: RowBlock, most: float) -> Iterator[RowBlock]:
    """Yield a block in pieces of equally many rows, of about `most` values each."""
    count, n = int(np.ceil(count_stored(block.rows) / most)), count_rows(block.rows)
    if count <= 1:
        yield block
        return
    step = -(-n // count)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        weights = None if block.weights is None else block.weights[part]
        rows = part_of_rows(block.rows, part.start, part.stop)
        yield block._replace(rows=rows, labels=block.labels[part], weights=weights)


def batch_of(block: RowBlock, kind: type) -> Any:
    """Return a block as a record batch."""
    import pyarrow as pa

    columns = {"label": label_column(block.labels), **row_columns(block.rows, kind)}
    if block.weights is not None:
        columns[WEIGHTS] = pa.array(block.weights)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def label_column(labels: np.ndarray) -> Any:
    """Return labels as a column. Numbers become float64, the same type in every block."""
    import pyarrow as pa

    return pa.array(labels.astype(np.float64) if labels.dtype.kind in "biuf" else labels.tolist())


def row_columns(rows: Rows, kind: type) -> dict[str, Any]:
    """Return rows as columns of lists."""
    import pyarrow as pa

    if isinstance(rows, Dense):
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.values.reshape(-1)), rows.values.shape[1])
        return {"values": values}
    offsets = pa.array(rows.indptr.astype(np.int32) if rows.indptr[-1] < 2**31 else rows.indptr)
    lists = pa.ListArray if rows.indptr[-1] < 2**31 else pa.LargeListArray
    indices = lists.from_arrays(offsets, pa.array(rows.indices.astype(kind, copy=False)))
    values = lists.from_arrays(offsets, pa.array(rows.values))
    return {"indices": indices, "values": values}


def mixed(source: Source, before: Any, now: Any, row: int) -> DataError | FileError:
    """Return the error for a block whose schema differs from the blocks before it."""
    if before.field("label").type != now.field("label").type:
        return DataError(f"{source.name}: some labels are numbers and some are names, from row {row} on: use one kind")
    return FileError(f"{source.name}: rows from number {row} on have another form than those before: make them alike")
