"""Estimators from scikit-learn's: the same class, the same predictions, and a certificate that claims nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import svm
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.labels import check_kept, plain
from maxmargin.data.pick import pick
from maxmargin.data.rows import Dense, Rows, count_columns, count_stored
from maxmargin.data.take import take
from maxmargin.errors import ParameterError
from maxmargin.estimators.base import Estimator
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.one_class_svm import OneClassSVM
from maxmargin.estimators.svc import SVC, NuSVC
from maxmargin.estimators.svr import SVR, NuSVR
from maxmargin.kernels.functions import KERNELS, Custom, Kernel, kernel_of
from maxmargin.loop.outcome import Outcome
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.linear import LinearModel, Model
from maxmargin.models.to_sklearn import CLASSES, SHARED
from maxmargin.models.to_sklearn import KERNELS as THEIR_KERNELS
from maxmargin.problems.certificate import Certificate
from maxmargin.results import together
from maxmargin.status import Status

UNKNOWN = Certificate(np.inf, -np.inf)
FORMULATIONS = {name: formulation for formulation, name in CLASSES.items()}
LINEAR_PARAMETERS = {"C", "class_weight", "random_state", "fit_intercept", "intercept_scaling"}


def from_sklearn(estimator: Any) -> Any:
    """Return the maxmargin estimator that predicts what a fitted scikit-learn estimator predicts.

    `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM` and `LinearSVC` become estimators of the same name;
    `LogisticRegression` of two classes, and `OneVsRestClassifier` of `LogisticRegression`, become
    `LinearSVC(loss="logistic")`. Parameters with the same meaning are taken over.

    The certificate is infinite, because scikit-learn proves nothing: `certificate_.gap` is inf and `fit_status_` is 1.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> import maxmargin
    >>> theirs = SVC(gamma=1.0).fit([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> ours = maxmargin.from_sklearn(theirs)
    >>> ours.predict([[0.5], [3.5]]).tolist(), ours.certificate_.gap
    (['no', 'yes'], inf)
    """
    if isinstance(estimator, Pipeline):
        raise ParameterError(
            "from_sklearn takes an estimator, not a pipeline: convert its last step, from_sklearn(pipeline[-1])"
        )
    if type(estimator) not in CONVERTERS:
        raise ParameterError(
            f"from_sklearn does not take {type(estimator).__name__}: give a fitted scikit-learn estimator, one of "
            f"{', '.join(kind.__name__ for kind in CONVERTERS)}"
        )
    check_is_fitted(estimator)
    return CONVERTERS[type(estimator)](estimator)


def from_linear(theirs: Any) -> LinearSVC:
    """Convert LinearSVC, or LogisticRegression of two classes."""
    logistic = isinstance(theirs, LogisticRegression)
    if logistic and len(theirs.classes_) > 2:
        raise ParameterError(
            "LogisticRegression of three classes or more couples them by a softmax, which maxmargin lacks: fit "
            "OneVsRestClassifier(LogisticRegression()) instead"
        )
    w = theirs.coef_.toarray() if issparse(theirs.coef_) else theirs.coef_
    loss = "logistic" if logistic else theirs.loss
    return linear_estimator(theirs, theirs.get_params(), loss, theirs.classes_, w, theirs.intercept_)


def from_one_vs_rest(theirs: Any) -> LinearSVC:
    """Convert OneVsRestClassifier of LogisticRegression."""
    parts = theirs.estimators_
    if theirs.multilabel_ or not all(type(part) is LogisticRegression for part in parts):
        raise ParameterError(
            "from_sklearn takes OneVsRestClassifier only with LogisticRegression, and one label for each row"
        )
    w, b = np.vstack([part.coef_ for part in parts]), np.concatenate([np.atleast_1d(part.intercept_) for part in parts])
    return linear_estimator(theirs, theirs.estimator.get_params(), "logistic", theirs.classes_, w, b)


def linear_estimator(
    theirs: Any, parameters: dict[str, Any], loss: str, classes: np.ndarray, w: np.ndarray, b: Any
) -> LinearSVC:
    """Return a LinearSVC with these weights."""
    known = LinearSVC().get_params()
    wanted = {name: value for name, value in parameters.items() if name in LINEAR_PARAMETERS}
    if "bias" in known:
        wanted["bias"] = "regularised" if parameters["fit_intercept"] else "none"
        wanted["bias_scale"] = float(parameters["intercept_scaling"])
    ours = LinearSVC(**{name: value for name, value in {**wanted, "loss": loss}.items() if name in known})
    w = np.ascontiguousarray(w, dtype=np.float64)
    b = np.broadcast_to(np.asarray(b, dtype=np.float64), (len(w),)).copy()  # without an intercept it is one 0.0
    training = summary_of(theirs, w.shape[1]) | {"loss": loss, "C": float(parameters["C"])}
    none = np.zeros(0, dtype=np.int64)
    model = LinearModel(kept(classes), w, b, none, np.zeros((len(w), 0)), UNKNOWN, training)
    adopt(ours, theirs, model, len(w))
    return ours


def from_kernel(theirs: Any) -> Any:
    """Convert SVC, NuSVC, SVR, NuSVR or OneClassSVM."""
    kernel, (vectors, d) = kernel_of_theirs(theirs), vectors_of_theirs(theirs)
    formulation = FORMULATIONS[type(theirs).__name__]
    training = summary_of(theirs, d) | {"formulation": formulation, "nnz": count_stored(vectors)}
    support, dual = theirs.support_.astype(np.int64), theirs.dual_coef_
    dual = np.asarray(dual.toarray() if issparse(dual) else dual, dtype=np.float64)
    parameters = {name: value for name, value in theirs.get_params().items() if name in SHARED | {"kernel"}}
    model: Model
    if hasattr(theirs, "classes_"):
        model = classifier(theirs, vectors, support, dual, kernel, training)
        parameters["probability"] = model.sigmoids is not None
    else:
        b = float(theirs.intercept_[0])
        model = KernelFunction(vectors, support, dual.reshape(-1), b, 0.0, kernel, UNKNOWN, training)
    ours = OURS[type(theirs)]()
    ours.set_params(**{name: value for name, value in parameters.items() if name in ours.get_params()})
    adopt(ours, theirs, model, len(theirs.intercept_))
    if isinstance(ours, NuSVR):
        ours.epsilon_ = np.nan  # scikit-learn does not keep it
    return ours


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


def adopt(ours: Any, theirs: Any, model: Model, problems: int) -> None:
    """Set the attributes that a fit sets. The status is SETTLED: another solver's own rule ended the training."""
    rounds = np.broadcast_to(np.max(getattr(theirs, "n_iter_", 1), initial=1), (problems,)).tolist()
    nothing = np.zeros(0)
    parts = [Outcome(nothing, 0.0, nothing, UNKNOWN, Status.SETTLED, count, 0.0, []) for count in rounds]
    ours.result_ = together(model, parts, model.training["solver"], f"converted from {type(theirs).__name__}")
    ours.result_.reason = "scikit-learn trained the model, which gives no certificate"
    ours._describe()
    ours.certificate_, ours.fit_status_, ours.n_features_in_ = UNKNOWN, 1, model.d
    if hasattr(theirs, "feature_names_in_"):
        ours.feature_names_in_ = theirs.feature_names_in_


def summary_of(theirs: Any, d: int) -> dict[str, Any]:
    """Return the summary of the training."""
    n = int(getattr(theirs, "shape_fit_", (0,))[0])
    return {"solver": f"scikit-learn {type(theirs).__name__}", "status": Status.SETTLED.value, "n": n, "d": d, "nnz": 0}


def kept(classes: np.ndarray) -> np.ndarray:
    """Return labels of a type that a model file can store."""
    found = plain(classes) if classes.dtype.kind in "OT" else classes.copy()
    check_kept(found)
    return found


OURS = {svm.SVC: SVC, svm.NuSVC: NuSVC, svm.SVR: SVR, svm.NuSVR: NuSVR, svm.OneClassSVM: OneClassSVM}
CONVERTERS: dict[type, Callable[[Any], Estimator]] = {
    svm.LinearSVC: from_linear,
    LogisticRegression: from_linear,
    OneVsRestClassifier: from_one_vs_rest,
    **dict.fromkeys(OURS, from_kernel),
}
