"""`tune` beside GridSearchCV: the same grid, the same folds, one run.

    python benchmarks/tuning/run.py [--data FOLDER] [--tasks a9a,covtype-kernel,...] [--rows 5000] [--repeat 3]
                                    [--write FILE.md]

Contenders: `maxmargin.tune`, which drops candidates that are far behind; the same with `every_fold`; GridSearchCV with
maxmargin's own estimator, which trains each fold from nothing; and GridSearchCV with scikit-learn's estimator and
n_jobs=2. Linear: squared hinge with a regularised intercept, which is
the problem of both LinearSVC, nine C from 0.01 to 100, five folds. Kernel: SVC with a Gaussian, five C from 0.1 to
1000, five γ from 1/16 to 16 times 1/(d var X), five folds, on a random sample of the rows. No contender trains on all
rows in the end. tol is 1e-4 for LinearSVC, 1e-3 for SVC: the defaults of scikit-learn; ours is the default, a certified
relative gap of 1e-3 in each fold. Seconds are the best of the repetitions, alternated, of scikit-learn the only one.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, found, heading, publish, table

import maxmargin

LINEAR = {"a9a": None, "20news.binary": None, "20news": None, "covtype.binary.scale": 50_000, "rcv1_vw_1000": None,
          "letter.scale": None, "w8a": None}  # fmt: skip
KERNEL = ["a9a", "covtype.binary.scale", "ijcnn1", "usps", "letter.scale", "higgs_7000"]
TASKS = [*LINEAR, *(f"{name}-kernel" for name in KERNEL)]
HEADS = ["task", "rows", "fits", "of tune", "tune, s", "every fold, s", "ours cold, s", "scikit-learn, s",
         "cold / tune", "scikit-learn / tune", "C, γ of tune", "of scikit-learn", "difference of its means",
         "standard error"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rows", type=int, default=5000, help="rows of the samples for kernels")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write")
    options = parser.parse_args()
    rows = []
    for task in options.tasks.split(","):
        name, _, kernel = task.partition("-")
        path = found(name, options.data)
        if path is None:
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
            continue
        X, y = maxmargin.read(path)
        X, y = sample(X, y, options.rows if kernel else LINEAR[name])
        rows.append([task, f"{len(y):,}", *(by_kernel if kernel else linear)(X, y, options.repeat)])
        print(*rows[-1], file=sys.stderr, flush=True)
        if options.write:
            Path(options.write).write_text(report(rows))
    publish(report(rows), options.write)


def report(rows: list[list[str]]) -> str:
    given = [one for one in sys.argv[1:] if "/" not in one and one not in ("--data", "--write")]
    title = heading("tune beside GridSearchCV", " ".join(["python benchmarks/tuning/run.py", *given]), "scikit-learn")
    means = [f"{np.exp(np.mean(np.log([float(row[k]) for row in rows]))):.2f}" for k in (8, 9)]
    return (
        f"{title}\n`of tune` is how many fits `tune` made; `every fold` is its time with `every_fold=True`.\n\n"
        f"Geometric mean of the ratios: {means[0]} to our own estimator, {means[1]} to scikit-learn's.\n\n"
        "The last columns: how much lower scikit-learn's mean score of our choice is than that of its own choice,\n"
        "and the standard error of the latter.\n\n" + table(HEADS, rows)
    )


def sample(X: Any, y: np.ndarray, rows: int | None) -> tuple[Any, np.ndarray]:
    if rows is None or rows >= len(y):
        return X, y
    chosen = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[chosen], y[chosen]


def linear(X: Any, y: np.ndarray, repeat: int) -> list[str]:
    grid = {"C": np.logspace(-2, 2, 9)}
    ours = {"loss": "squared_hinge", "bias": "regularised", "Cs": grid["C"]}
    cold = maxmargin.LinearSVC(intercept_scaling=1.0)
    return compared(X, y, repeat, ours, cold, LinearSVC(), grid)


def by_kernel(X: Any, y: np.ndarray, repeat: int) -> list[str]:
    X = X.toarray() if hasattr(X, "toarray") and X.nnz > 0.3 * np.prod(X.shape) else X
    values = X.toarray() if hasattr(X, "toarray") else X
    scale = 1.0 / (X.shape[1] * values.var())
    grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [scale * factor for factor in (1 / 16, 1 / 4, 1, 4, 16)]}
    ours = {"kernel": "gaussian", "Cs": grid["C"], "gammas": grid["gamma"]}
    return compared(X, y, repeat, ours, maxmargin.SVC(), SVC(), grid)


def compared(
    X: Any, y: np.ndarray, repeat: int, ours: dict[str, Any], cold: Any, theirs: Any, grid: dict[str, Any]
) -> list[str]:
    """Run the contenders in turn; compare seconds and choices."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    own: dict[str, list[float]] = {"tune": [], "every": [], "cold": []}
    some = np.concatenate([np.flatnonzero(y == label)[:40] for label in np.unique(y)])
    maxmargin.tune(X[some], y[some], folds=3, refit=False, **ours)  # compiles
    maxmargin.tune(X, y, folds=folds[:2], refit=False, **{**ours, "Cs": [1.0]})
    for number in range(repeat):
        tuned, seconds = timed(lambda: maxmargin.tune(X, y, folds=folds, refit=False, rule="best", **ours))
        own["tune"].append(seconds)
        whole = timed(lambda: maxmargin.tune(X, y, folds=folds, refit=False, rule="best", every_fold=True, **ours))
        own["every"].append(whole[1])
        if number == 0 or seconds < 20.0:
            cold_search = GridSearchCV(cold, grid, cv=folds, refit=False, n_jobs=1)
            own["cold"].append(timed(lambda search=cold_search: search.fit(X, y))[1])
    search, theirs_seconds = timed(lambda: GridSearchCV(theirs, grid, cv=folds, refit=False, n_jobs=2).fit(X, y))
    chosen = {"C": tuned.C} | ({} if tuned.gamma is None else {"gamma": tuned.gamma})
    means, best = search.cv_results_["mean_test_score"], search.best_index_
    at = next(k for k, one in enumerate(search.cv_results_["params"]) if close(one, chosen))
    error = search.cv_results_["std_test_score"][best] / np.sqrt(len(folds) - 1)
    ours_best, every_best, cold_best = (min(own[name]) for name in ("tune", "every", "cold"))
    fits = sum(len(one.known) for one in tuned.candidates)
    return [
        str(len(folds) * len(means)), str(fits), f"{ours_best:.2f}", f"{every_best:.2f}", f"{cold_best:.2f}",
        f"{theirs_seconds:.2f}",
        f"{cold_best / ours_best:.2f}", f"{theirs_seconds / ours_best:.2f}", shown(chosen), shown(search.best_params_),
        f"{means[best] - means[at]:.4f}", f"{error:.4f}",
    ]  # fmt: skip


def timed(run: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = run()
    return result, time.perf_counter() - began


def close(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(np.isclose(one[name], other[name]) for name in other)


def shown(chosen: dict[str, float]) -> str:
    return ", ".join(f"{value:.3g}" for value in chosen.values())


if __name__ == "__main__":
    main()
