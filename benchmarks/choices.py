"""Whether auto chooses well: its time beside every other solver of maxmargin, and a path over C beside separate fits.

    python benchmarks/choices.py [--write FILE] [--names a,b] [--losses a,b] [--C 0.01,1,100] [--data FOLDER]
                                 [--only choices|paths]

Bias none, tolerance 1e-4. After a fit that compiles, the best of three fits with `auto`, or one if that takes seconds.
Every other solver then gets as long as `auto` took: one that is certified within that time is faster, and the table
says by how much; one that is not is slower. The second table is `maxmargin.path` over nine C from 0.01 to 100 beside
nine separate fits (hinge, data that take less than five seconds a fit).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "linear"))

from datasets import FILES, GENERATED, found, load
from report import DATA, heading, publish, table

import maxmargin

RIVALS = ("dual_coordinate", "second_order", "interior_point", "newton", "lbfgs")
CS = np.logspace(-2, 2, 9)
QUICK = 5.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write")
    parser.add_argument("--names", default=",".join([*FILES, *GENERATED]))
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--C", default="0.01,1,100")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", choices=("choices", "paths"))
    options = parser.parse_args()
    names = [name for name in options.names.split(",") if name in GENERATED or found(name, options.data)]
    rows, ratios, paths = [], [], []
    for name in names:
        X, y = load(name, options.data, Path(tempfile.gettempdir()) / "maxmargin-bench")
        for loss, C in product(options.losses.split(","), options.C.split(",")) if options.only != "paths" else ():
            cells, ratio = choice(X, y, loss, float(C))
            rows.append([name, loss, C, *cells])
            ratios.append(ratio)
            print(*rows[-1], file=sys.stderr, flush=True)
        if "hinge" in options.losses and options.only != "choices":
            paths.append([name, *path(X, y)])
            print(*paths[-1], file=sys.stderr, flush=True)
    right = sum(ratio <= 1.3 for ratio in ratios)
    text = heading("Choices", " ".join(["python benchmarks/choices.py", *sys.argv[1:]]), "scipy")
    text += f"\n{__doc__.split(chr(10) * 2)[2]}\n\nWithin 1.3 of the best: {right} of {len(ratios)}.\n\n"
    text += table(["data", "loss", "C", "auto takes", "seconds", "fastest other", "its seconds", "auto / best"], rows)
    text += "\n" + table(["data", "nine fits, s", "path, s", "path / fits"], paths)
    publish(text, options.write)


def choice(X, y, loss: str, C: float) -> tuple[list[str], float]:
    """What auto takes and its seconds; the fastest of the others, if it was faster."""
    chosen, seconds = best_of(X, y, "auto", loss, C, np.inf)
    others = {}
    for name in RIVALS:
        if name != chosen:
            taken = best_of(X, y, name, loss, C, seconds)[1]
            others[name] = taken
    fastest = min(others, key=others.get)
    if others[fastest] == np.inf:
        return [chosen, f"{seconds:.3f}", "none", "", "1.00"], 1.0
    ratio = max(seconds / others[fastest], 1.0)
    return [chosen, f"{seconds:.3f}", fastest, f"{others[fastest]:.3f}", f"{ratio:.2f}"], ratio


def best_of(X, y, solver: str, loss: str, C: float, limit: float) -> tuple[str, float]:
    """The solver, and the best of a few times; ∞ if it refuses, or is not certified within the limit."""
    compiled = few(y)
    same = {"loss": loss, "bias": "none", "C": C}
    seconds: list[float] = []
    try:
        maxmargin.train(X[compiled], y[compiled], solver=solver, max_epochs=20, **same)
        if solver == "auto":
            solver = maxmargin.train(X, y, max_epochs=1, **same).solver
            maxmargin.train(X[compiled], y[compiled], solver=solver, max_epochs=20, **same)
        while len(seconds) < 3 and sum(seconds) < QUICK:
            began = time.perf_counter()
            result = maxmargin.train(X, y, solver=solver, max_seconds=limit if limit < np.inf else None, **same)
            seconds.append(time.perf_counter() - began)
            if result.status is not maxmargin.Status.CONVERGED:
                return solver, np.inf
    except maxmargin.RefusedError:
        return solver, np.inf
    return solver, min(seconds)


def few(y: np.ndarray) -> np.ndarray:
    """Some of either class, to compile with."""
    return np.concatenate([np.flatnonzero(y > 0)[:300], np.flatnonzero(y < 0)[:300]])


def path(X, y) -> list[str]:
    """Nine fits one by one, and as a path; the best of two each."""
    fits, paths = [], []
    for _ in range(2):
        began = time.perf_counter()
        for C in CS:
            maxmargin.train(X, y, C=C, bias="none")
            if time.perf_counter() - began > QUICK * len(CS):
                return ["too long", "", ""]
        fits.append(time.perf_counter() - began)
        began = time.perf_counter()
        maxmargin.path(X, y, Cs=CS, bias="none")
        paths.append(time.perf_counter() - began)
    return [f"{min(fits):.2f}", f"{min(paths):.2f}", f"{min(paths) / min(fits):.2f}"]


if __name__ == "__main__":
    main()
