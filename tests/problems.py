"""Small problems and independent answers for tests."""

import numpy as np
from definitions import DEFINITIONS
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import SVC

from maxmargin.problems.linear import BIASES
from maxmargin.problems.losses import LOSSES
from maxmargin.testing.problems import overlapping, posed

__all__ = [
    "EVERY_BIAS",
    "EVERY_LOSS",
    "SMOOTH_LOSSES",
    "STORAGES",
    "hinge_optimum",
    "long_indices",
    "overlapping",
    "posed",
    "reference_optimum",
    "timestamps",
]

STORAGES = {
    "dense64": lambda X: X,
    "dense32": lambda X: X.astype(np.float32),
    "csr64": sparse.csr_array,
    "csr32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr_long": lambda X: long_indices(sparse.csr_array(X)),
}


def long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def reference_optimum(problem, X):
    """The optimal objective, found without any code of ours: by SciPy and LIBSVM."""
    X, y, C = np.asarray(X, dtype=np.float64), problem.y, problem.C
    d = X.shape[1]
    weight_of_b = {"none": None, "free": 0.0, "regularised": 1.0 / problem.bias_scale**2}[problem.bias]

    def split(v):
        return v[:d], (v[d] if weight_of_b is not None else 0.0)

    if problem.loss.name == "hinge":
        return hinge_optimum(problem, X)

    value, slope = DEFINITIONS[problem.loss.name][:2]

    def both(v):
        w, b = split(v)
        m = y * (X @ w + b)
        pull = C * y * slope(m)
        total = 0.5 * w @ w + 0.5 * (weight_of_b or 0.0) * b * b + C @ value(m)
        step_b = (weight_of_b or 0.0) * b + pull.sum() if weight_of_b is not None else 0.0
        return total, np.concatenate([w + X.T @ pull, [step_b]])

    found = minimize(both, np.zeros(d + 1), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    return found.fun


def hinge_optimum(problem, X):
    """For a free bias the primal objective that LIBSVM reaches; else the box-constrained dual, by L-BFGS-B."""
    y, C = problem.y, problem.C
    if problem.bias == "free":
        formulation = SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, y, sample_weight=C)
        w, b = formulation.coef_[0], formulation.intercept_[0]
        return 0.5 * w @ w + C @ np.maximum(0.0, 1.0 - y * (X @ w + b))
    B = problem.bias_scale if problem.bias == "regularised" else 0.0
    Z = y[:, None] * np.hstack([X, np.full((len(y), 1), B)])

    def negative_dual(alpha):
        v = alpha @ Z
        return 0.5 * v @ v - alpha.sum(), Z @ v - 1.0

    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10**5, "maxfun": 10**6}
    found = minimize(
        negative_dual, np.zeros(len(y)), jac=True, method="L-BFGS-B", bounds=[(0.0, c) for c in C], options=options
    )
    return -found.fun


EVERY_LOSS = sorted(LOSSES)
SMOOTH_LOSSES = [name for name in EVERY_LOSS if LOSSES[name].smooth]
EVERY_BIAS = BIASES


def timestamps(seed):
    """A column of millisecond timestamps beside three ordinary ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    X[:, 0] = 1.7e12 + np.round(rng.normal(size=60))
    return X, np.where(X[:, 1] + rng.normal(size=60) > 0, 1, -1)
