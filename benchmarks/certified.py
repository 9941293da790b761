"""Every loss and bias on real data: certified to 1e-4 by solver="auto", and beside an independent optimum.

    python benchmarks/certified.py [--data FOLDER] [--names a9a,w8a] [--write FILE]

The peer solves the same problem by other code, as exactly as it can: LIBLINEAR through scikit-learn where the bias is
none or regularised, LIBSVM for hinge with a free bias where there are few enough rows, L-BFGS from SciPy for smooth
losses with a free bias. The last column is (our primal − its primal) / its primal: below zero where ours is better.
Seconds are of training alone, in memory, after a first run that compiles. This is a check, not a race.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from report import DATA, heading, publish, table
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

import maxmargin
from maxmargin.problems.losses import LOSSES

NAMES = "a9a,w8a,ijcnn1,covtype.binary.scale,reuters_money-fx,20news.binary"
TOL = 1e-4
FEW_ROWS = 12_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--write")
    options = parser.parse_args()
    if not options.data.is_dir():
        raise SystemExit(f"{options.data}: no such folder: give one with LIBSVM files compressed by xz (--data)")
    rows = [row for name in options.names.split(",") for row in measured(name, options.data)]
    columns = ["data", "loss", "bias", "solver", "seconds", "epochs", "primal", "relative gap", "peer", "difference"]
    worst = max(float(row[7]) for row in rows)
    text = heading("Every loss and bias, certified", "make bench-certified", "scikit-learn", "scipy")
    text += f"\nC = 1, tol = {TOL:g}, 2 threads. Largest relative gap: {worst:.1e}. {__doc__.split(chr(10) * 2)[2]}\n\n"
    publish(text + table(columns, rows), options.write)


def measured(name: str, folder: Path):
    X, y = maxmargin.read(folder / f"{name}.xz")
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    for loss in LOSSES:
        for bias in ("none", "regularised", "free"):
            maxmargin.train(X, y, loss=loss, bias=bias, max_epochs=1)
            result = maxmargin.train(X, y, loss=loss, bias=bias, tol=TOL)
            certificate = result.certificate
            peer, difference = compare(X, signs, loss, bias, certificate.primal)
            yield [
                name, loss, bias, result.solver, f"{result.seconds:.2f}", f"{result.epochs:.0f}",
                f"{certificate.primal:.8g}", f"{certificate.relative_gap:.1e}", peer, difference,
            ]  # fmt: skip


def compare(X, y, loss, bias, ours):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = peer_optimum(X, y, loss, bias)
    if found is None:
        return "none", ""
    peer, w, b = found
    primal = objective(X, y, loss, bias, w, b)
    return peer, f"{(ours - primal) / primal:+.1e}"


def objective(X, y, loss, bias, w, b):
    extra = 0.5 * b * b if bias == "regularised" else 0.0
    return 0.5 * w @ w + extra + LOSSES[loss].value(y * (X @ w + b)).sum()


def peer_optimum(X, y, loss, bias):
    if bias != "free":
        machine = liblinear(loss, bias).fit(X, y)
        return "LIBLINEAR", machine.coef_[0], float(np.ravel(machine.intercept_)[0])
    if loss == "hinge":
        if X.shape[0] > FEW_ROWS:
            return None
        machine = SVC(kernel="linear", C=1.0, tol=1e-5, cache_size=2000).fit(X, y)
        return "LIBSVM", np.ravel(machine.coef_.todense()), float(machine.intercept_[0])
    return "L-BFGS", *smooth_optimum(X, y, LOSSES[loss])


def liblinear(loss, bias):
    common = {"C": 1.0, "fit_intercept": bias == "regularised", "intercept_scaling": 1.0, "random_state": 0}
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", tol=1e-6, max_iter=1000, **common)
    if loss == "hinge":
        return LinearSVC(loss="hinge", dual=True, tol=1e-3, max_iter=1000, **common)
    return LinearSVC(loss="squared_hinge", dual=False, tol=1e-6, max_iter=1000, **common)


def smooth_optimum(X, y, loss):
    def both(v):
        m = y * (X @ v[:-1] + v[-1])
        pull = y * loss.slope(m)
        return 0.5 * v[:-1] @ v[:-1] + loss.value(m).sum(), np.append(v[:-1] + X.T @ pull, pull.sum())

    found = minimize(both, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B",
                     options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-13, "gtol": 1e-4, "maxcor": 30})  # fmt: skip
    return found.x[:-1], found.x[-1]


if __name__ == "__main__":
    main()
