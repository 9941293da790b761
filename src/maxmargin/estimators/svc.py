"""SVC and NuSVC: classification with a kernel, as scikit-learn estimators."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.base import has_sigmoids, iterations, store
from maxmargin.estimators.kernel import KernelEstimator, stored_like
from maxmargin.estimators.validation import check_classes, check_labels
from maxmargin.kernels.points import matrix_of
from maxmargin.models.kernel import KernelModel
from maxmargin.settings.checks import one_of
from maxmargin.system.values import check_flag

SHAPES = ("ovr", "ovo")
OF_THE_KERNEL = ("support_", "n_support_", "support_vectors_", "dual_coef_", "intercept_")


class Classifier(ClassifierMixin, KernelEstimator):
    """The base class of SVC and NuSVC: one problem for each pair of classes."""

    probability: Any
    one_class_left: ClassVar[str] = "Invalid input - all samples with positive weights belong to the same class"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        parameters = self.get_params(deep=False)
        shape = parameters["decision_function_shape"]
        one_of(*SHAPES)("decision_function_shape", shape)
        check_flag("break_ties", parameters["break_ties"])
        if shape == "ovo" and parameters.get("approx") is not None:
            raise ParameterError("decision_function_shape='ovo' is for the kernel itself: approx has one against rest")
        self._warn_of_probability(parameters["probability"])
        check_labels(y)
        X, y = self._validated(X, y)
        check_classes(y)
        self._train(X, y, sample_weight)
        return self

    def _warn_of_probability(self, probability: Any) -> None:
        """Warn that `probability` is deprecated, if it is given, as scikit-learn 1.9 does."""
        if isinstance(probability, str) and probability == "deprecated":
            return
        name = type(self).__name__
        warnings.warn(
            f"The `probability` parameter is deprecated, as in scikit-learn 1.9, which removes it in 1.11: use "
            f"`CalibratedClassifierCV({name}(), ensemble=False)` instead of `{name}(probability=True)`",
            FutureWarning,
            stacklevel=3,
        )

    def _weights(self, sample_weight: Any, X: Any, y: Any) -> np.ndarray:
        weights = super()._weights(sample_weight, X, y)
        if len(np.unique(y[weights > 0.0])) == 1:
            raise DataError(f"{self.one_class_left}: give examples of another class a weight above 0")
        return weights

    def _describe(self) -> None:
        for name in OF_THE_KERNEL:  # from an earlier fit
            self.__dict__.pop(name, None)
        model: Any = self.result_.model
        self._calibrated = bool(has_sigmoids(self.probability))
        self.classes_, self.n_iter_ = model.classes, iterations(self.result_)
        if not isinstance(model, KernelModel):
            return
        turned = -1.0 if len(model.classes) == 2 else 1.0
        self.support_, self.n_support_ = model.support.astype(np.int32), model.n_support.astype(np.int32)
        self.support_vectors_ = matrix_of(model.vectors)
        self.dual_coef_ = stored_like(turned * model.dual_coef, self.support_vectors_)
        self.intercept_ = turned * model.intercept

    def _linear_weights(self) -> np.ndarray:
        model = self._model()
        vectors, coefficients, spans = matrix_of(model.around(model.vectors)), model.dual_coef, model.spans
        found = [
            coefficients[j - 1, spans[i]] @ vectors[spans[i]] + coefficients[i, spans[j]] @ vectors[spans[j]]
            for i, j in model.pairs
        ]
        return np.asarray(np.vstack(found) * (-1.0 if len(model.classes) == 2 else 1.0))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values: (n,) for two classes, > 0 for the second; else (n, k), or (n, pairs) for "ovo"."""
        model, shape = self._fitted(), self.get_params(deep=False)["decision_function_shape"]
        X = self._checked(X)
        if shape == "ovo" and len(model.classes) > 2 and isinstance(model, KernelModel):
            return model.decide_pairs(X, self._threads())
        return np.asarray(model.decide(X, self._threads()))

    def predict(self, X: Any) -> np.ndarray:
        """Return labels: by votes or, with `break_ties`, by the decision values."""
        model, parameters = self._fitted(), self.get_params(deep=False)
        if parameters["break_ties"] and len(model.classes) > 2:
            if parameters["decision_function_shape"] == "ovo":
                raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
            return np.asarray(model.classes[np.argmax(self.decision_function(X), axis=1)])
        return np.asarray(model.predict(self._checked(X), self._threads()))

    @available_if(lambda self: has_sigmoids(self.probability))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, calibrated on five folds. The same data always give the same probabilities."""
        model = self._fitted()
        if not self._calibrated:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return np.asarray(model.probabilities(self._checked(X), self._threads()))

    @available_if(lambda self: has_sigmoids(self.probability))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities."""
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def probA_(self) -> np.ndarray:
        """A of the sigmoid of each pair of classes; empty without `probability`. Deprecated."""
        return self._sigmoids("probA_", 0)

    @property
    def probB_(self) -> np.ndarray:
        """B of the sigmoid of each pair of classes; empty without `probability`. Deprecated."""
        return self._sigmoids("probB_", 1)

    def _sigmoids(self, name: str, column: int) -> np.ndarray:
        sigmoids = self._model().sigmoids
        message = f"Attribute `{name}` was deprecated in scikit-learn 1.9, together with `probability`"
        warnings.warn(message, FutureWarning, stacklevel=3)
        return np.zeros(0) if sigmoids is None else np.asarray(sigmoids[:, column])

    def _model(self) -> KernelModel:
        model = self._fitted()
        if not isinstance(model, KernelModel):
            raise AttributeError("with approx there are no support vectors: the model is linear in its features")
        return model


class SVC(Classifier):
    """Support vector classification with a kernel and a certified duality gap.

    It takes the place of scikit-learn's `SVC`; docs/migrating.md lists the differences.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the losses, above 0: the larger C, the weaker the regularisation. C=inf trains with C=1e10, and
        the certificate is for that C; with `approx`, it is a hard margin.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel. For "precomputed", X is the kernel matrix: (n, n) in `fit`, (rows, n) in `predict`. A callable
        f(X, Z) returns the matrix of K(x, z) for all pairs; X may be any sequence, such as a list of texts.
    degree : int, default=3
        The degree of the polynomial kernel; no effect for other kernels.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of "rbf", "poly" and "sigmoid": a number above 0, "scale" for 1 / (n_features * X.var()), or "auto" for
        1 / n_features. No effect for other kernels.
    coef0 : float, default=0.0
        The constant term of "poly" and "sigmoid"; no effect for other kernels.
    shrinking : bool, default=True
        Whether the solver "smo" sets aside variables that are likely to stay at their bounds. No effect on the optimum.
    probability : bool, default="deprecated"
        Whether to calibrate probabilities on five folds, without randomness. Deprecated, as in scikit-learn 1.9: a
        value gives a FutureWarning and works. Use `CalibratedClassifierCV` instead.
    tol : float, default=1e-4
        The relative duality gap to reach. Its values cannot be compared with those of scikit-learn's `tol`.
    cache_size : float or None, default=None
        Megabytes for the cached part of the kernel matrix; None for a quarter of the free memory.
    class_weight : dict or "balanced", default=None
        C of each class is multiplied by its weight: {label: weight}, or n / (n_classes * count) for "balanced".
    verbose : bool or int, default=False
        Whether to print a line for each certificate on standard output.
    max_iter : float, default=-1
        The largest number of epochs (passes over the examples); -1 for no limit. A fit that stops there warns.
    decision_function_shape : {"ovo", "ovr"}, default="ovr"
        Whether `decision_function` has a column for each class ("ovr") or for each pair of classes ("ovo"). Training is
        always by pairs.
    break_ties : bool, default=False
        Whether `predict` takes the largest decision value instead of the first class with the most votes. Only for more
        than two classes and `decision_function_shape="ovr"`.
    random_state : int, RandomState or None, default=None
        The seed of solvers and approximations that use random numbers. None is 0: the same data give the same model.
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
    approx : {"nystrom", "fourier"} or None, default=None
        Approximate the kernel by `components` explicit features and train a linear model on them, one class against the
        rest. There are no support vectors, and the certificate is for the problem with these features.
    components : int, default=500
        The number of features of `approx`.
    landmarks : {"auto", "kmeans", "leverage", "uniform"}, default="auto"
        How the landmarks of `approx="nystrom"` are chosen; "auto" is "kmeans" for arrays and "leverage" for sparse X.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        The row numbers of the support vectors, grouped by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (n_classes,)
        The number of support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Alpha with the sign of the class, for each pair of classes.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The intercept of each pair of classes.
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        The weights; only for a linear kernel. Read-only.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_weight_ : ndarray of shape (n_classes,)
        The weight of each class.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The epochs of each pair of classes.
    shape_fit_ : tuple of int
        The shape of X in `fit`.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        A and B of the sigmoid of each pair, with `probability=True`; deprecated, as in scikit-learn 1.9.
    fit_status_ : int
        0 if the certificate is within `tol`, else 1.
    certificate_ : Certificate
        Primal and dual objective, gap and relative gap, summed over the pairs.
    result_ : Result
        The result of `train`: model, status, history.
    n_features_in_ : int
        The number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X has names that are all text.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> svc = SVC(C=10.0, gamma=1.0).fit([[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"])
    >>> svc.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['same', 'other']
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: float = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        checkpoint: Any = None,
        resume: bool = False,
        n_jobs: int | None = None,
        approx: str | None = None,
        components: int = 500,
        landmarks: str = "auto",
    ) -> None:
        store(self, locals())


class NuSVC(Classifier):
    """Support vector classification in which ν replaces C, with a certified duality gap.

    As in LIBSVM, coefficients are divided by ρ, so that margins are at ±1; the certificate is for the problem before
    this division. It takes the place of scikit-learn's `NuSVC`; docs/migrating.md lists the differences.

    Parameters
    ----------
    nu : float, default=0.5
        An upper bound on the fraction of margin errors and a lower bound on the fraction of support vectors, in (0, 1].
        An infeasible ν is refused; the message names the largest feasible one.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel. For "precomputed", X is the kernel matrix: (n, n) in `fit`, (rows, n) in `predict`. A callable
        f(X, Z) returns the matrix of K(x, z) for all pairs; X may be any sequence, such as a list of texts.
    degree : int, default=3
        The degree of the polynomial kernel; no effect for other kernels.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of "rbf", "poly" and "sigmoid": a number above 0, "scale" for 1 / (n_features * X.var()), or "auto" for
        1 / n_features. No effect for other kernels.
    coef0 : float, default=0.0
        The constant term of "poly" and "sigmoid"; no effect for other kernels.
    shrinking : bool, default=True
        Whether the solver "smo" sets aside variables that are likely to stay at their bounds. No effect on the optimum.
    probability : bool, default="deprecated"
        Whether to calibrate probabilities on five folds, without randomness. Deprecated, as in scikit-learn 1.9: a
        value gives a FutureWarning and works. Use `CalibratedClassifierCV` instead.
    tol : float, default=1e-4
        The relative duality gap to reach. Its values cannot be compared with those of scikit-learn's `tol`.
    cache_size : float or None, default=None
        Megabytes for the cached part of the kernel matrix; None for a quarter of the free memory.
    class_weight : dict or "balanced", default=None
        The weight of the examples of each class: {label: weight}, or n / (n_classes * count) for "balanced".
    verbose : bool or int, default=False
        Whether to print a line for each certificate on standard output.
    max_iter : float, default=-1
        The largest number of epochs (passes over the examples); -1 for no limit. A fit that stops there warns.
    decision_function_shape : {"ovo", "ovr"}, default="ovr"
        Whether `decision_function` has a column for each class ("ovr") or for each pair of classes ("ovo"). Training is
        always by pairs.
    break_ties : bool, default=False
        Whether `predict` takes the largest decision value instead of the first class with the most votes. Only for more
        than two classes and `decision_function_shape="ovr"`.
    random_state : int, RandomState or None, default=None
        The seed of solvers and approximations that use random numbers. None is 0: the same data give the same model.
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

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        The row numbers of the support vectors, grouped by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (n_classes,)
        The number of support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Alpha with the sign of the class, for each pair of classes.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The intercept of each pair of classes.
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        The weights; only for a linear kernel. Read-only.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_weight_ : ndarray of shape (n_classes,)
        The weight of each class.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The epochs of each pair of classes.
    shape_fit_ : tuple of int
        The shape of X in `fit`.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        A and B of the sigmoid of each pair, with `probability=True`; deprecated, as in scikit-learn 1.9.
    fit_status_ : int
        0 if the certificate is within `tol`, else 1.
    certificate_ : Certificate
        Primal and dual objective, gap and relative gap, summed over the pairs.
    result_ : Result
        The result of `train`: model, status, history.
    n_features_in_ : int
        The number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X has names that are all text.

    Examples
    --------
    >>> from maxmargin import NuSVC
    >>> svc = NuSVC(nu=0.5, gamma=1.0).fit([[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"])
    >>> svc.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['same', 'other']
    """

    probability: Any
    one_class_left: ClassVar[str] = (
        "specified nu is infeasible, since all samples with positive weights are of one class"
    )

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: float = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        checkpoint: Any = None,
        resume: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        store(self, locals())
