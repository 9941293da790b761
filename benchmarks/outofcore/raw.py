"""Files whose columns nobody scaled: training from disk beside training in memory and beside reading as often.

    python benchmarks/outofcore/raw.py [--names covtype.binary,mnist,...] [--losses hinge,squared_hinge] [--data FOLDER]
                                       [--write FILE.md]

`auto` from disk with a tenth of the file as memory, or the least in which the matrices of the features fit; files below
1 MB by `cached_loops`, since `auto` reads them into memory. Bias free, C = 1, tolerances 1e-3 and 1e-5. Then `auto` in
memory on the same rows, and one reading of the file, times the number of passes. Everything is run once before it is
measured. `time / larger` divides the seconds from disk by the larger of reading times passes and training in memory.
mnist is even against odd.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, found, heading, publish, table

import maxmargin
from maxmargin.data.open_source import open_source
from maxmargin.system.budget import LEAST, Budget
from maxmargin.training.file_passes import MATRICES

NAMES = "covtype.binary,kddcup99_10pct.scale,madelon.all,australian,breast-cancer,svmguide1,mnist,covtype.multiclass"
LIMIT = 120.0
MEMORY_FOR_SURE = 1 << 20
HEADS = [
    "data", "loss", "tol", "memory, MB", "from disk by", "status", "seconds", "passes", "certified gap",
    "reading x passes, s", "in memory by", "its seconds", "time / larger",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--losses", default="hinge,squared_hinge")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names.split(","):
            if (source := found(name, options.data)) is None:
                print(f"{name}: not in {options.data}, left out", file=sys.stderr)
                continue
            path = unpacked(source, Path(folder) / name, name)
            for loss, tol in product(options.losses.split(","), (1e-3, 1e-5)):
                rows.append([name, loss, f"{tol:g}", *measured(path, loss, tol)])
                print(*rows[-1], file=sys.stderr, flush=True)
                if options.write:  # what is measured so far is kept if the run is interrupted
                    Path(options.write).write_text(report(rows))
    publish(report(rows), options.write)


def report(rows: list[list[str]]) -> str:
    """Return the page."""
    text = heading("Raw files larger than memory", " ".join(["python benchmarks/outofcore/raw.py", *sys.argv[1:]]))
    return text + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n" + table(HEADS, rows)


def unpacked(source: Path, path: Path, name: str) -> Path:
    """Write the file as plain text; mnist with the labels odd and even."""
    path.write_bytes(lzma.decompress(source.read_bytes()) if source.suffix == ".xz" else source.read_bytes())
    if name == "mnist":
        X, y = maxmargin.read(path)
        maxmargin.write(path, X, np.asarray(y) % 2, force=True)
    return path


def measured(path: Path, loss: str, tol: float) -> list[str]:
    """Train from disk and in memory, and read."""
    X, y = maxmargin.read(path)
    memory = max(path.stat().st_size // 10, LEAST, int(1.1 * MATRICES * 8 * (X.shape[1] + 1) ** 2))
    same = {"loss": loss, "tol": tol, "max_seconds": LIMIT}
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        memory, disk = smallest(path, memory, same)
        seconds.append(time.perf_counter() - began)
    maxmargin.train(X, y, **same)
    whole = maxmargin.train(X, y, **same)
    reading = min(read_once(path, memory) for _ in range(2)) * disk.model.training["passes"]
    ratio = min(seconds) / max(reading, whole.seconds)
    return [
        f"{memory / 1e6:.1f}", disk.solver, disk.status.value, f"{min(seconds):.2f}",
        str(disk.model.training["passes"]), f"{disk.certificate.relative_gap:.1e}", f"{reading:.2f}", whole.solver,
        f"{whole.seconds:.2f}", f"{ratio:.2f}",
    ]  # fmt: skip


def smallest(path: Path, memory: int, same: dict) -> tuple[int, maxmargin.Result]:
    """Train from disk with this much memory, or with the least that works."""
    small = path.stat().st_size < MEMORY_FOR_SURE  # auto would read it into memory
    solver = "cached_loops" if small else "auto"
    while True:
        try:
            return memory, maxmargin.train(path, solver=solver, memory=memory, **same)
        except maxmargin.ParameterError:
            memory = int(1.25 * memory)


def read_once(path: Path, memory: int) -> float:
    """Return the seconds of one reading."""
    began = time.perf_counter()
    for _ in open_source(path, capacity=Budget(memory).block, threads=2).blocks():
        pass
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
