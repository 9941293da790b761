"""What a bias costs: training with a free and with a regularised bias beside training without.

    python benchmarks/bias.py [--write FILE] [--names a,b] [--losses a,b] [--data FOLDER]

C = 1, tolerance 1e-4, solver auto. After a fit of each that compiles, the three take turns five times, or until ten
seconds are over; seconds are the best of each.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "linear"))

from datasets import FILES, GENERATED, found, load
from report import DATA, heading, publish, table

import maxmargin

BIASES = ("none", "regularised", "free")
REPEATS = 5
LONG = 10.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write")
    parser.add_argument("--names", default=",".join([*FILES, *GENERATED]))
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    rows, ratios = [], []
    for name in options.names.split(","):
        if name in FILES and not found(name, options.data):
            continue
        X, y = load(name, options.data, Path(tempfile.gettempdir()) / "maxmargin-bench")
        for loss in options.losses.split(","):
            cells, ratio = compared(X, y, loss)
            rows.append([name, loss, *cells])
            ratios.append(ratio)
            print(*rows[-1], file=sys.stderr, flush=True)
    text = heading("Bias", " ".join(["python benchmarks/bias.py", *sys.argv[1:]]), "scipy")
    within, mean = sum(ratio <= 1.3 for ratio in ratios), np.exp(np.mean(np.log(ratios)))
    text += f"\n{__doc__.split(chr(10) * 2)[2]}\n\nFree / none: within 1.3 on {within} of {len(ratios)}, "
    text += f"geometric mean {mean:.2f}.\n\n"
    text += table(
        ["data", "loss", "solver with a free bias", "none, s", "regularised, s", "free, s", "free / none"], rows
    )
    publish(text, options.write)


def compared(X, y, loss: str) -> tuple[list[str], float]:
    """The solver that a free bias takes, the seconds of each bias, and their ratio."""
    seconds: dict[str, list[float]] = {bias: [] for bias in BIASES}
    fit = {bias: maxmargin.train(X, y, loss=loss, bias=bias) for bias in BIASES}
    began = time.perf_counter()
    while len(seconds["none"]) < REPEATS and time.perf_counter() - began < LONG:
        for bias in BIASES:
            start = time.perf_counter()
            maxmargin.train(X, y, loss=loss, bias=bias)
            seconds[bias].append(time.perf_counter() - start)
    best = {bias: min(values) for bias, values in seconds.items()}
    ratio = best["free"] / best["none"]
    solver = fit["free"].solver + ("" if fit["none"].solver == fit["free"].solver else f" (none: {fit['none'].solver})")
    return [solver, *(f"{best[bias]:.3f}" for bias in BIASES), f"{ratio:.2f}"], ratio


if __name__ == "__main__":
    main()
