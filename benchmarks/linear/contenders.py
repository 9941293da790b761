"""Who races. A contender is prepared off the clock; then `fit` is timed once for each of its tolerances."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse


class Contender(NamedTuple):
    """`prepare(X, y, loss, bias, C)` gives a function of the tolerance that returns (w, b)."""

    prepare: Callable
    tolerances: list[float]
    losses: tuple[str, ...] = ("hinge", "squared_hinge", "logistic")


def ours(X, y, loss, bias, C):
    import maxmargin

    few = np.concatenate([np.flatnonzero(y > 0)[:500], np.flatnonzero(y < 0)[:500]])
    maxmargin.train(X[few], y[few], loss=loss, bias=bias, C=C, max_epochs=3)
    solver = maxmargin.train(X, y, loss=loss, bias=bias, C=C, max_epochs=1).solver  # compiles the one that auto takes
    maxmargin.train(X[few], y[few], loss=loss, bias=bias, C=C, solver=solver, max_epochs=10)

    def fit(tol):
        model = maxmargin.train(X, y, loss=loss, bias=bias, C=C, tol=tol, max_seconds=LIMIT).model
        return model.w[0], model.b[0]

    return fit


def liblinear(X, y, loss, bias, C):
    from liblinear import liblinearutil
    from liblinear.liblinear import parameter, problem

    data = problem(y, sparse.csr_matrix(X), bias=1 if bias == "regularised" else -1)
    kind = {"hinge": 3, "squared_hinge": 1, "logistic": 7}[loss]

    def fit(tol):
        model = liblinearutil.train(data, parameter(f"-s {kind} -c {C} -e {tol} -q"))
        w, b = model.get_decfun()
        sign = 1.0 if model.get_labels()[0] > 0 else -1.0
        return sign * np.array(w), sign * b

    return fit


def sklearn_linear(X, y, loss, bias, C):
    import warnings

    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    warnings.simplefilter("ignore")
    inside = bias == "regularised"

    def fit(tol):
        if loss == "logistic":
            machine = LogisticRegression(C=C, tol=tol, solver="liblinear", fit_intercept=inside, max_iter=10_000)
        else:
            machine = LinearSVC(loss=loss, C=C, tol=tol, fit_intercept=inside, dual=True, max_iter=10_000)
        machine.fit(X, y)
        return machine.coef_[0], float(np.ravel(machine.intercept_)[0]) if inside else 0.0

    return fit


def sklearn_sgd(X, y, loss, bias, C):
    from sklearn.linear_model import SGDClassifier

    name = {"hinge": "hinge", "squared_hinge": "squared_hinge", "logistic": "log_loss"}[loss]

    def fit(epochs):
        machine = SGDClassifier(
            loss=name, alpha=1.0 / (C * len(y)), fit_intercept=False, max_iter=int(epochs), tol=None, average=True
        )
        machine.fit(X, y)
        return machine.coef_[0], 0.0

    return fit


LIMIT = 120.0
CONTENDERS = {
    "maxmargin": Contender(ours, [1e-3, 1e-4, 1e-6]),
    "LIBLINEAR": Contender(liblinear, [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]),
    "LinearSVC": Contender(sklearn_linear, [1e-2, 1e-4, 1e-6]),
    "SGDClassifier": Contender(sklearn_sgd, [5, 20, 80, 320]),
}
