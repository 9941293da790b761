"""Rows as Parquet files of Spark's vectors, written once, so that Spark loads them without Python in between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from data import BLOCK_ROWS, piece
from scipy import sparse

SPARSE, DENSE = 0, 1  # the types of a vector in Spark's VectorUDT
VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)
SCHEMA = pa.schema([("label", pa.float64()), ("features", VECTOR)])


def vector_files(name: str, parts: int, cache: Path) -> Path:
    """Return the folder of the files; write them on first use."""
    folder = cache / "vectors" / f"{name.replace(':', '_')}_{parts}"
    for number in range(parts):
        path = folder / f"part-{number}.parquet"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            write(unfinished, *piece(name, number, parts, cache))
            unfinished.rename(path)
    return folder


def write(path: Path, X, y: np.ndarray) -> None:
    with pq.ParquetWriter(path, SCHEMA, compression="none") as writer:
        for start in range(0, len(y), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            labels = pa.array((y[rows] > 0).astype(np.float64))
            writer.write_table(pa.table([labels, vectors(X[rows])], schema=SCHEMA))


def vectors(X) -> pa.StructArray:
    """Return rows as an Arrow array of vectors."""
    n, d = X.shape
    if sparse.issparse(X):
        ends = pa.array(X.indptr.astype(np.int32))
        indices = pa.ListArray.from_arrays(ends, pa.array(X.indices.astype(np.int32)))
        values = pa.ListArray.from_arrays(ends, pa.array(X.data.astype(np.float64)))
        kind, sizes = SPARSE, pa.array(np.full(n, d, np.int32))
    else:
        ends = pa.array(np.arange(0, n * d + 1, d, dtype=np.int32))
        indices = pa.nulls(n, pa.list_(pa.int32()))
        values = pa.ListArray.from_arrays(ends, pa.array(X.astype(np.float64).ravel()))
        kind, sizes = DENSE, pa.nulls(n, pa.int32())
    return pa.StructArray.from_arrays(
        [pa.array(np.full(n, kind, np.int8)), sizes, indices, values], fields=list(VECTOR)
    )
