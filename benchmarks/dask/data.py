"""The data of the cluster benchmarks: files of the LIBSVM site, and generated rows that each worker makes by itself.

A name is that of a file, or `dense:ROWSxFEATURES`, `wide:ROWSxFEATURES`. Generated rows come in blocks of fixed size,
each from its own seed, so that they are the same whatever the number of partitions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import found

import maxmargin

FILES = ["a9a", "covtype.binary.scale", "covtype.binary", "20news.binary", "kddcup99_10pct.scale"]
GENERATED = ["dense:5000000x100", "wide:2000000x1000000"]
SEED = 25
BLOCK_ROWS = 25_000  # rows of a generated block: small enough for 1,024 workers to differ by little, large for NumPy
FLIPPED = 0.1  # share of the labels that do not follow the rule
VALUES_A_ROW = 20  # non-zeros of a row of `wide`
CSR = ("data", "indices", "indptr", "shape")

Rows = tuple[np.ndarray | sparse.csr_matrix, np.ndarray]


def is_generated(name: str) -> bool:
    return ":" in name


def is_dense(name: str) -> bool:
    return name.startswith("dense:")


def size_of(name: str, cache: Path) -> tuple[int, int]:
    """Return the number of rows and features."""
    if is_generated(name):
        n, d = name.split(":")[1].split("x")
        return int(n), int(d)
    n, d = np.load(cache / name / "shape.npy")
    return int(n), int(d)


def prepare(name: str, folder: Path, cache: Path) -> None:
    """Parse a file on first use, and keep its arrays, so that each worker can map its own rows."""
    if is_generated(name):
        size_of(name, cache)
        return
    source = found(name, folder)
    if source is None:
        raise FileNotFoundError(f"{name}: not in {folder}")
    kept = cache / name
    if (kept / "y.npy").exists() and (kept / "y.npy").stat().st_mtime > source.stat().st_mtime:
        return
    X, y = maxmargin.read(source)
    X = sparse.csr_matrix(X)
    kept.mkdir(parents=True, exist_ok=True)
    for part, values in [*((part, getattr(X, part)) for part in CSR), ("y", two_classes(y))]:
        written = kept / f"{part}.{os.getpid()}.npy"
        np.save(written, values)
        written.rename(kept / f"{part}.npy")


def two_classes(y: np.ndarray) -> np.ndarray:
    """Return ±1; of more than two labels, the most frequent one against the others."""
    labels, counts = np.unique(y, return_counts=True)
    positive = labels[1] if len(labels) == 2 else labels[np.argmax(counts)]
    return np.where(y == positive, 1.0, -1.0)


def piece(name: str, number: int, parts: int, cache: Path) -> Rows:
    """Return one of `parts` partitions of the rows."""
    if is_generated(name):
        blocks = -(-size_of(name, cache)[0] // BLOCK_ROWS)
        chosen = range(number * blocks // parts, (number + 1) * blocks // parts)
        made = [block(name, one) for one in chosen]
        d = size_of(name, cache)[1]
        if is_dense(name):
            X = np.concatenate([X for X, _ in made]) if made else np.zeros((0, d), np.float32)
        else:
            X = sparse.vstack([X for X, _ in made], "csr") if made else sparse.csr_matrix((0, d), dtype=np.float32)
        return X, np.concatenate([y for _, y in made]) if made else np.zeros(0)
    n, d = size_of(name, cache)
    first, last = number * n // parts, (number + 1) * n // parts
    values, indices, indptr, y = (np.load(cache / name / f"{part}.npy", mmap_mode="r") for part in (*CSR[:3], "y"))
    begin, end = int(indptr[first]), int(indptr[last])
    rows = (np.array(values[begin:end]), np.array(indices[begin:end]), np.asarray(indptr[first : last + 1]) - begin)
    return sparse.csr_matrix(rows, (last - first, d)), np.array(y[first:last])


def pieces(name: str, parts: int, cache: Path) -> Iterator[Rows]:
    return (piece(name, number, parts, cache) for number in range(parts))


def whole(name: str, cache: Path) -> Rows:
    return piece(name, 0, 1, cache)


def block(name: str, number: int) -> Rows:
    """Generate the rows of one block: labels follow a linear rule, except for the flipped ones."""
    n, d = size_of(name, Path())
    count = min(BLOCK_ROWS, n - number * BLOCK_ROWS)
    rng = np.random.default_rng([SEED, number])
    rule = np.random.default_rng(SEED).standard_normal(d, dtype=np.float32)
    X = rng.standard_normal((count, d), dtype=np.float32) if is_dense(name) else words(rng, count, d)
    flipped = rng.random(count) < FLIPPED
    return X, np.where((X @ rule > 0) ^ flipped, 1.0, -1.0)


def words(rng: np.random.Generator, count: int, d: int) -> sparse.csr_matrix:
    """Return rows of length 1 with about 20 features each, frequent ones first, as in text."""
    columns = np.minimum((d * rng.random((count, VALUES_A_ROW)) ** 3).astype(np.int32), d - 1)
    ends = np.arange(0, columns.size + 1, VALUES_A_ROW)
    X = sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), ends), (count, d))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr)).astype(np.float32)
    return X


def objective(name: str, parts: int, cache: Path, w: np.ndarray, b: float, loss: str, C: float) -> float:
    """Return P(w, b) = ½‖w‖² + C Σ ℓ(y(⟨w, x⟩ + b)), in float64."""
    total = 0.0
    for X, y in pieces(name, parts, cache):
        for start in range(0, len(y), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            total += float(np.sum(LOSSES[loss](y[rows] * (X[rows] @ w + b))))
    return 0.5 * float(w @ w) + C * total


LOSSES = {
    "hinge": lambda m: np.maximum(1.0 - m, 0.0),
    "squared_hinge": lambda m: np.maximum(1.0 - m, 0.0) ** 2,
    "logistic": lambda m: np.logaddexp(0.0, -m),
}
