"""LinearSVC: the front door in scikit-learn's manner."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin.estimators.interruptible import interruptible
from maxmargin.models.linear import LinearModel
from maxmargin.status import Status
from maxmargin.training import train

ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}


class LinearSVC(ClassifierMixin, BaseEstimator):
    """Linear support vector classification that proves how good it is.

    Parameters are those of `maxmargin.train`; `class_weight` is scikit-learn's. Ctrl-C keeps the best model so far and
    raises KeyboardInterrupt, so that a search ends; with `on_interrupt="return"` the fit returns instead.

    Attributes
    ----------
    coef_ : array (1, d) for two classes, (k, d) for more
    intercept_ : array (1,) or (k,)
    classes_ : labels
    n_iter_ : epochs used (the most of any class)
    support_ : row numbers of the support vectors
    dual_coef_ : array (1 or k, number of support vectors): alpha times the label ±1
    certificate_ : primal and dual objective, gap and relative gap (summed over classes where there are several)
    result_ : all that `train` returned

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
        seed: int = 0,
        threads: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        self.loss = loss
        self.C = C
        self.lam = lam
        self.bias = bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.solver = solver
        self.options = options
        self.tol = tol
        self.max_seconds = max_seconds
        self.max_epochs = max_epochs
        self.seed = seed
        self.threads = threads
        self.callback = callback
        self.on_interrupt = on_interrupt
        self.checkpoint = checkpoint
        self.resume = resume

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Train; a run that stops short of `tol` says so in a warning, with its certificate."""
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        weights = None
        if sample_weight is not None or self.class_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            weights = weights * compute_sample_weight(self.class_weight, y)
        own = {"class_weight", "on_interrupt"}
        if self.bias != "regularised":
            own.add("bias_scale")  # a grid over biases has scales for all of them
        parameters = {name: value for name, value in self.get_params().items() if name not in own}
        with interruptible(self.on_interrupt):
            self.result_ = train(X, y, weights=weights, **parameters)
            self._describe(self._model())
            if self.result_.status is not Status.CONVERGED:
                warnings.warn(f"{self.result_.certificate}. {self.result_.advice}", ConvergenceWarning, stacklevel=2)
        return self

    def _describe(self, model: LinearModel) -> None:
        self.classes_, self.coef_, self.intercept_ = model.classes, model.w, model.intercept
        self.support_, self.dual_coef_ = model.support, model.dual_coef
        self.certificate_ = self.result_.certificate
        self.n_iter_ = max(1, int(np.ceil(max(part.epochs for part in self.result_.parts))))

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (n,) for two classes, (n, k) for more."""
        return self._model().decide(self._checked(X), self.threads)

    def predict(self, X: Any) -> np.ndarray:
        """Labels."""
        return self._model().predict(self._checked(X), self.threads)

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; for loss="logistic"."""
        return self._model().probabilities(self._checked(X), self.threads)

    def _model(self) -> LinearModel:
        check_is_fitted(self, "result_")
        model = self.result_.model
        assert isinstance(model, LinearModel)
        return model

    def _checked(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, **ROWS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
