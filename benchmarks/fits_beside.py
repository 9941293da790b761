"""What whole fits cost, beside another version of maxmargin (see beside.py).

    python benchmarks/fits_beside.py --beside FOLDER [--data FOLDER] [--rounds 3] [--write FILE]

The problems of bench-certified, and a sample of bench-linear and bench-kernel: `solver="auto"`, tol = 1e-4, two
threads. Seconds are of training alone, after a fit that compiles. Large fits run once a round, small ones for a fifth
of a second. Streamed fits, `cached_loops` with a tenth of the file as memory, read text in LIBSVM format and go to a
gap of 1e-2 or eight epochs; one thread, so that both versions take the same steps.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from beside import main
from report import found

LINEAR = ["a9a", "w8a", "ijcnn1", "covtype.binary.scale", "reuters_money-fx", "20news.binary", "german.numer_scale"]
KERNEL = [("a9a", 8000), ("letter.scale", 5000), ("usps", 4000), ("svmguide1", 3089), ("w8a", 8000)]
STREAMED = ["covtype.binary.scale", "mnist"]  # of mnist, digits below 5 against the others
SHAPES = [(100, 5), (1000, 20), (200_000, 30)]
LOSSES = ("hinge", "squared_hinge", "logistic")
SECONDS = 0.2
STREAMED_EPOCHS = 8.0


def measured(data: Path):
    for name, X, y in inputs(data):
        for loss in LOSSES:
            for bias, C in (("none", 1.0), ("regularised", 1.0), ("free", 1.0), ("free", 100.0)):
                yield f"{name}, {loss}, {bias}, C = {C:g}", partial(time_of, X, y, loss=loss, bias=bias, C=C)
    for name, rows in KERNEL:
        if path := found(name, data):
            X, y = read(path)
            yield f"{name}, {rows} rows, gaussian", partial(time_of, X[:rows], y[:rows], kernel="gaussian")
    for name in STREAMED:
        if path := found(name, data):
            yield f"{name}, streamed", partial(time_of_stream, *read(path))


def inputs(data: Path):
    for n, d in SHAPES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        yield f"{n:,} x {d}", X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    for name in LINEAR:
        if path := found(name, data):
            yield name, *read(path)


def read(path: Path):
    import maxmargin

    return maxmargin.read(path)


def time_of_stream(X, y) -> float:
    import maxmargin

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.svm"
        maxmargin.write(file, X, np.where(y < 5, -1, 1) if len(np.unique(y)) > 2 else y)
        settings = {"solver": "cached_loops", "memory": file.stat().st_size // 10, "threads": 1, "tol": 1e-2}
        maxmargin.train(file, max_epochs=0.1, **settings)
        began = time.perf_counter()
        maxmargin.train(file, max_epochs=STREAMED_EPOCHS, **settings)
        return time.perf_counter() - began


def time_of(X, y, **settings) -> float:
    import maxmargin

    maxmargin.train(X, y, max_epochs=1, threads=2, **settings)
    best, ends = np.inf, time.perf_counter() + SECONDS
    while True:
        began = time.perf_counter()
        maxmargin.train(X, y, threads=2, max_seconds=20, **settings)
        best = min(best, time.perf_counter() - began)
        if time.perf_counter() > ends:
            return best


if __name__ == "__main__":
    main("What whole fits cost", measured)
