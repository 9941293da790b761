"""Import from scikit-learn: a model from the attributes of a fitted estimator. Its certificate is infinite."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from scipy.sparse import issparse

from maxmargin.data.labels import check_kept, plain
from maxmargin.data.pick import pick
from maxmargin.data.rows import Dense, Rows, count_columns, count_stored
from maxmargin.data.take import take
from maxmargin.errors import ParameterError
from maxmargin.kernels.functions import KERNELS, Custom, Kernel, kernel_of
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.linear import LinearModel
from maxmargin.models.to_sklearn import CLASSES
from maxmargin.models.to_sklearn import KERNELS as THEIR_KERNELS
from maxmargin.problems.certificate import Certificate
from maxmargin.status import Status

UNKNOWN = Certificate(np.inf, -np.inf)
FORMULATIONS = {name: formulation for formulation, name in CLASSES.items()}


def linear_model_of(theirs: Any, loss: str, C: float, classes: np.ndarray, w: np.ndarray, b: Any) -> LinearModel:
    """Return a linear model with these weights."""
    w = np.ascontiguousarray(w, dtype=np.float64)
    b = np.broadcast_to(np.asarray(b, dtype=np.float64), (len(w),)).copy()  # without an intercept it is one 0.0
    training = summary_of(theirs, w.shape[1]) | {"loss": loss, "C": C}
    none = np.zeros(0, dtype=np.int64)
    return LinearModel(kept(classes), w, b, none, np.zeros((len(w), 0)), UNKNOWN, training)


def kernel_model_of(theirs: Any) -> KernelModel | KernelFunction:
    """Return the model of SVC, NuSVC, SVR, NuSVR or OneClassSVM."""
    kernel, (vectors, d) = kernel_of_theirs(theirs), vectors_of_theirs(theirs)
    formulation = FORMULATIONS[type(theirs).__name__]
    training = summary_of(theirs, d) | {"formulation": formulation, "nnz": count_stored(vectors)}
    support, dual = theirs.support_.astype(np.int64), theirs.dual_coef_
    dual = np.asarray(dual.toarray() if issparse(dual) else dual, dtype=np.float64)
    if hasattr(theirs, "classes_"):
        return classifier(theirs, vectors, support, dual, kernel, training)
    b = float(theirs.intercept_[0])
    return KernelFunction(vectors, support, dual.reshape(-1), b, 0.0, kernel, UNKNOWN, training)


def classifier(
    theirs: Any, vectors: Rows, support: np.ndarray, dual: np.ndarray, kernel: Kernel, training: dict[str, Any]
) -> KernelModel:
    """Return the model of a classifier; scikit-learn's attributes of two classes have the sign of the second."""
    turned = -1.0 if len(theirs.classes_) == 2 else 1.0
    counts, b = theirs.n_support_.astype(np.int64), turned * np.asarray(theirs.intercept_, dtype=np.float64)
    A, B = getattr(theirs, "_probA", ()), getattr(theirs, "_probB", ())  # scikit-learn 1.9 deprecates the public names
    sigmoids = np.column_stack([A, B]) if len(A) else None
    classes = kept(theirs.classes_)
    return KernelModel(classes, vectors, support, counts, turned * dual, b, kernel, UNKNOWN, training, sigmoids)


def kernel_of_theirs(theirs: Any) -> Kernel:
    """Return the kernel with its parameters."""
    if callable(theirs.kernel):
        return Custom(theirs.kernel)
    name = {one: ours for ours, one in THEIR_KERNELS.items()}[theirs.kernel]
    values = {"gamma": float(theirs._gamma), "degree": theirs.degree, "coef0": float(theirs.coef0)}
    needed = {one.name: values[one.name] for one in fields(KERNELS[name])}
    try:
        return kernel_of({"name": name, **needed})
    except ValueError as error:
        raise ParameterError(f"{error}: fit with a kernel that maxmargin has") from error


def vectors_of_theirs(theirs: Any) -> tuple[Rows, int]:
    """Return the support vectors and the number of columns of rows to predict."""
    if callable(theirs.kernel):
        vectors = pick(take(theirs._BaseLibSVM__Xfit), theirs.support_)
        return vectors, count_columns(vectors)
    if theirs.kernel == "precomputed":
        return Dense(np.zeros((len(theirs.support_), 0))), int(theirs.shape_fit_[0])
    return take(theirs.support_vectors_), int(theirs.n_features_in_)


def summary_of(theirs: Any, d: int) -> dict[str, Any]:
    """Return the summary of the training."""
    n = int(getattr(theirs, "shape_fit_", (0,))[0])
    return {"solver": f"scikit-learn {type(theirs).__name__}", "status": Status.SETTLED.value, "n": n, "d": d, "nnz": 0}


def kept(classes: np.ndarray) -> np.ndarray:
    """Return labels of a type that a model file can store."""
    found = plain(classes) if classes.dtype.kind in "OT" else classes.copy()
    check_kept(found)
    return found
