"""A step costs the nonzeros of its row: the same rows among 10⁴ and among 10⁷ features.

    python benchmarks/step_cost.py [--write FILE]

100,000 sparse rows of 30 values in the first 10⁴ columns; only the number of columns differs, so all that could make a
difference is work on all of w. Nanoseconds a visit, in `advance` alone, after a warm-up: the best of several sweeps,
the two sizes in turn.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from report import heading, publish, table
from scipy import sparse

from maxmargin.data.take import take
from maxmargin.problems.linear import pose
from maxmargin.solvers import SOLVERS

SIZES = (10_000, 10_000_000)
ROWS, PER_ROW, SWEEPS = 100_000, 30, 7
STEPPERS = ["sgd", "pegasos", "implicit", "adaptive", "perceptron", "dual_coordinate", "dual_pairs", "smo_simple"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write")
    options = parser.parse_args()
    rows = [row(name) for name in STEPPERS]
    text = heading("What a step costs", "make bench-step_cost", "scipy") + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n"
    publish(text + table(["solver", "d = 10⁴, ns", "d = 10⁷, ns", "ratio"], rows), options.write)


def row(name: str) -> list[str]:
    solver, best = SOLVERS[name], dict.fromkeys(SIZES, np.inf)
    problems = {d: problem(d, "free" if name in ("dual_pairs", "smo_simple") else "none") for d in SIZES}
    states = {d: solver.start(problems[d]) for d in SIZES}
    rng = np.random.default_rng(0)
    for sweep in range(SWEEPS + 1):
        for d in SIZES:
            before = states[d].visited
            began = time.perf_counter()
            while states[d].visited < before + ROWS:
                solver.advance(problems[d], states[d], rng)
            taken = (time.perf_counter() - began) / (states[d].visited - before)
            if sweep:
                best[d] = min(best[d], taken)
    small, large = (1e9 * best[d] for d in SIZES)
    return [name, f"{small:.0f}", f"{large:.0f}", f"{large / small:.2f}"]


def problem(d: int, bias: str):
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, SIZES[0], size=(ROWS, PER_ROW)), axis=1)
    X = sparse.csr_array((rng.normal(size=ROWS * PER_ROW), columns.ravel(), np.arange(ROWS + 1) * PER_ROW), (ROWS, d))
    X.sum_duplicates()
    y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    return pose(take(X), y, bias=bias, C=0.01)


if __name__ == "__main__":
    main()
