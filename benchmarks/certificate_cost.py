"""What one certificate costs, beside another version of maxmargin.

    python benchmarks/certificate_cost.py --beside FOLDER [--data FOLDER] [--rounds 5] [--write FILE]

FOLDER is a checkout of the other version (git worktree add FOLDER REVISION). Both versions certify the same points in
processes of their own, which take turns; the best time of all rounds counts. Compiling is off the clock.
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
from report import DATA, ROOT, found, heading, publish, table

SECONDS = 0.3  # for one case in one round
SHAPES = [(50, 4), (200, 5), (1000, 20), (2000, 2000), (500_000, 54)]
FILES = ["a9a", "w8a", "ijcnn1", "20news.binary"]
KERNELS = [("gaussian", 200, 5), ("polynomial", 200, 5), ("gaussian", 2000, 20)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.data)))
        return
    if options.beside is None:
        raise SystemExit("--beside: name a checkout of the version to compare with")
    ours, theirs = {}, {}
    for _ in range(options.rounds):
        for folder, best in ((ROOT, ours), (options.beside, theirs)):
            for case, seconds in seconds_of(folder, options.data).items():
                best[case] = min(seconds, best.get(case, np.inf))
    rows = [[case, micro(theirs[case]), micro(ours[case]), f"{ours[case] / theirs[case]:.2f}"] for case in ours]
    mean = np.exp(np.mean([np.log(ours[case] / theirs[case]) for case in ours]))
    text = heading("What one certificate costs", "python benchmarks/certificate_cost.py --beside FOLDER")
    text += f"\nBeside commit {commit(options.beside)}, 2 threads. Geometric mean of the ratios: {mean:.2f}.\n\n"
    publish(text + table(["case", "before, µs", "now, µs", "now / before"], rows), options.write)


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f}"


def commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def seconds_of(folder: Path, data: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, __file__, "--one", "--data", str(data)]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def measured(data: Path) -> dict[str, float]:
    return {**dict(linear(data)), **dict(with_kernel())}


def linear(data: Path):
    from maxmargin.certificate import Point, certify
    from maxmargin.problem import pose
    from maxmargin.rows.take import take

    for name, X, y in inputs(data):
        for loss in ("hinge", "logistic"):
            problem = pose(take(X), y, loss=loss, threads=2)
            rng = np.random.default_rng(1)
            alpha, w = rng.uniform(size=problem.n), 0.1 * rng.normal(size=problem.d)
            for kind, point in (("dual", Point(alpha=alpha)), ("both", Point(w, 0.0, alpha))):
                yield f"{name}, {loss}, {kind}", best_time(lambda p=problem, q=point: certify(p, q))


def inputs(data: Path):
    import maxmargin

    for n, d in SHAPES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        yield f"{n:,} x {d}", X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    for name in FILES:
        if path := found(name, data):
            X, y = maxmargin.read(path)
            yield name, X, np.where(y == np.unique(y)[1], 1.0, -1.0)


def with_kernel():
    from maxmargin.certificate import Point
    from maxmargin.kernel_certificate import certify_kernel
    from maxmargin.kernel_problem import KernelProblem
    from maxmargin.kernels import find_kernel
    from maxmargin.machines import c_svc
    from maxmargin.rows.take import take

    for name, n, d in KERNELS:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
        problem = KernelProblem(take(X), find_kernel(name, take(X)), c_svc(y, np.ones(n)), threads=2)
        point = Point(alpha=y * rng.uniform(size=n))
        yield f"{name}, {n:,} x {d}", best_time(lambda p=problem, q=point: certify_kernel(p, q))


def best_time(work) -> float:
    work()
    best, ends = np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main()
