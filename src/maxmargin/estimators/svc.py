"""SVC and NuSVC: classification with a kernel, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.base import ROWS, KernelEstimator, iterations, store, stored_like
from maxmargin.kernels.points import matrix_of
from maxmargin.models.kernel import KernelModel

SHAPES = ("ovr", "ovo")
OF_THE_KERNEL = ("support_", "n_support_", "support_vectors_", "dual_coef_", "intercept_", "probA_", "probB_")


class Classifier(ClassifierMixin, KernelEstimator):
    """The base class of SVC and NuSVC: one problem for each pair of classes."""

    one_class_left: ClassVar[str] = "Invalid input - all samples with positive weights belong to the same class"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train. If the run stops before `tol` is reached, a warning gives the certificate."""
        parameters = self.get_params()
        shape = parameters["decision_function_shape"]
        if shape not in SHAPES:
            raise ParameterError(f"decision_function_shape={shape!r} must be one of {SHAPES}")
        if shape == "ovo" and parameters.get("approx") is not None:
            raise ParameterError("decision_function_shape='ovo' is for the kernel itself: approx has one against rest")
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        self._train(X, y, sample_weight)
        return self

    def _weights(self, sample_weight: Any, X: Any, y: Any) -> np.ndarray:
        weights = super()._weights(sample_weight, X, y)
        if len(np.unique(y[weights > 0.0])) == 1:
            raise DataError(f"{self.one_class_left}: give examples of another class a weight above 0")
        return weights

    def _describe(self) -> None:
        for name in OF_THE_KERNEL:  # from an earlier fit
            self.__dict__.pop(name, None)
        model: Any = self.result_.model
        self.classes_, self.n_iter_ = model.classes, iterations(self.result_)
        if not isinstance(model, KernelModel):
            return
        turned = -1.0 if len(model.classes) == 2 else 1.0
        self.support_, self.n_support_ = model.support.astype(np.int32), model.n_support.astype(np.int32)
        self.support_vectors_ = matrix_of(model.vectors)
        self.dual_coef_ = stored_like(turned * model.dual_coef, self.support_vectors_)
        self.intercept_ = turned * model.intercept
        if model.sigmoids is not None:
            self.probA_, self.probB_ = model.sigmoids.T

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
        model, shape = self._fitted(), self.get_params()["decision_function_shape"]
        X = self._checked(X)
        if shape == "ovo" and len(model.classes) > 2 and isinstance(model, KernelModel):
            return model.decide_pairs(X, self._threads())
        return np.asarray(model.decide(X, self._threads()))

    def predict(self, X: Any) -> np.ndarray:
        """Return labels: by votes or, with `break_ties`, by the decision values."""
        model, parameters = self._fitted(), self.get_params()
        if parameters["break_ties"] and len(model.classes) > 2:
            if parameters["decision_function_shape"] == "ovo":
                raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
            return np.asarray(model.classes[np.argmax(self.decision_function(X), axis=1)])
        return np.asarray(model.predict(self._checked(X), self._threads()))

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, calibrated on five folds. The same data always give the same probabilities."""
        return np.asarray(self._fitted().probabilities(self._checked(X), self._threads()))

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities."""
        return np.asarray(np.log(self.predict_proba(X)))

    def _model(self) -> KernelModel:
        model = self._fitted()
        if not isinstance(model, KernelModel):
            raise AttributeError("with approx there are no support vectors: the model is linear in its features")
        return model


class SVC(Classifier):
    """Support vector classification with a kernel and a certified duality gap.

    Parameters are scikit-learn's and those of `maxmargin.train`. `tol` is the relative duality gap to reach,
    `cache_size` the megabytes of the kernel cache, None for a quarter of the free memory. `approx`, `components` and
    `landmarks` replace the kernel by explicit features, for more rows than a kernel can take. Then more than two
    classes are trained one against the rest, there are no support vectors, and the certificate is for the problem with
    features. Ctrl-C keeps the best model so far and raises KeyboardInterrupt; with `on_interrupt="return"` the fit
    returns.

    Attributes
    ----------
    support_ : row numbers of the support vectors, grouped by class
    support_vectors_ : the support vectors
    n_support_ : the number of support vectors of each class
    dual_coef_ : array (k - 1, number of support vectors): alpha, signed, for each pair of classes
    intercept_ : the bias of each pair of classes
    classes_ : labels
    coef_ : the weights, for a linear kernel
    probA_, probB_ : A and B of each pair's sigmoid, with `probability`
    fit_status_ : 0 if the certificate is within `tol`, else 1
    certificate_ : primal and dual objective, gap and relative gap, summed over the pairs
    result_ : the `Result` of `train`

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
        probability: bool = False,
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        approx: str | None = None,
        components: int = 500,
        landmarks: str = "auto",
        random_state: int | None = None,
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
    ) -> None:
        store(self, locals())


class NuSVC(Classifier):
    """Support vector classification in which ν replaces C, with a certified duality gap.

    ν is at least the fraction of margin errors and at most the fraction of support vectors. The other parameters and
    the attributes are those of `SVC`. As in LIBSVM, coefficients are divided by ρ, so that margins are at ±1; the
    certificate is for the problem before this division.

    Examples
    --------
    >>> from maxmargin import NuSVC
    >>> svc = NuSVC(nu=0.5, gamma=1.0).fit([[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"])
    >>> svc.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['same', 'other']
    """

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
        probability: bool = False,
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: int | None = None,
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
    ) -> None:
        store(self, locals())
