"""How fast text is read: maxmargin beside scikit-learn, on the same files, in the same run.

    python benchmarks/reading.py [--data FOLDER] [--write FILE]

Files are LIBSVM text compressed with xz; each is unpacked to a temporary folder and cut behind the first 24 MB, so
that a run takes about a minute. One more file is generated. The readers take turns; the table shows the median. What
is read must be equal, bit for bit. Compiling is timed apart, in a process of its own.
"""

from __future__ import annotations

import argparse
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import DATA, heading, publish, table
from sklearn.datasets import load_svmlight_file

from maxmargin.data.text.read import read_text

NAMES = ("a9a", "covtype.binary.scale", "mnist", "20news.binary", "reuters_money-fx", "url_2000")
LARGEST = 24_000_000
ROUNDS = 5

READERS = {
    "scikit-learn": lambda path: load_svmlight_file(str(path)),
    "1 thread": lambda path: read_text(path, threads=1),
    "2 threads": lambda path: read_text(path, threads=2),
}

FIRST_READ = """
import sys, time
from maxmargin.data.text.read import read_text
start = time.perf_counter()
read_text(sys.argv[1], threads=1)
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how fast text is read.")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with NAME.xz files")
    parser.add_argument("--write", help="write the table to this file, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [*unpacked(options.data, Path(folder)), generated(Path(folder))]
        rows = [measured(path) for path in paths]
        first = compiling(paths[0], Path(folder))
    text = heading("Reading LIBSVM text", "make bench-reading", "scikit-learn")
    text += f"\nMB/s, median of {ROUNDS} alternating runs; what is read is equal bit for bit. {first}\n\n"
    columns = ["file", "MB", *READERS, "1 thread / scikit-learn"]
    publish(text + table(columns, rows), options.write)


def unpacked(source: Path, folder: Path) -> list[Path]:
    """The first lines of each data set that is there."""
    paths = []
    for name in NAMES:
        if (source / f"{name}.xz").exists():
            with lzma.open(source / f"{name}.xz") as file:
                text = file.read(LARGEST)
            (folder / name).write_bytes(text[: text.rindex(b"\n") + 1])
            paths.append(folder / name)
    return paths


def generated(folder: Path, n: int = 20_000, d: int = 5_000, pairs: int = 60) -> Path:
    rng = np.random.default_rng(0)
    path = folder / "generated"
    with path.open("w") as file:
        for _ in range(n):
            columns = np.unique(rng.integers(1, d, pairs)).tolist()
            values = rng.standard_normal(len(columns)).tolist()
            row = " ".join(f"{j}:{x:.6g}" for j, x in zip(columns, values, strict=True))
            file.write(f"{rng.integers(2)} {row}\n")
    return path


def measured(path: Path) -> list[str]:
    (X, y), (rows, labels) = load_svmlight_file(str(path)), read_text(path)
    assert np.array_equal(X.data.view(np.int64), rows.values.view(np.int64)), path
    assert np.array_equal(X.indices, rows.indices), path
    assert np.array_equal(X.indptr, rows.indptr), path
    assert np.array_equal(y, labels), path
    seconds: dict[str, list[float]] = {name: [] for name in READERS}
    for _ in range(ROUNDS):
        for name, reader in READERS.items():
            start = time.perf_counter()
            reader(path)
            seconds[name].append(time.perf_counter() - start)
    size = path.stat().st_size / 1e6
    theirs, one, two = (size / statistics.median(seconds[name]) for name in READERS)
    return [path.name, f"{size:.1f}", f"{theirs:.0f}", f"{one:.0f}", f"{two:.0f}", f"{one / theirs:.1f}×"]


def compiling(path: Path, folder: Path) -> str:
    """How long the first read takes in a new process, before and after its machine code is kept."""
    few = folder / "few.svm"
    few.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:100]))
    environment = {**os.environ, "MAXMARGIN_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", FIRST_READ, str(few)]
    cold, warm = (
        float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
        for _ in range(2)
    )
    return f"First read of 100 lines in a new process: {cold:.1f} s with compiling, {warm:.1f} s from then on."


if __name__ == "__main__":
    main()
