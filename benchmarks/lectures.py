"""What lectures say about training support vector machines, measured.

    python benchmarks/lectures.py [--data FOLDER] [--write FILE]

Generated data, one thread, fixed seeds; compiled before the clock starts. "Above" is (P − P*) / P*, where P* is
certified to 1e-7 by the dual solver. The last section needs covtype.binary.scale.xz in the data folder, and is left out
without it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from report import DATA, heading, publish, table

import maxmargin
from maxmargin.data.take import take
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import certify
from maxmargin.problems.linear import Problem, pose
from maxmargin.solvers import base, find_solver

REPEATS = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write")
    options = parser.parse_args()
    sections = [rough_answers, schedules, outputs, implicit_steps, high_accuracy, margins]
    text = heading("What the lectures say, measured", "make bench-lectures", "scipy")
    text += f"\n{__doc__.split(chr(10) * 2)[2]}\n"
    for section in sections:
        text += f"\n{section()}"
    file = options.data / "covtype.binary.scale.xz"
    if file.exists():
        text += f"\n{covtype(file)}"
    publish(text, options.write)


def noisy(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with a boundary that noise blurs; rows of length about 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def posed(X, y, **options) -> Problem:
    return pose(take(X), y, **{"bias": "none", **options})


def optimum(problem: Problem) -> float:
    return solve(problem, find_solver("dual_coordinate"), Limits(tol=1e-7)).certificate.dual


def curve(problem: Problem, name: str, options=None, level: float = 0.0, **limits) -> list:
    """(seconds, epochs, P of that moment, gap of the best so far) at each certificate, after a run that compiles.

    A run ends when P has come down to the level.
    """
    solver = find_solver(name, options)
    solve(problem, solver, Limits(tol=1e-30, max_epochs=1))
    points = []
    solve(
        problem, solver, Limits(**{"tol": 1e-30, **limits}),
        callback=lambda record: record.certificate.primal <= level,
        watch=lambda record, _: points.append(
            (record.seconds, record.epochs, record.certificate.primal, record.best.relative_gap)
        ),
    )  # fmt: skip
    return points


def first(points, column: int, level: float) -> str:
    """The seconds at which a column came down to a level."""
    return next((f"{point[0]:.3g}" for point in points if point[column] <= level), "–")


def rough_answers() -> str:
    """SGD reaches a rough answer in a time that does not grow with n, while that of batch methods does."""
    rows = []
    for n in (10_000, 40_000, 160_000, 640_000):
        problem = posed(*noisy(n, 50), lam=1e-3)
        level = 1.05 * optimum(problem)
        steps, seconds = steps_of_sgd(problem, level)
        batch = [
            first(curve(problem, name, level=level, max_seconds=60.0), 2, level)
            for name in ("gradient_descent", "dual_coordinate")
        ]
        rows.append([f"{n:,}", f"{steps:,}", f"{1e3 * seconds:.1f}", *(milliseconds(cell) for cell in batch)])
    columns = ["n", "SGD steps", "SGD, ms", "gradient_descent, ms", "dual_coordinate, ms"]
    return (
        "## A rough answer, as n grows\n\nHinge, λ = 0.001, d = 50: until P is 5 % above its optimum. SGD draws at "
        "random, and its time is of its steps; the objective is looked at off the clock, after 1000 steps and whenever "
        "they have grown by a quarter.\n\n" + table(columns, rows)
    )


def milliseconds(seconds: str) -> str:
    return f"{1e3 * float(seconds):.1f}" if seconds != "–" else seconds


def steps_of_sgd(problem: Problem, level: float) -> tuple[int, float]:
    """How many steps, and the time in them: the median run of several."""
    solver, found = find_solver("sgd", {"sampling": "uniform"}), []
    work, base.WORK = base.WORK, 1000 * (problem.d + base.ROW)
    for seed in range(2 * REPEATS + 1):
        state, rng = solver.start(problem), np.random.default_rng(seed)
        solver.advance(problem, solver.start(problem), np.random.default_rng(seed))
        seconds, look = 0.0, 1000
        while True:
            began = time.perf_counter()
            solver.advance(problem, state, rng)
            seconds += time.perf_counter() - began
            if state.visited >= look:
                look = 1.25 * state.visited
                if certify(problem, solver.point(problem, state)).certificate.primal <= level:
                    break
        found.append((seconds, state.visited))
    base.WORK = work
    seconds, steps = sorted(found)[len(found) // 2]
    return steps, seconds


def above(problem: Problem, best: float, name: str, options, epochs) -> list[str]:
    """(P − P*) / P* after so many epochs, the median over several seeds."""
    columns = []
    for seed in range(REPEATS):
        at = {}
        solve(
            problem, find_solver(name, options), Limits(tol=1e-30, max_epochs=max(epochs)), seed=seed,
            watch=lambda record, found, at=at: at.setdefault(round(record.epochs), record.certificate.primal),
        )  # fmt: skip
        columns.append([at[max(e for e in at if e <= epoch)] for epoch in epochs])
    return [f"{value:.1e}" for value in np.median(columns, axis=0) / best - 1]


def schedules() -> str:
    problem = posed(*noisy(20_000, 50), lam=1e-4)
    best, epochs = optimum(problem), (1, 3, 10, 30, 100)
    tried = [("1/t", 1.0)] + [
        (name, step)
        for name, steps in (
            ("over_t", (10.0, 100.0)), ("over_t_C", (1e-3, 1e-2)), ("over_sqrt_t", (1e-3, 1e-2)),
            ("constant", (1e-5, 1e-4)),
        )
        for step in steps
    ]  # fmt: skip
    rows = [
        [named(name, step), *above(problem, best, "sgd", {"schedule": name, "step": step}, epochs)]
        for name, step in tried
    ]
    return (
        "## Schedules of SGD\n\nHinge, n = 20,000, d = 50, λ = 0.0001: how far P is above its optimum after so many "
        f"epochs (median of {REPEATS} seeds, last iterate). `1/t` is 1/(λt) and has nothing to tune.\n\n"
        + table(["schedule", *(f"{epoch}" for epoch in epochs)], rows)
    )


def named(schedule: str, step: float) -> str:
    return f"`{schedule}`" + ("" if schedule == "1/t" else f", γ₀ = {step:g}")


def outputs() -> str:
    problem = posed(*noisy(20_000, 50), lam=1e-4)
    best, epochs = optimum(problem), (1, 3, 10, 30, 100)
    rows = [
        [
            f"{output}, {named(schedule, step)}",
            *above(problem, best, "sgd", {"schedule": schedule, "step": step, "output": output}, epochs),
        ]
        for schedule, step in (("1/t", 1.0), ("over_sqrt_t", 1e-3), ("constant", 1e-4))
        for output in ("last", "average", "suffix")
    ]
    return (
        "## The last iterate against averages\n\nThe same problem. `suffix` averages since the epochs were last a "
        "power of two.\n\n" + table(["output", *(f"{epoch}" for epoch in epochs)], rows)
    )


def implicit_steps() -> str:
    problem = posed(*noisy(20_000, 50), lam=1e-4)
    best = optimum(problem)
    rows = [
        [f"{step:g}"]
        + [above(problem, best, name, {"schedule": "constant", "step": step}, (10,))[0] for name in ("sgd", "implicit")]
        for step in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    ]
    return (
        "## Explicit and implicit steps\n\nThe same problem, a constant step γ = ηλ: how far P is above its optimum "
        "after 10 epochs.\n\n" + table(["γ", "explicit (sgd)", "implicit"], rows)
    )


def high_accuracy() -> str:
    rows = []
    levels = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
    for lam in (1e-3, 1e-4, 1e-5):
        problem = posed(*noisy(20_000, 50), lam=lam)
        for name in ("pegasos", "dual_coordinate"):
            points = curve(problem, name, max_seconds=20.0, tol=min(levels))
            rows.append([f"{lam:g}", name, *(first(points, 3, level) for level in levels)])
    columns = ["λ", "solver", *(f"{level:g}" for level in levels)]
    return (
        "## Pegasos and dual coordinate descent\n\nHinge, n = 20,000, d = 50: seconds until the certified relative gap "
        "is at most so much (at most 20 s).\n\n" + table(columns, rows)
    )


def margins() -> str:
    X, y = noisy(5_000, 20)
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    y = np.where(X @ w > 0, 1.0, -1.0)
    X = X + 0.1 * np.outer(y, w / np.linalg.norm(w))
    widest = maxmargin.train(X, y, C=np.inf, bias="none", tol=1e-4, threads=1)
    rows = [["svm (dual_coordinate, C = inf)", "–", f"{widest.model.margins[0]:.4f}", "1.00", f"{widest.seconds:.3f}"]]
    for margin in (0.0, 0.0, 1.0, 10.0, 100.0, 1000.0):  # the first one compiles
        found = maxmargin.train(
            X, y, C=np.inf, bias="none", solver="perceptron", options={"margin": margin}, threads=1, max_seconds=60
        )
        rows.append([
            f"perceptron, margin {margin:g}", f"{found.history[-1].all_mistakes:,}", f"{found.model.margins[0]:.4f}",
            f"{found.model.margins[0] / widest.model.margins[0]:.2f}", f"{found.seconds:.3f}",
        ])  # fmt: skip
    del rows[1]
    return (
        "## Margins of the perceptron\n\nSeparable data, n = 5,000, d = 20, no bias: the margin 1/‖w‖ of what it ends "
        "with.\n\n" + table(["machine", "mistakes", "margin", "of the widest", "seconds"], rows)
    )


def covtype(file: Path) -> str:
    """The lectures' row: Covertype, 581,012 × 54; in the paper λ = 1e-6."""
    X, y = maxmargin.read(file)
    problem = pose(take(X), np.where(y == np.unique(y)[1], 1.0, -1.0), lam=1e-6, bias="none")
    best = optimum(problem)
    levels, rows = (1e-1, 1e-2, 1e-3, 1e-4), []
    runs = [
        ("pegasos", {}), ("pegasos", {"batch": 100}), ("sgd", {"output": "suffix"}),
        ("dual_coordinate", {}),
    ]  # fmt: skip
    for name, options in runs:
        points = [
            (s, e, p / best - 1, gap) for s, e, p, gap in curve(problem, name, options, max_seconds=60.0, tol=1e-5)
        ]
        label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
        rows.append([label, *(first(points, 2, level) for level in levels), f"{points[-1][3]:.1e}"])
    columns = ["solver", *(f"{level:g}" for level in levels), "gap at the end"]
    return (
        "## The covtype row of the Pegasos table\n\ncovtype.binary.scale, 581,012 × 54, hinge, λ = 1e-6, no bias: "
        "seconds until P is so far above its optimum (at most 60 s), reading and compiling not counted. The lectures' "
        "table says 6 s for Pegasos, 85 s for SVM-Perf, 25,514 s for SVM-Light, on the machines of 2007.\n\n"
        + table(columns, rows)
    )


if __name__ == "__main__":
    main()
