"""The data of the kernel race: LIBSVM files of a folder, scaled and cut, and a generated set. Always a test part."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import maxmargin

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import found

TESTED = 5000  # rows, at most


class Set(NamedTuple):
    """A file, how many rows of it to train on, what its values are divided by, and whether it is kept sparse."""

    file: str
    rows: int | None = None
    scale: float = 1.0
    sparse: bool = False


SETS = {
    "a9a": Set("a9a", sparse=True),
    "w8a": Set("w8a", sparse=True),
    "ijcnn1": Set("ijcnn1"),
    "usps": Set("usps"),
    "letter": Set("letter.scale"),
    "mnist10k": Set("mnist", 10_000, 255.0),
    "mnist60k": Set("mnist", None, 255.0),
    "covtype50k": Set("covtype.binary.scale", 50_000),
    "flipped": Set(""),
}


def load(name: str, folder: Path):
    """X, y, and rows to predict with their labels.

    Those are of the file's own test part, or what comes behind the rows that are trained on; without either, the last
    fifth, which is then not trained on.
    """
    chosen = SETS[name]
    if name == "flipped":
        return flipped()
    X, y = read(chosen, folder, chosen.file)
    if found(f"{chosen.file}.t", folder):
        test = read(chosen, folder, f"{chosen.file}.t", X.shape[1])
        X, y = X[: chosen.rows], y[: chosen.rows]
    else:
        rows = chosen.rows or len(y) * 4 // 5
        test = X[rows:], y[rows:]
        X, y = X[:rows], y[:rows]
    return X, y, test[0][:TESTED], test[1][:TESTED]


def read(chosen: Set, folder: Path, name: str, d: int | None = None):
    X, y = maxmargin.read(found(name, folder), d=d)
    X = sparse.csr_matrix(X) / chosen.scale
    return (X if chosen.sparse else X.toarray()), y


def flipped():
    """8,000 × 50, a curved boundary, one label in ten flipped; 2,000 rows more to predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 50))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 > 0, 1, -1)
    y = np.where(rng.random(len(y)) < 0.1, -y, y)
    return X[:8000], y[:8000], X[8000:], y[8000:]
