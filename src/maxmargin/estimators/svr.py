"""SVR and NuSVR: regression with a kernel, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.estimators.base import store
from maxmargin.estimators.function import FunctionEstimator


class Regressor(RegressorMixin, FunctionEstimator):
    """The base class of SVR and NuSVR."""

    task: ClassVar[str] = "regress"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        X, y = self._validated(X, y, y_numeric=True)
        self._train(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted values."""
        return np.asarray(self._fitted().decide(self._checked(X), self._threads()))


class SVR(Regressor):
    """Support vector regression with a kernel and a certified duality gap.

    Minimises ½‖w‖² + C Σ max(0, |y_i − f(x_i)| − ε). It takes the place of scikit-learn's `SVR`; docs/migrating.md
    lists the differences.

    Parameters
    ----------
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
    tol : float, default=1e-4
        The relative duality gap to reach. Its values cannot be compared with those of scikit-learn's `tol`.
    C : float, default=1.0
        The weight of the losses, above 0: the larger C, the weaker the regularisation. C=inf trains with C=1e10, and
        the certificate is for that C.
    epsilon : float, default=0.1
        Errors up to ε cost nothing.
    shrinking : bool, default=True
        Whether the solver "smo" sets aside variables that are likely to stay at their bounds. No effect on the optimum.
    cache_size : float or None, default=None
        Megabytes for the cached part of the kernel matrix; None for a quarter of the free memory.
    verbose : bool or int, default=False
        Whether to print a line for each certificate on standard output.
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

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        The row numbers of the support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (1,)
        The number of support vectors.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        The coefficients of the support vectors.
    intercept_ : ndarray of shape (1,)
        The intercept.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        The weights; only for a linear kernel. Read-only.
    n_iter_ : int
        The number of epochs.
    shape_fit_ : tuple of int
        The shape of X in `fit`.
    class_weight_ : ndarray of shape (0,)
        Empty: there are no classes.
    model_ : KernelFunction
        The model of `train`.
    fit_status_ : int
        0 if the certificate is within `tol`, else 1.
    certificate_ : Certificate
        Primal and dual objective, gap and relative gap.
    result_ : Result
        The result of `train`: model, status, history.
    n_features_in_ : int
        The number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X has names that are all text.

    Examples
    --------
    >>> from maxmargin import SVR
    >>> svr = SVR(C=100.0, epsilon=0.01, gamma=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> bool(abs(svr.predict([[2.0]])[0] - 4.0) < 0.05)
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | None = None,
        verbose: bool | int = False,
        max_iter: float = -1,
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


class NuSVR(Regressor):
    """Support vector regression in which ν replaces ε, with a certified duality gap.

    It takes the place of scikit-learn's `NuSVR`; docs/migrating.md lists the differences.

    Parameters
    ----------
    nu : float, default=0.5
        About the fraction of examples outside the tube, in (0, 1]. It replaces `epsilon`.
    C : float, default=1.0
        The weight of the losses, above 0: the larger C, the weaker the regularisation. C=inf trains with C=1e10, and
        the certificate is for that C.
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
    tol : float, default=1e-4
        The relative duality gap to reach. Its values cannot be compared with those of scikit-learn's `tol`.
    cache_size : float or None, default=None
        Megabytes for the cached part of the kernel matrix; None for a quarter of the free memory.
    verbose : bool or int, default=False
        Whether to print a line for each certificate on standard output.
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

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        The row numbers of the support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (1,)
        The number of support vectors.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        The coefficients of the support vectors.
    intercept_ : ndarray of shape (1,)
        The intercept.
    epsilon_ : float
        The ε that ν leads to.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        The weights; only for a linear kernel. Read-only.
    n_iter_ : int
        The number of epochs.
    shape_fit_ : tuple of int
        The shape of X in `fit`.
    class_weight_ : ndarray of shape (0,)
        Empty: there are no classes.
    model_ : KernelFunction
        The model of `train`.
    fit_status_ : int
        0 if the certificate is within `tol`, else 1.
    certificate_ : Certificate
        Primal and dual objective, gap and relative gap.
    result_ : Result
        The result of `train`: model, status, history.
    n_features_in_ : int
        The number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X has names that are all text.

    Examples
    --------
    >>> from maxmargin import NuSVR
    >>> svr = NuSVR(C=100.0, nu=0.5, gamma=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> svr.predict([[2.0]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-4,
        cache_size: float | None = None,
        verbose: bool | int = False,
        max_iter: float = -1,
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

    def _describe(self) -> None:
        super()._describe()
        self.epsilon_ = self.model_.width
