"""LinearSVC: linear classification as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.metaestimators import available_if

from maxmargin.errors import ParameterError
from maxmargin.estimators.base import Estimator, iterations, store
from maxmargin.estimators.validation import check_classes, check_labels, validated
from maxmargin.models.linear import has_probabilities
from maxmargin.settings.checks import one_of

PENALTIES = ("l2", "l1")
MULTI_CLASS = ("ovr", "crammer_singer")


class LinearSVC(SparseCoefMixin, ClassifierMixin, Estimator):
    """Linear support vector classification with a certified duality gap.

    Minimises ½‖w‖² + Σ C s_i ℓ(y_i (⟨w, x_i⟩ + b)). It takes the place of scikit-learn's `LinearSVC`; docs/migrating.md
    lists the differences.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        The norm of the penalty. "l1" is not available yet and is refused.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        The loss. "logistic" gives a logistic regression, which has `predict_proba` without `probability`.
    dual : bool or "auto", default="auto"
        Checked, without effect: `solver` chooses between primal and dual methods. Combinations that scikit-learn
        refuses are refused.
    tol : float, default=1e-4
        The relative duality gap to reach. Its values cannot be compared with those of scikit-learn's `tol`.
    C : float, default=1.0
        The weight of the losses: the larger C, the weaker the regularisation. Above 0.
    multi_class : {"ovr"}, default="ovr"
        More than two classes are trained one against the rest. "crammer_singer" is not available yet and is refused.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    intercept_scaling : float or None, default=None
        None for an intercept that is not regularised. A number v is scikit-learn's model: the intercept is the weight
        of a constant feature of size v, and is regularised like the others. No effect without an intercept.
    class_weight : dict or "balanced", default=None
        C of each class is multiplied by its weight: {label: weight}, or n / (n_classes * count) for "balanced".
    verbose : int, default=0
        Whether to print a line for each certificate on standard output.
    random_state : int, RandomState or None, default=None
        The seed of solvers and approximations that use random numbers. None is 0: the same data give the same model.
    max_iter : float, default=-1
        The largest number of epochs (passes over the examples); -1 for no limit. A fit that stops there warns.
    solver : str, default="auto"
        The name of a solver; "auto" chooses one.
    options : dict or None, default=None
        Options of the solver.
    max_seconds : float or None, default=None
        The time limit of a fit, in seconds. A fit that stops there warns.
    callback : callable or None, default=None
        Called with a `Record` after each certificate. A true return value stops the fit.
    on_interrupt : {"raise", "return"}, default="raise"
        After Ctrl-C, the best model so far is kept, and `fit` raises KeyboardInterrupt or returns.
    checkpoint : path or None, default=None
        A file to which the run is saved every half minute and at its end.
    resume : bool, default=False
        Whether to continue from `checkpoint`.
    n_jobs : int or None, default=None
        The number of threads; None and -1 for all cores.
    lam : float or None, default=None
        λ of λ/2‖w‖² + (1/n) Σ ℓ, instead of C: C = 1/(nλ).
    probability : bool, default=False
        Whether to calibrate probabilities on five folds, without randomness, which takes six fits instead of one. No
        effect for "logistic".

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; sparse after `sparsify()`. Predictions use `coef_` and `intercept_`, also if they are replaced.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_weight_ : ndarray of shape (n_classes,)
        The weight of each class.
    n_iter_ : int
        The number of epochs, the maximum over the classes.
    support_ : ndarray of shape (n_SV,)
        The row numbers of the support vectors.
    dual_coef_ : ndarray of shape (1 or n_classes, n_SV)
        Alpha times the label ±1.
    fit_status_ : int
        0 if the certificate is within `tol`, else 1.
    certificate_ : Certificate
        Primal and dual objective, gap and relative gap, summed over the classes.
    result_ : Result
        The result of `train`: model, status, history.
    n_features_in_ : int
        The number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X has names that are all text.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> svc = LinearSVC(C=1.0).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], ["a", "a", "b", "b"])
    >>> svc.predict([[0.0, 0.0], [4.0, 4.0]]).tolist()
    ['a', 'b']
    >>> bool(svc.certificate_.relative_gap <= svc.tol)
    True
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: float = -1,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        checkpoint: Any = None,
        resume: bool = False,
        n_jobs: int | None = None,
        lam: float | None = None,
        probability: bool = False,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        check_combination(self.get_params(deep=False))
        check_labels(y)
        X, y = validated(self, X, y)
        check_classes(y)
        self._train(X, y, sample_weight)
        return self

    def _describe(self) -> None:
        model: Any = self.result_.model
        self.classes_, self.coef_, self.intercept_ = model.classes, model.w, model.intercept
        self.support_, self.dual_coef_ = model.support, model.dual_coef
        self.n_iter_ = int(max(iterations(self.result_)))

    def _fitted(self) -> Any:
        """Return the model, with `coef_` and `intercept_` if the user has replaced them."""
        model = super()._fitted()
        if self.coef_ is model.w and np.array_equal(self.intercept_, model.intercept):
            return model
        w = self.coef_.toarray() if issparse(self.coef_) else np.asarray(self.coef_, dtype=np.float64)
        b = np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), (len(w),))
        return replace(model, w=w, b=b, centre=None)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values: (n,) for two classes, (n, k) for more."""
        return np.asarray(self._fitted().decide(self._checked(X), self._threads()))

    def predict(self, X: Any) -> np.ndarray:
        """Return labels."""
        return np.asarray(self._fitted().predict(self._checked(X), self._threads()))

    @available_if(lambda self: self.probability or has_probabilities(self.loss))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities: those of the loss "logistic", or calibrated ones with `probability`.

        The largest calibrated probability may belong to another class than `predict` returns (docs/estimator.md).
        """
        return np.asarray(self._fitted().probabilities(self._checked(X), self._threads()))

    @available_if(lambda self: self.probability or has_probabilities(self.loss))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities; −inf for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


def check_combination(parameters: dict[str, Any]) -> None:
    """Check `penalty`, `dual` and `multi_class`; refuse what scikit-learn refuses, and what is not available yet."""
    penalty, loss, dual = (parameters[name] for name in ("penalty", "loss", "dual"))
    one_of(*PENALTIES)("penalty", penalty)
    one_of(*MULTI_CLASS)("multi_class", parameters["multi_class"])
    if not (isinstance(dual, (bool, np.bool_)) or (isinstance(dual, str) and dual == "auto")):
        raise ParameterError(f"dual={dual!r} must be 'auto', True or False; it has no effect: solver= chooses")
    if reason := unsupported(penalty, loss, dual):
        given = f"penalty={penalty!r}, loss={loss!r}, dual={dual!r}"
        raise ParameterError(f"Unsupported set of arguments: {reason}, Parameters: {given}")
    if penalty == "l1":
        raise ParameterError("penalty='l1' is not available yet: use penalty='l2'")
    if parameters["multi_class"] == "crammer_singer":
        raise ParameterError("multi_class='crammer_singer' is not available yet: use multi_class='ovr'")


def unsupported(penalty: str, loss: Any, dual: Any) -> str:
    """Return why scikit-learn refuses a combination; empty if it takes it."""
    if penalty == "l1" and loss == "hinge":
        return "The combination of penalty='l1' and loss='hinge' is not supported"
    if penalty == "l2" and loss == "hinge" and dual in (False,):
        return "The combination of penalty='l2' and loss='hinge' is not supported when dual=False"
    if penalty == "l1" and dual in (True,):
        return f"The combination of penalty='l1' and loss={loss!r} is not supported when dual=True"
    return ""
