"""The data of the race: LIBSVM files of a folder, and generated shapes that need none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import maxmargin

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import found

FILES = ["a9a", "w8a", "ijcnn1", "covtype.binary.scale", "covtype.binary", "mnist", "reuters_money-fx", "20news.binary"]


def load(name: str, folder: Path, cache: Path):
    """X as a CSR matrix or an array, y as ±1; parsed on first use, from the cache afterwards."""
    source = Path(__file__) if name in GENERATED else found(name, folder)
    if source is None:
        raise SystemExit(f"{name}: not in {folder}")
    kept = cache / ("_".join([*source.resolve().parts[1:], name]) + ".npz")
    if not (kept.exists() and kept.stat().st_mtime > source.stat().st_mtime):
        keep(kept, *(GENERATED[name]() if name in GENERATED else parsed(source, name)))
    return unpacked(np.load(kept))


def parsed(path: Path, name: str):
    """Of the sorted labels every second one is +1: the larger of two, the odd digits of mnist."""
    X, y = maxmargin.read(path)
    return sparse.csr_matrix(X), np.where(np.unique(y, return_inverse=True)[1] % 2 == 1, 1.0, -1.0)


def keep(path: Path, X, y) -> None:
    """Write under another name first: two processes may do this at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    names = ("data", "indices", "indptr", "shape")
    rows = {name: getattr(X, name) for name in names} if sparse.issparse(X) else {"X": X}
    with part.open("wb") as file:
        np.savez(file, y=y, **rows)
    part.rename(path)


def unpacked(held):
    if "X" in held:
        return held["X"], held["y"]
    return sparse.csr_matrix((held["data"], held["indices"], held["indptr"]), tuple(held["shape"])), held["y"]


def dense_long():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500_000, 54))
    return X, np.where(X @ rng.normal(size=54) + 3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)


def dense_wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2_000))
    return X, np.where(X @ rng.normal(size=2_000) + 30 * rng.normal(size=len(X)) > 0, 1.0, -1.0)


def text_like():
    """200,000 rows of 75 words out of 50,000, frequent words first, rows of length 1."""
    rng = np.random.default_rng(0)
    n, d, k = 200_000, 50_000, 75
    columns = np.minimum((d * rng.random((n, k)) ** 3).astype(np.int32), d - 1)
    X = sparse.csr_matrix((np.ones(n * k), columns.ravel(), np.arange(0, n * k + 1, k)), (n, d))
    X.sum_duplicates()
    X.data[:] = 1.0 / np.sqrt(np.repeat(np.diff(X.indptr), np.diff(X.indptr)))
    scores = X @ rng.normal(size=d)
    return X, np.where(scores + scores.std() * rng.normal(size=n) > 0, 1.0, -1.0)


def bad_columns():
    """Duplicated columns, and columns of very different sizes."""
    X, y = dense_long()
    X = X[:100_000, :20]
    return np.hstack([X, X[:, :5], X[:, 5:10] * 1e3, X[:, 10:15] * 1e-3]), y[:100_000]


def zero_one():
    """3,845 rows of 1,617 zeros and ones, 9 % of them ones, in groups of similar columns: a table of categories."""
    rng = np.random.default_rng(0)
    n, d, groups = 3_845, 1_617, 40
    frequent = 0.18 * rng.random((groups, d)) ** 2 * 1.5
    X = (rng.random((n, d)) < frequent[rng.integers(0, groups, n)]).astype(np.float64)
    scores = X @ rng.normal(size=d)
    return sparse.csr_matrix(X), np.where(scores + 0.5 * scores.std() * rng.normal(size=n) > 0, 1.0, -1.0)


GENERATED: dict[str, Callable] = {
    "zero_one": zero_one,
    "dense_long": dense_long,
    "dense_wide": dense_wide,
    "text_like": text_like,
    "bad_columns": bad_columns,
}
