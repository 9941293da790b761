"""Export to scikit-learn: a fitted estimator of the class of the same name, which predicts the same.

    linear model                     LinearSVC
    linear model with probabilities  LogisticRegression; with more classes OneVsRestClassifier of these, because
                                     LogisticRegression itself would couple the classes by a softmax
    kernel model                     SVC, NuSVC
    kernel function                  SVR, NuSVR, OneClassSVM

scikit-learn's estimators have no method that sets a solution, so this file sets the attributes that their fit sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.rows import Csr, count_rows
from maxmargin.errors import ParameterError
from maxmargin.kernels.functions import Custom, Kernel, Precomputed
from maxmargin.kernels.points import matrix_of
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.linear import LinearModel, Model, has_probabilities
from maxmargin.models.scaling import check_unscaled
from maxmargin.status import Status
from maxmargin.system.values import is_number

CLASSES = {  # formulation and scikit-learn's class
    "C-SVC": "SVC",
    "nu-SVC": "NuSVC",
    "epsilon-SVR": "SVR",
    "nu-SVR": "NuSVR",
    "one-class": "OneClassSVM",
}
KERNELS = {
    "linear": "linear",
    "polynomial": "poly",
    "gaussian": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}
MOST_EPOCHS = 2**31 - 1  # n_iter_ has 32 bits.
SHARED = {  # parameters with the same meaning in scikit-learn; tol, max_iter and cache_size have another one
    "C", "nu", "epsilon", "degree", "gamma", "coef0", "shrinking", "class_weight", "decision_function_shape",
    "break_ties", "random_state",
}  # fmt: skip


def to_sklearn(model: Model, parameters: dict[str, Any] | None = None) -> Any:
    """Return a fitted scikit-learn estimator that predicts what the model predicts.

    `parameters` are those of the estimator that was fitted; without them, the summary of the training is used.
    """
    if isinstance(model, ApproximateModel):
        raise ParameterError(
            "approx has no counterpart in a scikit-learn estimator, and a pipeline is not made: fit without approx, "
            "or export a LinearSVC that is fitted to features of sklearn.kernel_approximation"
        )
    given = {name: value for name, value in (parameters or {}).items() if name in SHARED}
    check_unscaled(model.training, "scikit-learn")
    known = {name: model.training[name] for name in ("C", "nu", "epsilon") if name in model.training}
    return linear(model, given | known) if isinstance(model, LinearModel) else with_kernel(model, given | known)


def epochs_of(model: Model) -> int:
    """Return the epochs of the training, at least 1, for `n_iter_`."""
    epochs: Any = model.training.get("epochs")  # a file may hold anything
    return max(1, int(np.ceil(min(epochs, MOST_EPOCHS)))) if is_number(epochs) and epochs >= 1 else 1


def linear(model: LinearModel, parameters: dict[str, Any]) -> Any:
    """Return LinearSVC, LogisticRegression, or OneVsRestClassifier of LogisticRegression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer
    from sklearn.svm import LinearSVC

    if model.expansion is not None:
        raise ParameterError(
            f"expand={model.training['expand']!r} has no counterpart in a scikit-learn estimator: expand the rows "
            "before training, for example with maxmargin.PolynomialMap in a pipeline"
        )
    parameters = parameters | {
        "fit_intercept": model.training.get("bias") != "none",
        "intercept_scaling": model.training.get("bias_scale", 1.0),
    }
    epochs = epochs_of(model)
    if not has_probabilities(model.loss):
        loss = {"loss": model.loss} if model.loss in ("hinge", "squared_hinge") else {}
        return with_weights(made(LinearSVC, parameters | loss), model.classes, model.w, model.intercept, epochs)
    if len(model.classes) == 2:
        return with_weights(made(LogisticRegression, parameters), model.classes, model.w, model.intercept, epochs)
    found = OneVsRestClassifier(made(LogisticRegression, parameters))
    found.estimators_ = [
        with_weights(made(LogisticRegression, parameters), np.array([0, 1]), w[None, :], b[None], epochs)
        for w, b in zip(model.w, model.intercept, strict=True)
    ]
    found.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes)
    found.classes_, found.n_features_in_ = found.label_binarizer_.classes_, model.d
    return found


def with_weights(found: Any, classes: np.ndarray, w: np.ndarray, b: np.ndarray, epochs: int) -> Any:
    """Set the attributes of a fitted linear classifier."""
    from sklearn.svm import LinearSVC

    found.classes_, found.coef_, found.intercept_ = classes.copy(), np.array(w), np.array(b)
    found.n_features_in_ = w.shape[1]
    found.n_iter_ = epochs if isinstance(found, LinearSVC) else np.array([epochs], dtype=np.int32)
    return found


def with_kernel(model: KernelModel | KernelFunction, parameters: dict[str, Any]) -> Any:
    """Return SVC, NuSVC, SVR, NuSVR or OneClassSVM."""
    from sklearn import svm

    formulation = model.training.get("formulation", "C-SVC")
    parameters = parameters | kernel_parameters(model.kernel, parameters)
    sigmoids = model.sigmoids if isinstance(model, KernelModel) else None
    if sigmoids is not None:
        parameters["probability"] = True
    found = made(getattr(svm, CLASSES[formulation]), parameters)
    found.__dict__.update(vector_attributes(model))
    found.__dict__.update(
        _gamma=float(getattr(model.kernel, "gamma", 0.0)),
        _effective_probability=sigmoids is not None,
        _probA=np.zeros(0) if sigmoids is None else sigmoids[:, 0].copy(),
        _probB=np.zeros(0) if sigmoids is None else sigmoids[:, 1].copy(),
        n_features_in_=model.d,
        fit_status_=int(model.training.get("status") != Status.CONVERGED.value),
    )
    if isinstance(model, KernelModel):
        set_classes(found, model)
    else:
        set_function(found, model)
    return found


def set_classes(found: Any, model: KernelModel) -> None:
    """Set what a classifier has. The public attributes of two classes have the sign of the second class."""
    found.classes_, found.class_weight_ = model.classes.copy(), np.ones(len(model.classes))
    found._n_support = model.n_support.astype(np.int32)
    found._dual_coef_, found._intercept_ = coefficients_of(model.dual_coef, found._sparse), model.intercept
    turned = -1.0 if len(model.classes) == 2 else 1.0
    found.dual_coef_, found.intercept_ = found._dual_coef_ * turned, found._intercept_ * turned
    found.n_iter_ = found._num_iter = np.full(len(model.pairs), epochs_of(model), dtype=np.int32)


def set_function(found: Any, model: KernelFunction) -> None:
    """Set what a regression or one-class model has."""
    found._n_support = np.array([len(model.support), 0], dtype=np.int32)
    found._dual_coef_ = coefficients_of(model.coefficients[None, :], found._sparse)
    found._intercept_ = np.array([model.intercept])
    found.dual_coef_, found.intercept_ = found._dual_coef_, found._intercept_.copy()
    found.n_iter_, found._num_iter = epochs_of(model), np.full(1, epochs_of(model), dtype=np.int32)
    if model.formulation == "one-class":
        found.offset_ = -found.intercept_


def kernel_parameters(kernel: Kernel, given: dict[str, Any]) -> dict[str, Any]:
    """Return the kernel and its parameters. A γ that the user chose by name keeps its name."""
    if isinstance(kernel, Custom):
        return {"kernel": kernel.function}
    if kernel.name not in KERNELS:
        raise ParameterError(f"scikit-learn knows no kernel {kernel.name!r}: fit with a function as kernel")
    found = {name: getattr(kernel, name) for name in ("degree", "gamma", "coef0") if hasattr(kernel, name)}
    if isinstance(given.get("gamma"), str):
        found.pop("gamma", None)
    return {"kernel": KERNELS[kernel.name], **found}


def vector_attributes(model: KernelModel | KernelFunction) -> dict[str, Any]:
    """Return the support vectors as scikit-learn has them.

    With a function as kernel, scikit-learn keeps all rows and takes the kernel matrix as given. The support vectors are
    rows enough.
    """
    none, n = np.zeros((0, 0)), int(model.training.get("n", 0))
    if isinstance(model.kernel, Precomputed):
        places = model.support.astype(np.int32)
        return {"_sparse": False, "support_": places, "support_vectors_": none, "shape_fit_": (model.d, model.d)}
    vectors, count = matrix_of(model.vectors).astype(np.float64), count_rows(model.vectors)
    if isinstance(model.kernel, Custom):
        rows = {"_BaseLibSVM__Xfit": vectors, "shape_fit_": (count, model.d)}
        return {"_sparse": False, "support_": np.arange(count, dtype=np.int32), "support_vectors_": none, **rows}
    sparse = isinstance(model.vectors, Csr)
    if sparse:
        vectors.indices, vectors.indptr = vectors.indices.astype(np.int32), vectors.indptr.astype(np.int32)
    places = model.support.astype(np.int32)
    return {"_sparse": sparse, "support_": places, "support_vectors_": vectors, "shape_fit_": (n, model.d)}


def coefficients_of(values: np.ndarray, sparse: bool) -> Any:
    """Return coefficients for dense or sparse prediction, which reads all values of a sparse matrix, zeros included."""
    if not sparse:
        return np.array(values, dtype=np.float64, order="C")
    from scipy.sparse import csr_matrix

    rows, columns = values.shape
    places = np.tile(np.arange(columns, dtype=np.int32), rows)
    ends = np.arange(rows + 1, dtype=np.int32) * columns
    return csr_matrix((values.reshape(-1).astype(np.float64), places, ends), values.shape)


def made(kind: type, parameters: dict[str, Any]) -> Any:
    """Return an estimator with those of the parameters that it has."""
    found = kind()
    return found.set_params(**{name: value for name, value in parameters.items() if name in found.get_params()})
