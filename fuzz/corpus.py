"""Small whole files of every format that maxmargin reads: what the mutants are made of."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

N, D = 24, 6
KMERS = "kmers:3"
STREAMED: dict[str, Any] = {"solver": "cached_loops", "memory": "16MB", "threads": 1, "C": 10.0}
IN_MEMORY: dict[str, Any] = {"solver": "dual_coordinate", "threads": 1, "C": 10.0}
WITH_KERNEL: dict[str, Any] = {"kernel": "gaussian", "gamma": 0.5, "threads": 1}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels that all files hold."""
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(N, D)) * 8) / 8 * (rng.random((N, D)) < 0.6)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


def make_corpus(folder: Path) -> None:
    """One subfolder a format, with files of it; names that begin with a dot are not mutated."""
    for name, make in MAKERS.items():
        own = folder / name
        own.mkdir(parents=True, exist_ok=True)
        make(own)


def compressed(path: Path, data: bytes, kinds: tuple[str, ...]) -> None:
    """The file, and the same compressed."""
    import pyarrow as pa

    path.write_bytes(data)
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gz": lambda data: gzip.compress(data, mtime=0),
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    }
    for kind in kinds:
        Path(f"{path}.{kind}").write_bytes(packers[kind](data))


def make_text(folder: Path) -> None:
    """LIBSVM text."""
    lines = []
    for x, label in zip(*rows(), strict=True):
        lines.append(f"{label:+d} " + " ".join(f"{j + 1}:{value:g}" for j, value in enumerate(x) if value))
    compressed(folder / "a.svm", ("\n".join(lines) + "\n").encode(), ("gz", "bz2", "xz", "zst"))
    named = "\n".join(("yes " if line[0] == "+" else "no ") + line[3:] + " # note" for line in lines)
    (folder / "b.svm").write_bytes(named.encode())


def make_csv(folder: Path) -> None:
    """CSV with a line of names."""
    X, y = rows()
    lines = ["label," + ",".join(f"x{j}" for j in range(D))]
    lines += [f"{label}," + ",".join(f"{value:g}" for value in x) for x, label in zip(X, y, strict=True)]
    compressed(folder / "a.csv", ("\n".join(lines) + "\n").encode(), ("gz", "bz2", "zst"))


def tables() -> dict[str, Any]:
    """The rows as Arrow tables of every form."""
    import pyarrow as pa

    X, y = rows()
    labels = pa.array(y.astype(float))
    numbers = {f"x{j}": X[:, j] for j in range(D)}
    indices = [np.flatnonzero(x).astype(np.int32) for x in X]
    values = [x[found] for x, found in zip(X, indices, strict=True)]
    names = pa.array(np.where(y > 0, "yes", "no")).dictionary_encode()
    flat = pa.array(X.reshape(-1))
    return {
        "columns": pa.table({"label": labels, **numbers}),
        "names": pa.table({"label": names, **numbers}),
        "sparse": pa.table({"label": labels, "indices": indices, "values": values}),
        "large": pa.table({
            "label": labels,
            "indices": pa.array(indices, pa.large_list(pa.int64())),
            "values": pa.array(values, pa.large_list(pa.float64())),
        }),
        "dense": pa.table({"label": labels, "values": list(X)}),
        "fixed": pa.table({"label": labels, "values": pa.FixedSizeListArray.from_arrays(flat, D)}),
    }  # fmt: skip


def make_parquet(folder: Path) -> None:
    """Parquet."""
    from pyarrow import parquet

    for name, table in tables().items():
        parquet.write_table(table, folder / f"{name}.parquet", compression="snappy" if name == "columns" else "none")


def make_arrow(folder: Path) -> None:
    """Arrow files as anybody writes them."""
    import pyarrow as pa

    for name, table in tables().items():
        with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=10)


def make_blocks(folder: Path) -> None:
    """Block files as `maxmargin convert` writes them."""
    from maxmargin.data.open_source import open_source
    from maxmargin.data.tables.block_file import convert

    make_text(folder)
    for compression in ("none", "lz4", "zstd"):
        convert(open_source(folder / "a.svm", capacity=1 << 8), folder / f"sparse-{compression}.arrow", compression)
    make_csv(folder)
    convert(open_source(folder / "a.csv"), folder / "dense.arrow", "none")
    for path in folder.iterdir():
        if path.suffix != ".arrow":
            path.unlink()


def make_npy(folder: Path) -> None:
    """Arrays; labels in a file of their own."""
    X, y = rows()
    np.save(folder / "a.npy", X)
    np.save(folder / "b.npy", X.astype(np.float32))
    np.save(folder / "y.npy", y)


def make_dna(folder: Path) -> None:
    """Sequences with a label."""
    rng = np.random.default_rng(5)
    lines = [f"{label:+d} " + "".join(rng.choice(list("ACGTN"), size=30)) for label in rows()[1]]
    (folder / "a.dna").write_text("\n".join(lines) + "\n")


def make_libsvm_models(folder: Path) -> None:
    """Models in LIBSVM's format."""
    import maxmargin

    X, y = rows()
    maxmargin.write_libsvm_model(maxmargin.train(X, y, **WITH_KERNEL).model, folder / "a.model")
    three = np.arange(N) % 3
    maxmargin.write_libsvm_model(maxmargin.train(X, three, kernel="linear", threads=1).model, folder / "b.model")
    maxmargin.write_libsvm_model(maxmargin.SVR(gamma=0.5, n_jobs=1).fit(X, y).model_, folder / "c.model")


def make_liblinear_models(folder: Path) -> None:
    """Models in LIBLINEAR's format."""
    import maxmargin

    X, y = rows()
    maxmargin.write_liblinear_model(maxmargin.train(X, y, threads=1).model, folder / "a.model")
    three = maxmargin.train(X, np.arange(N) % 3, loss="logistic", bias="none", threads=1).model
    maxmargin.write_liblinear_model(three, folder / "b.model")
    for name, kind in (("c", maxmargin.SVR), ("d", maxmargin.OneClassSVM)):
        function = kind(kernel="linear", n_jobs=1).fit(X + 1.0, y).model_
        maxmargin.write_liblinear_model(function, folder / f"{name}.model")


def make_models(folder: Path) -> None:
    """Models of every kind."""
    from scipy import sparse

    import maxmargin

    X, y = rows()
    maxmargin.train(X, y, threads=1).model.save(folder / "linear.safetensors")
    maxmargin.train(X, np.arange(N) % 3, threads=1).model.save(folder / "three.safetensors")
    maxmargin.train(X, y, **WITH_KERNEL).model.save(folder / "kernel.safetensors")
    maxmargin.train(sparse.csr_array(X), y, kernel="poly", threads=1, probability=True).model.save(
        folder / "sparse.safetensors"
    )
    maxmargin.train(X @ X.T, y, kernel="precomputed", threads=1).model.save(folder / "precomputed.safetensors")
    maxmargin.NuSVR(gamma=0.5, n_jobs=1).fit(X, y).model_.save(folder / "function.safetensors")
    for approx in ("nystrom", "fourier"):
        result = maxmargin.train(X, y, **WITH_KERNEL, approx=approx, components=8)
        result.model.save(folder / f"{approx}.safetensors")


def make_checkpoints(folder: Path) -> None:
    """Runs that were kept, and the file that the streamed one reads."""
    import maxmargin

    X, y = rows()
    maxmargin.train(X, y, checkpoint=folder / "memory.checkpoint", max_epochs=1, **IN_MEMORY)
    maxmargin.train(X, y, checkpoint=folder / "kernel.checkpoint", **WITH_KERNEL)
    maxmargin.write(folder / ".data.svm", X, y)
    maxmargin.train(folder / ".data.svm", checkpoint=folder / "streamed.checkpoint", max_epochs=1, **STREAMED)


MAKERS: dict[str, Callable[[Path], None]] = {
    "text": make_text,
    "csv": make_csv,
    "parquet": make_parquet,
    "arrow": make_arrow,
    "blocks": make_blocks,
    "npy": make_npy,
    "dna": make_dna,
    "libsvm_model": make_libsvm_models,
    "liblinear_model": make_liblinear_models,
    "model": make_models,
    "checkpoint": make_checkpoints,
}
