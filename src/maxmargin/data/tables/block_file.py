"""Block files: Arrow files that hold rows in their memory layout, one record batch for each block.

Columns   label; and either indices and values, lists in the layout of a CSR matrix, or only values, lists of one length
Facts     n, d, the labels and the ends of the blocks, in the metadata of the last batch, which is empty
Reading   by any Arrow library; with pyarrow  pyarrow.ipc.open_file(path).read_all()
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.rows import Csr, Dense, Rows, count_columns
from maxmargin.data.source import Facts, Source
from maxmargin.data.tables.block_facts import KEY
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
    source: Source, stream: Any, compression: str, kind: type, watch: Watch | None, encoder: Encoder | None
) -> Facts:
    """Write all blocks, with indices of type `kind`, and the facts; return the facts."""
    import pyarrow as pa

    codec = None if compression == "none" else compression
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)  # each thread would hold memory
    writer, schema = None, None
    n, d, classes = 0, source.facts.d if source.facts else 0, np.zeros(0)
    ends: list[int] = []
    for block in source.blocks():
        if isinstance(block.rows, Csr) and block.rows.d > 2**31 - 1 and kind is np.int32:
            raise WideError
        batch = batch_of(block.rows, block.labels, kind)
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


def batch_of(rows: Rows, labels: np.ndarray, kind: type) -> Any:
    """Return a block as a record batch. Labels that are numbers become float64, the same type in every block."""
    import pyarrow as pa

    label = pa.array(labels.astype(np.float64) if labels.dtype.kind in "biuf" else labels.tolist())
    if isinstance(rows, Dense):
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.values.reshape(-1)), rows.values.shape[1])
        return pa.RecordBatch.from_arrays([label, values], names=["label", "values"])
    offsets = pa.array(rows.indptr.astype(np.int32) if rows.indptr[-1] < 2**31 else rows.indptr)
    lists = pa.ListArray if rows.indptr[-1] < 2**31 else pa.LargeListArray
    indices = lists.from_arrays(offsets, pa.array(rows.indices.astype(kind, copy=False)))
    values = lists.from_arrays(offsets, pa.array(rows.values))
    return pa.RecordBatch.from_arrays([label, indices, values], names=["label", "indices", "values"])


def mixed(source: Source, before: Any, now: Any, row: int) -> DataError | FileError:
    """Return the error for a block whose schema differs from the blocks before it."""
    if before.field("label").type != now.field("label").type:
        return DataError(f"{source.name}: some labels are numbers and some are names, from row {row} on: use one kind")
    return FileError(f"{source.name}: rows from number {row} on have another form than those before: make them alike")
