"""SVR and NuSVR: regression with a kernel, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from maxmargin.estimators.base import ROWS, store
from maxmargin.estimators.function import FunctionEstimator


class Regressor(RegressorMixin, FunctionEstimator):
    """The base class of SVR and NuSVR."""

    task: ClassVar[str] = "regress"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        X, y = validate_data(self, X, y, y_numeric=True, **ROWS)
        self._train(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted values."""
        return np.asarray(self._fitted().decide(self._checked(X), self._threads()))


class SVR(Regressor):
    """Support vector regression with a kernel and a certified duality gap.

    Minimises ½‖w‖² + C Σ max(0, |y_i − f(x_i)| − ε). Parameters are scikit-learn's; `tol` is the relative duality gap
    to reach, `cache_size` the megabytes of the kernel cache, None for a quarter of the free memory. Ctrl-C keeps the
    best model so far and raises KeyboardInterrupt; with `on_interrupt="return"` the fit returns instead.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_ : as in scikit-learn
    fit_status_ : 0 if the certificate is within `tol`, else 1
    certificate_ : primal and dual objective, gap and relative gap
    model_ : the `KernelFunction`
    result_ : the `Result` of `train`: status, certificate, history

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
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
    ) -> None:
        store(self, locals())


class NuSVR(Regressor):
    """Support vector regression in which ν replaces ε: about the fraction of examples outside the tube.

    The other parameters and the attributes are those of `SVR`; `epsilon_` is the ε that ν leads to.

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
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
    ) -> None:
        store(self, locals())

    def _describe(self) -> None:
        super()._describe()
        self.epsilon_ = self.model_.width
