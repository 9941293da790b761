"""How linear training scales: with threads, in memory, with the number of examples and of features.

    python benchmarks/scaling.py [--write FILE]

Hinge, C = 1, bias none, tolerance 1e-4, solver auto; generated data. Every fit runs in a process of its own after a
first fit there that compiles; seconds are the best of five. One thread and two take turns, three processes each, and
the best of each counts; one thread means one for BLAS as well. Memory is the peak of the process while it trains, less
what it held before, the data among it, as a part of the data's size.
Exponents are fitted to seconds against n or d on log-log axes; 1 is proportional.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "linear"))

from datasets import dense_long, text_like
from report import heading, publish, table

REPEATS = 5
TURNS = 3
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write")
    parser.add_argument("--one", nargs=4, metavar=("SHAPE", "N", "D", "THREADS"))
    options = parser.parse_args()
    if options.one:
        one(options.one[0], *(int(word) for word in options.one[1:]))
        return
    text = heading("Scaling", "python benchmarks/scaling.py", "scipy")
    publish(text + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n" + threads() + "\n" + growth(), options.write)


def threads() -> str:
    """One thread against two, and the memory of the run with two."""
    rows = []
    for shape, n, d in (("dense", 500_000, 54), ("sparse", 200_000, 50_000)):
        runs = [[apart(shape, n, d, count) for count in (1, 2)] for _ in range(TURNS)]
        single, double = (min(both, key=lambda run: run["seconds"]) for both in zip(*runs, strict=True))
        rows.append(
            [
                f"{shape} {n:,}×{d:,}", double["solver"], f"{single['seconds']:.3f}", f"{double['seconds']:.3f}",
                f"{single['seconds'] / double['seconds']:.2f}", f"{double['beyond']:.2f}",
            ]
        )  # fmt: skip
    return table(["data", "solver", "1 thread, s", "2 threads, s", "ratio", "memory beyond the data, × the data"], rows)


def growth() -> str:
    """Seconds against n and d, with the exponent."""
    rows = []
    for what, shape, sizes in (
        ("n", "dense", [(n, 54) for n in (31_250, 62_500, 125_000, 250_000, 500_000)]),
        ("n", "sparse", [(n, 50_000) for n in (12_500, 25_000, 50_000, 100_000, 200_000)]),
        ("d", "dense", [(100_000, d) for d in (12, 25, 50, 100, 200)]),
    ):
        seconds = [apart(shape, n, d, 2)["seconds"] for n, d in sizes]
        varied = [n if what == "n" else d for n, d in sizes]
        exponent = np.polyfit(np.log(varied), np.log(seconds), 1)[0]
        cells = ", ".join(f"{size:,}: {value:.3f}" for size, value in zip(varied, seconds, strict=True))
        rows.append([f"{shape}, {what}", cells, f"{exponent:.2f}"])
    return table(["varied", "seconds", "exponent"], rows)


def apart(shape: str, n: int, d: int, count: int) -> dict:
    """One measurement, in its own process."""
    command = [sys.executable, __file__, "--one", shape, str(n), str(d), str(count)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | dict.fromkeys(THREADS, str(count))
    )
    print(shape, n, d, count, done.stdout.strip(), file=sys.stderr, flush=True)
    return json.loads(done.stdout)


def one(shape: str, n: int, d: int, count: int) -> None:
    """Train and print what it took."""
    import maxmargin

    X, y = data(shape, n, d)
    size = X.nbytes if shape == "dense" else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    maxmargin.train(X[:2000], y[:2000], bias="none", threads=count)
    maxmargin.train(X[:20_000], y[:20_000], bias="none", threads=count, max_epochs=3)
    forget_peak()
    before, best = held("VmRSS"), np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        result = maxmargin.train(X, y, bias="none", threads=count)
        best = min(best, time.perf_counter() - began)
    assert result.certificate.relative_gap <= 1e-4
    print(json.dumps({"seconds": best, "solver": result.solver, "beyond": (held("VmHWM") - before) / size}))


def data(shape: str, n: int, d: int):
    """The first n examples of the race's data; other numbers of features are drawn in the same way."""
    if shape == "sparse":
        X, y = text_like()
        return X[:n].copy(), y[:n].copy()
    if d == 54:
        X, y = dense_long()
        return X[:n].copy(), y[:n].copy()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + 0.4 * np.sqrt(d) * rng.normal(size=n) > 0, 1.0, -1.0)


def forget_peak() -> None:
    """Let the most memory held count from now on (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def held(name: str) -> float:
    """Bytes of memory: VmRSS now, VmHWM at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) * 1024.0 for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
