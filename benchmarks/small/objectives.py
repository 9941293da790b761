"""Primal objectives, computed from the attributes of a fitted estimator in the same way for both packages.

LinearSVC    Σ_classes  ½‖w‖² + ½b² + C Σ loss(y f(x))              the intercept is regularised, intercept_scaling = 1
SVC          Σ_pairs    ½‖w‖² + C Σ max(0, 1 − y f(x))
NuSVC        Σ_pairs    ½‖w‖² − ν n ρ + Σ max(0, ρ − y f(x))       w, b, ρ: the model's, times ρ = ν n / Σ|coefficients|
SVR          ½‖w‖² + C Σ max(0, |y − f(x)| − ε)
NuSVR        ½‖w‖² + C (ν n ε + Σ max(0, |y − f(x)| − ε))          ε: the best one for the model's residuals
OneClassSVM  ½‖w‖² − ν n ρ + Σ max(0, ρ − ⟨w, x⟩)                  ρ: the model's offset
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels


def objective(model: Any, X: Any, y: Any) -> float:
    return OBJECTIVES[type(model).__name__](model, X, y)


def scale_of(model: Any, X: Any, value: float) -> float:
    """Return what differences of objectives are relative to.

    For OneClassSVM the optimum may be 0; there it is the bound ½ν² n ΣK_ii on ½‖w‖² with all α equal to ν.
    """
    if type(model).__name__ != "OneClassSVM":
        return abs(value)
    return 0.5 * model.nu**2 * X.shape[0] * float(np.trace(kernel_matrix(model, X)))


def linear_svc(model: Any, X: Any, y: np.ndarray) -> float:
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    signs = np.where(y[:, None] == classes, 1.0, -1.0)
    errors = np.maximum(0.0, 1.0 - signs * (X @ model.coef_.T + model.intercept_))
    losses = errors if model.loss == "hinge" else errors**2
    return float(0.5 * np.sum(model.coef_**2) + 0.5 * np.sum(model.intercept_**2) + model.C * np.sum(losses))


def svc(model: Any, X: Any, y: np.ndarray) -> float:
    total = 0.0
    for signs, values, norm in pairs(model, X, y):
        total += 0.5 * norm + model.C * float(np.maximum(0.0, 1.0 - signs * values).sum())
    return total


def nu_svc(model: Any, X: Any, y: np.ndarray) -> float:
    total = 0.0
    for (signs, values, norm), size in zip(pairs(model, X, y), sums_of_coefficients(model), strict=True):
        nu_n = model.nu * len(signs)
        rho = nu_n / size
        errors = np.maximum(0.0, rho - signs * rho * values)
        total += 0.5 * rho**2 * norm - nu_n * rho + float(errors.sum())
    return total


def svr(model: Any, X: Any, y: np.ndarray) -> float:
    values, norm = function(model, X)
    errors = np.maximum(0.0, np.abs(y - values - model.intercept_[0]) - model.epsilon)
    return 0.5 * norm + model.C * float(errors.sum())


def nu_svr(model: Any, X: Any, y: np.ndarray) -> float:
    values, norm = function(model, X)
    residuals = np.sort(np.abs(y - values - model.intercept_[0]))[::-1]
    nu_n = model.nu * len(y)
    epsilon = residuals[min(int(nu_n), len(y) - 1)]
    return 0.5 * norm + model.C * float(nu_n * epsilon + np.maximum(0.0, residuals - epsilon).sum())


def one_class(model: Any, X: Any, y: None) -> float:
    values, norm = function(model, X)
    rho = float(model.offset_[0])
    return 0.5 * norm - model.nu * X.shape[0] * rho + float(np.maximum(0.0, rho - values).sum())


def function(model: Any, X: Any) -> tuple[np.ndarray, float]:
    """Return ⟨w, x⟩ of every row, and ‖w‖²."""
    coefficients = dense(model.dual_coef_)[0]
    values = kernel_matrix(model, X)[:, model.support_] @ coefficients
    return values, float(coefficients @ values[model.support_])


def pairs(model: Any, X: Any, y: np.ndarray) -> Any:
    """Yield the signs, decision values and ‖w‖² of each pair of classes, for the rows of these two classes."""
    K = kernel_matrix(model, X)
    for k, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        own, coefficients = pair_coefficients(model, i, j)
        rows = np.flatnonzero(np.isin(y, model.classes_[[i, j]]))
        positive = model.classes_[j if len(model.classes_) == 2 else i]
        support = model.support_[own]
        norm = float(coefficients @ K[np.ix_(support, support)] @ coefficients)
        values = K[np.ix_(rows, support)] @ coefficients + model.intercept_[k]
        yield np.where(y[rows] == positive, 1.0, -1.0), values, norm


def sums_of_coefficients(model: Any) -> list[float]:
    numbers = combinations(range(len(model.classes_)), 2)
    return [float(np.abs(pair_coefficients(model, i, j)[1]).sum()) for i, j in numbers]


def pair_coefficients(model: Any, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the support vectors of classes i < j and their coefficients, from LIBSVM's layout."""
    ends = np.cumsum(model.n_support_)
    first = np.arange(ends[i] - model.n_support_[i], ends[i])
    second = np.arange(ends[j] - model.n_support_[j], ends[j])
    alpha = dense(model.dual_coef_)
    return np.concatenate([first, second]), np.concatenate([alpha[j - 1, first], alpha[i, second]])


def kernel_matrix(model: Any, X: Any) -> np.ndarray:
    gamma = 1.0 / (X.shape[1] * variance(X))
    parameters = {"rbf": {"gamma": gamma}, "linear": {}, "poly": {"gamma": gamma, "degree": 3, "coef0": 0.0}}
    return np.asarray(dense(pairwise_kernels(X, metric=model.kernel, **parameters[model.kernel])))


def variance(X: Any) -> float:
    return float(X.multiply(X).mean() - X.mean() ** 2) if issparse(X) else float(X.var())


def dense(values: Any) -> np.ndarray:
    return values.toarray() if issparse(values) else np.asarray(values)


OBJECTIVES = {
    "LinearSVC": linear_svc,
    "SVC": svc,
    "NuSVC": nu_svc,
    "SVR": svr,
    "NuSVR": nu_svr,
    "OneClassSVM": one_class,
}
