"""Accuracy against components: Nyström features by each kind of landmarks, Fourier features, and the kernel itself.

    python benchmarks/approximation.py [--data FOLDER] [--names ijcnn1,covtype50k,mnist10k] [--write FILE.md]

The sets are those of the kernel race (kernel/datasets.py), with γ = 10/d and C = 10; compiling is off the clock, making
the features is not. Every machine is certified to 1e-3.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "kernel"))

from datasets import load
from report import DATA, heading, publish, table

import maxmargin

COMPONENTS = (30, 100, 300, 1000)
WAYS = [("nystrom", way) for way in ("uniform", "leverage", "kmeans")] + [("fourier", "auto")]
SETTINGS = {"kernel": "gaussian", "C": 10.0, "tol": 1e-3}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default="ijcnn1,covtype50k,mnist10k")
    parser.add_argument("--write")
    options = parser.parse_args()
    title = heading(
        "Features in the place of a kernel", " ".join(["python benchmarks/approximation.py", *sys.argv[1:]])
    )
    sections = [section(name, options.data) for name in options.names.split(",")]
    publish("\n".join([title, __doc__.split("\n\n", 2)[2], *sections]), options.write)


def section(name: str, folder: Path) -> str:
    X, y, test, right = load(name, folder)
    gamma = 10.0 / X.shape[1]
    few = np.unique(np.linspace(0, len(y) - 1, 3500).astype(int))
    rows = []
    for approx, landmarks in WAYS:
        extra = {"approx": approx, "landmarks": landmarks, "gamma": gamma}
        maxmargin.train(X[few], y[few], components=30, **extra, **SETTINGS)
        cells = [measured(X, y, test, right, components=count, **extra) for count in COMPONENTS]
        rows.append([f"{approx} {landmarks}" if approx == "nystrom" else approx, *cells])
        print(name, *rows[-1], file=sys.stderr, flush=True)
    maxmargin.train(X[few], y[few], gamma=gamma, **SETTINGS)
    rows.append(["the kernel itself", *[""] * (len(COMPONENTS) - 1), measured(X, y, test, right, gamma=gamma)])
    shape = f"{len(y):,} rows, {X.shape[1]} features, {len(np.unique(y))} classes"
    about = f"{shape}; accuracy on {len(right):,} other rows, and seconds."
    return f"## {name}\n\n{about}\n\n" + table(["components", *map(str, COMPONENTS)], rows)


def measured(X, y, test, right, **settings) -> str:
    began = time.perf_counter()
    result = maxmargin.train(X, y, **settings, **SETTINGS)
    seconds = time.perf_counter() - began
    return f"{np.mean(result.model.predict(test) == right):.4f} ({seconds:.1f} s)"


if __name__ == "__main__":
    main()
