"""LinearSVC: linear classification as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from maxmargin.estimators.base import ROWS, Estimator, iterations, store
from maxmargin.models.linear import has_probabilities


class LinearSVC(ClassifierMixin, Estimator):
    """Linear support vector classification with a certified duality gap.

    Parameters are those of `maxmargin.train`; `random_state` and `n_jobs` are its `seed` and `threads`.
    Ctrl-C keeps the best model so far and raises KeyboardInterrupt, so that a grid search ends; with
    `on_interrupt="return"` the fit returns instead.

    Attributes
    ----------
    coef_ : array (1, d) for two classes, (k, d) for more
    intercept_ : array (1,) or (k,)
    classes_ : labels
    n_iter_ : epochs used (the maximum over the classes)
    support_ : row numbers of the support vectors
    dual_coef_ : array (1 or k, number of support vectors): alpha times the label ±1
    certificate_ : primal and dual objective, gap and relative gap (summed over classes where there are several)
    result_ : the `Result` of `train`

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
        *,
        loss: str = "hinge",
        C: float = 1.0,
        lam: float | None = None,
        bias: str = "free",
        bias_scale: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        self._train(X, y, sample_weight)
        return self

    def _describe(self) -> None:
        model: Any = self.result_.model
        self.classes_, self.coef_, self.intercept_ = model.classes, model.w, model.intercept
        self.support_, self.dual_coef_ = model.support, model.dual_coef
        self.n_iter_ = int(max(iterations(self.result_)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values: (n,) for two classes, (n, k) for more."""
        return np.asarray(self._fitted().decide(self._checked(X), self._threads()))

    def predict(self, X: Any) -> np.ndarray:
        """Return labels."""
        return np.asarray(self._fitted().predict(self._checked(X), self._threads()))

    @available_if(lambda self: has_probabilities(self.loss))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, for a loss that has them, such as "logistic"."""
        return np.asarray(self._fitted().probabilities(self._checked(X), self._threads()))
