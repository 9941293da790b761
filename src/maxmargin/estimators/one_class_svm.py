"""OneClassSVM: novelty detection as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import validate_data

from maxmargin.estimators.base import ROWS, store
from maxmargin.estimators.function import FunctionEstimator


class OneClassSVM(OutlierMixin, FunctionEstimator):
    """Novelty detection with a certified duality gap: a region with all but about a fraction ν of the examples.

    Parameters are scikit-learn's; `tol` is the relative duality gap to reach. Ctrl-C keeps the best model so far and
    raises KeyboardInterrupt; with `on_interrupt="return"` the fit returns instead.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_ : as in scikit-learn
    fit_status_ : 0 if the certificate is within `tol`, else 1
    certificate_ : primal and dual objective, gap and relative gap
    model_ : the `KernelFunction`
    result_ : the `Result` of `train`: status, certificate, history

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
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        self._train(validate_data(self, X, **ROWS), None, sample_weight)
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
