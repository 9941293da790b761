"""Who races. A contender is prepared off the clock; then `fit` is timed at each of its tolerances.

With a regularised bias every peer gets X with a column of ones, which is the same problem without bias; maxmargin gets
its own option. What a `fit` returns is a function that gives w, with b as its last entry where there is a bias: taking
the weights out of a peer's model is off the clock too.

LIBLINEAR (liblinear-official 2.50) has no option for the number of iterations. Its dual solvers stop at 300, whatever
the tolerance: for hinge (-s 3) that is the end, for -s 1 and -s 7 its Newton method goes on from there.
Vowpal Wabbit trains hinge by its plain SGD and logistic by its BFGS, from its cache file; it has no squared hinge. Its
weights are 32-bit. What it and SGDClassifier take in place of a tolerance is a number of passes.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

ALL = ("hinge", "squared_hinge", "logistic")
SMOOTH = ALL[1:]
MANY = 100_000  # iterations, for peers that ask for a cap: the tolerance or the clock should stop them
HESSIAN_COLUMNS = 3_000


class Task(NamedTuple):
    """What is to be trained, and how long one fit may take."""

    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    loss: str
    bias: str
    C: float
    limit: float

    def with_column(self) -> Task:
        """The same problem without bias: a column of ones, if the bias is regularised."""
        if self.bias == "none":
            return self
        ones = np.ones((len(self.y), 1))
        X = sparse.hstack([self.X, ones], "csr") if sparse.issparse(self.X) else np.hstack([self.X, ones])
        return self._replace(X=X, bias="none")


class Contender(NamedTuple):
    """`prepare(task)` gives `fit(tol)`; either may raise where the task is not for it."""

    prepare: Callable
    tolerances: list[float]
    losses: tuple[str, ...] = ALL
    has_bias: bool = False


def some_rows(y: np.ndarray) -> np.ndarray:
    """Up to 500 of either class, to warm up with."""
    return np.concatenate([np.flatnonzero(y > 0)[:500], np.flatnonzero(y < 0)[:500]])


def ours(task):
    import maxmargin

    X, y, limit = task.X, task.y, task.limit
    same = {"loss": task.loss, "bias": task.bias, "C": task.C}
    few = some_rows(y)
    maxmargin.train(X[few], y[few], max_epochs=3, **same)
    solver = maxmargin.train(X, y, max_epochs=1, **same).solver  # compiles the one that auto takes
    maxmargin.train(X[few], y[few], solver=solver, max_epochs=10, **same)

    def fit(tol):
        result = maxmargin.train(X, y, tol=tol, max_seconds=limit, **same)
        fit.bound = result.certificate.dual
        b = [] if task.bias == "none" else result.model.b[:1]
        return lambda: np.concatenate([result.model.w[0], b])

    return fit


def liblinear(kinds: dict[str, int]):
    def prepare(task):
        from liblinear import liblinearutil
        from liblinear.liblinear import parameter, problem

        data = problem(task.y, sparse.csr_matrix(task.X))

        def fit(tol):
            model = liblinearutil.train(data, parameter(f"-s {kinds[task.loss]} -c {task.C} -e {tol} -q"))
            sign = 1.0 if model.get_labels()[0] > 0 else -1.0
            return lambda: sign * np.array(model.get_decfun()[0])

        return fit

    return prepare


def scikit_learn(machine: Callable):
    """`machine(task, tol)` is an estimator yet to be fitted, without intercept."""

    def prepare(task):
        warnings.simplefilter("ignore")
        few = some_rows(task.y)
        machine(task, 1).fit(task.X[few], task.y[few])  # its imports

        def fit(tol):
            fitted = machine(task, tol).fit(task.X, task.y)
            return lambda: np.ravel(fitted.coef_).astype(float)

        return fit

    return prepare


def linear_svc(task, tol):
    from sklearn.svm import LinearSVC

    return LinearSVC(loss=task.loss, C=task.C, tol=tol, fit_intercept=False, dual=True, max_iter=MANY, random_state=0)


def lbfgs(task, tol):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=task.C, tol=tol, solver="lbfgs", fit_intercept=False, max_iter=MANY)


def newton_cholesky(task, tol):
    if task.X.shape[1] > HESSIAN_COLUMNS:
        raise ValueError(f"newton-cholesky holds a Hessian: not for more than {HESSIAN_COLUMNS} columns")
    return lbfgs(task, tol).set_params(solver="newton-cholesky")


def sgd(task, passes):
    from sklearn.linear_model import SGDClassifier

    name = {"logistic": "log_loss"}.get(task.loss, task.loss)
    alpha = 1.0 / (task.C * len(task.y))
    return SGDClassifier(
        loss=name, alpha=alpha, fit_intercept=False, max_iter=passes, tol=None, average=True, random_state=0
    )


def snap(task, tol):
    import snapml

    same = {"regularizer": 1.0 / task.C, "tol": tol, "n_jobs": 2, "use_gpu": False, "max_iter": MANY}
    if task.loss == "logistic":
        return snapml.LogisticRegression(**same)
    return snapml.SupportVectorMachine(loss=task.loss, **same)


def vowpal_wabbit(task):
    from vowpalwabbit import Workspace

    folder = tempfile.TemporaryDirectory()
    text, model = Path(folder.name) / "rows", Path(folder.name) / "model"
    write_vw(text, sparse.csr_matrix(task.X), task.y)
    method = {
        "hinge": f"--sgd --l2 {1.0 / (task.C * len(task.y))}",  # its λ is of each example
        "logistic": f"--bfgs --termination 1e-12 --l2 {1.0 / task.C}",  # its λ is of the sum
    }[task.loss]
    how = f"--loss_function {task.loss} {method} --predict_only_model --readable_model {model}"
    bits = max(int(task.X.shape[1]).bit_length(), 10)
    common = f"-d {text} --cache_file {text}.cache --quiet --noconstant --holdout_off -b {bits}"
    Workspace(f"{common} --passes 1").finish()  # writes the cache

    def fit(passes):
        done = Workspace(f"{common} {how} --passes {passes}")
        return lambda: vw_weights(done, model, task.X.shape[1])

    fit.folder = folder  # lives as long as the fit
    return fit


def write_vw(path: Path, X: sparse.csr_matrix, y: np.ndarray) -> None:
    with path.open("w") as file:
        for i, label in enumerate(y):
            row = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)
            file.write(f"{label:g} |" + "".join(f" {j}:{value:.9g}" for j, value in pairs) + "\n")


def vw_weights(done, model: Path, d: int) -> np.ndarray:
    """The pairs index:weight that end the readable model, which is written at the finish."""
    done.finish()
    w = np.zeros(d)
    for line in model.read_text().split("\n:0\n", 1)[1].splitlines():
        j, value = line.split(":")
        w[int(j)] = float(value)
    return w


TIGHTER = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]
CONTENDERS = {
    "maxmargin": Contender(ours, [1e-3, 1e-4, 1e-6], has_bias=True),
    "LIBLINEAR dual": Contender(liblinear({"hinge": 3, "squared_hinge": 1, "logistic": 7}), TIGHTER),
    "LIBLINEAR primal": Contender(liblinear({"squared_hinge": 2, "logistic": 0}), TIGHTER, SMOOTH),
    "LinearSVC": Contender(scikit_learn(linear_svc), [*TIGHTER, 1e-6], ALL[:2]),
    "LogisticRegression lbfgs": Contender(scikit_learn(lbfgs), [*TIGHTER, 1e-6, 1e-7], ALL[2:]),
    "LogisticRegression newton-cholesky": Contender(scikit_learn(newton_cholesky), [*TIGHTER, 1e-6], ALL[2:]),
    "SGDClassifier": Contender(scikit_learn(sgd), [5, 20, 80, 320]),
    "Snap ML": Contender(scikit_learn(snap), [*TIGHTER, 1e-6, 1e-7]),
    "Vowpal Wabbit": Contender(vowpal_wabbit, [2, 8, 32, 128, 512], ("hinge", "logistic")),
}
