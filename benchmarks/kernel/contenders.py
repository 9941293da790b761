"""Who races with a Gaussian kernel.

`fit(X, y, C, gamma, tol, limit)` is timed; what it returns predicts, on a clock of its own, and can be taken apart into
a `KernelModel`, whose objective is then computed in the same way for all.

All may hold 2,000 MB of the kernel, and use all cores as far as they can. Peers are run at their own tolerance, 1e-3.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import maxmargin
from maxmargin.data.take import take
from maxmargin.kernels.functions import Gaussian
from maxmargin.problems.certificate import Certificate

CACHE = 2000  # MB
OURS, LIBSVM = "maxmargin", "scikit-learn"


class Contender(NamedTuple):
    """How to fit, at which tolerances, how to predict with what came out, and how to take it apart."""

    fit: Callable
    tolerances: tuple[float, ...]
    predict: Callable
    model: Callable


def ours(X, y, C, gamma, tol, limit):
    return maxmargin.train(X, y, kernel="gaussian", C=C, gamma=gamma, tol=tol, cache=CACHE, max_seconds=limit)


def scikit_learn(X, y, C, gamma, tol, limit):
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, tol=tol, cache_size=CACHE).fit(X, y)


def intelex(X, y, C, gamma, tol, limit):
    from sklearnex.svm import SVC

    return SVC(C=C, gamma=gamma, tol=tol, cache_size=CACHE).fit(X, y)


def thunder(X, y, C, gamma, tol, limit):
    from thundersvm import SVC

    return SVC(C=C, gamma=gamma, tol=tol, max_mem_size=CACHE, n_jobs=-1).fit(X, y)


def libsvm(X, y, C, gamma, tol, limit):
    from libsvm.svmutil import svm_train

    return svm_train(y.astype(float), X, f"-c {C!r} -g {gamma!r} -e {tol!r} -m {CACHE} -q")


def libsvm_predict(model, X):
    from libsvm.svmutil import svm_predict

    labels, _, _ = svm_predict([], X, model, "-q")
    return np.array(labels)


def taken_apart(fitted, gamma) -> Any:
    """The KernelModel of what scikit-learn's classes have fitted."""
    turned = -1.0 if len(fitted.classes_) == 2 else 1.0
    vectors = fitted.support_vectors_
    if sparse.issparse(vectors):
        parts = sparse.csr_matrix(vectors)  # intelex leaves out the last columns if no support vector has them
        vectors = sparse.csr_matrix((parts.data, parts.indices, parts.indptr), (parts.shape[0], fitted.n_features_in_))
    else:
        vectors = np.asarray(vectors, dtype=np.float64)
    coefficients = fitted.dual_coef_
    coefficients = coefficients.toarray() if sparse.issparse(coefficients) else np.asarray(coefficients)
    return maxmargin.KernelModel(
        np.asarray(fitted.classes_),
        take(vectors),
        np.asarray(fitted.support_),
        np.asarray(fitted.n_support_),
        turned * coefficients,
        turned * np.asarray(fitted.intercept_, dtype=np.float64),
        Gaussian(gamma),
        Certificate(np.inf, -np.inf),
        {"d": vectors.shape[1]},
    )


def from_thunder(fitted, gamma) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        fitted.save_to_file(str(path))
        return maxmargin.load(path)


def from_libsvm(fitted, gamma) -> Any:
    from libsvm.svmutil import svm_save_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        svm_save_model(str(path), fitted)
        return maxmargin.load(path)


def as_scikit_learn(fitted, X):
    return fitted.predict(X)


CONTENDERS = {
    OURS: Contender(
        ours, (1e-3, 1e-4, 1e-5, 1e-6), lambda result, X: result.model.predict(X), lambda result, _: result.model
    ),
    LIBSVM: Contender(scikit_learn, (1e-3,), as_scikit_learn, taken_apart),
    "scikit-learn-intelex": Contender(intelex, (1e-3,), as_scikit_learn, taken_apart),
    "ThunderSVM": Contender(thunder, (1e-3,), as_scikit_learn, from_thunder),
    "LIBSVM": Contender(libsvm, (1e-3,), libsvm_predict, from_libsvm),
}
