"""What one certificate costs, beside another version of maxmargin (see beside.py).

    python benchmarks/certificate_cost.py --beside FOLDER [--data FOLDER] [--rounds 3] [--write FILE]

Both versions certify the same points, random ones. Compiling is off the clock. The other version must have the modules
of this one: it imports them (version 0.1 had other names).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from beside import main
from report import found

SECONDS = 0.3  # for one case in one round
SHAPES = [(50, 4), (200, 5), (1000, 20), (2000, 2000), (500_000, 54)]
FILES = ["a9a", "w8a", "ijcnn1", "20news.binary"]
KERNELS = [("gaussian", 200, 5), ("polynomial", 200, 5), ("gaussian", 2000, 20)]


def measured(data: Path):
    yield from linear(data)
    yield from with_kernel()


def linear(data: Path):
    from maxmargin.data.take import take
    from maxmargin.problems.certificate import Point, certify
    from maxmargin.problems.linear import pose

    for name, X, y in inputs(data):
        for loss in ("hinge", "logistic"):
            problem = pose(take(X), y, loss=loss, threads=2)
            rng = np.random.default_rng(1)
            alpha, w = rng.uniform(size=problem.n), 0.1 * rng.normal(size=problem.d)
            for kind, point in (("dual", Point(alpha=alpha)), ("both", Point(w, 0.0, alpha))):
                yield f"{name}, {loss}, {kind}", lambda p=problem, q=point: best_time(lambda: certify(p, q))


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
    from maxmargin.data.take import take
    from maxmargin.kernels.functions import find_kernel
    from maxmargin.problems.certificate import Point
    from maxmargin.problems.formulations import c_svc
    from maxmargin.problems.kernel import KernelProblem
    from maxmargin.problems.kernel_certificate import certify_kernel

    for name, n, d in KERNELS:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
        problem = KernelProblem(take(X), find_kernel(name, take(X)), c_svc(y, np.ones(n)), threads=2)
        point = Point(alpha=y * rng.uniform(size=n))
        yield f"{name}, {n:,} x {d}", lambda p=problem, q=point: best_time(lambda: certify_kernel(p, q))


def best_time(work) -> float:
    work()
    best, ends = np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main("What one certificate costs", measured)
