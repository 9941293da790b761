"""Linear training beside its peers: the time until P is within 1e-3, 1e-4 and 1e-6 of the certified optimum.

    python benchmarks/linear/run.py [--data FOLDER] [--names a,b] [--C 0.01,1,100] [--losses hinge] [--write FILE]

Every contender runs in a process of its own, one after the other, with two threads; loading and compiling are off the
clock. Peers stop by rules of their own, so each is run at several tolerances, and its time for a level is the shortest
run that reached it; a peer is asked for no more once a run has taken longer than the limit. Bias none. The optimum is
certified by maxmargin to 1e-8. Where a cell is empty, no run reached that level.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from contenders import CONTENDERS, LIMIT
from datasets import FILES, GENERATED, load
from report import DATA, heading, publish, table

LEVELS = (1e-3, 1e-4, 1e-6)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default=",".join([*FILES, *GENERATED]))
    parser.add_argument("--C", default="0.01,1,100")
    parser.add_argument("--losses", default="hinge")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--write")
    parser.add_argument("--one", nargs=5, metavar=("DATA", "LOSS", "BIAS", "C", "CONTENDER"))
    options = parser.parse_args()
    if options.one:
        one(options.data, *options.one)
        return
    rows = []
    for name in options.names.split(","):
        if name not in GENERATED and not (options.data / f"{name}.xz").exists():
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
            continue
        for loss in options.losses.split(","):
            for C in options.C.split(","):
                rows += compared(options, name, loss, C)
    columns = ["data", "loss", "C", "contender", *(f"{level:g}" for level in LEVELS), "best reached"]
    given = [word for word in sys.argv[1:] if word not in ("--write", options.write)]
    command = " ".join(["python benchmarks/linear/run.py", *given])
    text = heading("Linear training", command, "scikit-learn", "liblinear-official")
    publish(text + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n" + table(columns, rows), options.write)


def compared(options, name: str, loss: str, C: str) -> list[list[str]]:
    """The rows of one problem: seconds to each level, for each contender."""
    runs = {who: in_own_process(options.data, name, loss, C, who) for who in options.contenders.split(",")}
    best = in_own_process(options.data, name, loss, C, "optimum")[0]["bound"]
    rows = []
    for who, found in runs.items():
        above = [(run["seconds"], run["primal"] / best - 1.0) for run in found]
        cells = [min((f"{s:.3f}" for s, a in above if a <= level), default="", key=float) for level in LEVELS]
        reached = f"{max(min((a for _, a in above), default=np.inf), 0.0):.1e}"
        rows.append([name, loss, C, who, *cells, reached])
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def in_own_process(folder: Path, name: str, loss: str, C: str, who: str) -> list[dict]:
    """Run one contender; what it printed before the end, or before it was stopped."""
    command = [sys.executable, __file__, "--data", str(folder), "--one", name, loss, "none", C, who]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5 * LIMIT, check=False).stdout
    except subprocess.TimeoutExpired as late:
        done = (late.stdout or b"").decode()
    return [json.loads(line) for line in done.splitlines() if line.startswith("{")]


def one(folder: Path, name: str, loss: str, bias: str, C: str, who: str) -> None:
    """One contender on one problem: a line of JSON for each tolerance."""
    X, y = load(name, folder)
    if who == "optimum":
        import maxmargin

        result = maxmargin.train(X, y, loss=loss, bias=bias, C=float(C), tol=1e-8, max_seconds=4 * LIMIT)
        print(json.dumps({"bound": result.certificate.dual}), flush=True)
        return
    contender = CONTENDERS[who]
    fit = contender.prepare(X, y, loss, bias, float(C))
    for tol in contender.tolerances:
        began = time.perf_counter()
        w, b = fit(tol)
        seconds = time.perf_counter() - began
        print(json.dumps({"tol": tol, "seconds": seconds, "primal": primal(X, y, loss, float(C), w, b)}), flush=True)
        if seconds > LIMIT:
            break


def primal(X, y, loss: str, C: float, w: np.ndarray, b: float) -> float:
    """The objective of bias none, without any code of the contenders."""
    m = y * (X @ w + b)
    losses = {
        "hinge": lambda: np.maximum(0.0, 1.0 - m),
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - m) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -m),
    }[loss]()
    return float(0.5 * w @ w + C * losses.sum())


if __name__ == "__main__":
    main()
