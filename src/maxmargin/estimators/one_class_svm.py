"""OneClassSVM: novelty detection as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from maxmargin.estimators.base import store
from maxmargin.estimators.function import FunctionEstimator


class OneClassSVM(OutlierMixin, FunctionEstimator):
    """Novelty detection with a certified duality gap: a region with all but about a fraction ν of the examples.

    It takes the place of scikit-learn's `OneClassSVM`; docs/migrating.md lists the differences.

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
    nu : float, default=0.5
        About the fraction of examples outside the region, in (0, 1].
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
    offset_ : ndarray of shape (1,)
        decision_function(X) = score_samples(X) - offset_.
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
    >>> from maxmargin import OneClassSVM
    >>> usual = OneClassSVM(nu=0.4, gamma=1.0).fit([[0.0], [0.1], [0.2], [0.3], [9.0]])
    >>> usual.predict([[0.15], [5.0]]).tolist()
    [1, -1]
    """

    task: ClassVar[str] = "novelty"

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        nu: float = 0.5,
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        self._train(self._validated(X), None, sample_weight)
        return self

    def _describe(self) -> None:
        super()._describe()
        self.offset_ = -self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values: positive inside the region, 0 on its boundary up to rounding, negative outside."""
        return np.asarray(self._fitted().decide(self._checked(X), self._threads()))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return decision values before `offset_` is subtracted."""
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 inside the region and on its boundary, −1 outside."""
        return np.asarray(self._fitted().predict(self._checked(X), self._threads()))
