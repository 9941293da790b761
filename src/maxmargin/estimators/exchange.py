"""Estimators from scikit-learn's: the same class, the same predictions, and a certificate that claims nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import svm
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.errors import ParameterError
from maxmargin.estimators.base import Estimator
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.one_class_svm import OneClassSVM
from maxmargin.estimators.svc import SVC, NuSVC
from maxmargin.estimators.svr import SVR, NuSVR
from maxmargin.loop.outcome import Outcome
from maxmargin.models.from_sklearn import kernel_model_of, linear_model_of
from maxmargin.models.linear import Model
from maxmargin.models.to_sklearn import SHARED
from maxmargin.results import together
from maxmargin.status import Status

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
    wanted = {name: value for name, value in parameters.items() if name in LINEAR_PARAMETERS}
    ours = LinearSVC(**{**wanted, "loss": loss})
    adopt(ours, theirs, linear_model_of(theirs, loss, float(parameters["C"]), classes, w, b), len(w))
    return ours


def from_kernel(theirs: Any) -> Any:
    """Convert SVC, NuSVC, SVR, NuSVR or OneClassSVM."""
    model = kernel_model_of(theirs)
    parameters = {name: value for name, value in theirs.get_params().items() if name in SHARED | {"kernel"}}
    parameters["probability"] = True if getattr(model, "sigmoids", None) is not None else "deprecated"
    ours = OURS[type(theirs)]()
    ours.set_params(**{name: value for name, value in parameters.items() if name in ours.get_params()})
    adopt(ours, theirs, model, len(theirs.intercept_))
    if isinstance(ours, NuSVR):
        ours.epsilon_ = np.nan  # scikit-learn does not keep it
    return ours


def adopt(ours: Any, theirs: Any, model: Model, problems: int) -> None:
    """Set the attributes that a fit sets. The status is SETTLED: another solver's own rule ended the training."""
    rounds = np.broadcast_to(np.max(getattr(theirs, "n_iter_", 1), initial=1), (problems,)).tolist()
    nothing = np.zeros(0)
    parts = [Outcome(nothing, 0.0, nothing, model.certificate, Status.SETTLED, count, 0.0, []) for count in rounds]
    ours.result_ = together(model, parts, model.training["solver"], f"converted from {type(theirs).__name__}")
    ours.result_.reason = "scikit-learn trained the model, which gives no certificate"
    ours._describe()
    ours.certificate_, ours.fit_status_, ours.n_features_in_ = model.certificate, 1, model.d
    if hasattr(theirs, "feature_names_in_"):
        ours.feature_names_in_ = theirs.feature_names_in_


OURS = {svm.SVC: SVC, svm.NuSVC: NuSVC, svm.SVR: SVR, svm.NuSVR: NuSVR, svm.OneClassSVM: OneClassSVM}
CONVERTERS: dict[type, Callable[[Any], Estimator]] = {
    svm.LinearSVC: from_linear,
    LogisticRegression: from_linear,
    OneVsRestClassifier: from_one_vs_rest,
    **dict.fromkeys(OURS, from_kernel),
}
