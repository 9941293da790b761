"""SVC and NuSVC: kernel machines that classify, in scikit-learn's manner."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin.errors import ParameterError
from maxmargin.estimators.kernel_machine import KernelMachine
from maxmargin.estimators.linear_svc import ROWS
from maxmargin.kernel_model import KernelModel
from maxmargin.kernel_problem import Machine
from maxmargin.kernel_training import Make, check_settings
from maxmargin.machines import c_svc, nu_svc
from maxmargin.points import matrix_of
from maxmargin.problem import penalty
from maxmargin.training import prepare, with_kernel

SHAPES = ("ovr", "ovo")


class Classifier(ClassifierMixin, KernelMachine):
    """What SVC and NuSVC share: one machine for each pair of classes."""

    class_weight: Any
    decision_function_shape: str
    break_ties: bool

    def _fit(self, X: Any, y: Any, sample_weight: Any, make: Make, strength: float, said: dict[str, Any]) -> None:
        """Train, with `strength` times the weight of each example as what `make` makes a machine of."""
        if self.decision_function_shape not in SHAPES:
            raise ParameterError(f"decision_function_shape={self.decision_function_shape!r} must be one of {SHAPES}")
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        copies = self._weights(sample_weight, X)
        weights = copies * compute_sample_weight(self.class_weight, y)
        run = self._run()
        data = prepare(X, y, threads=run.threads)
        kernel = self._kernel(data.rows, copies)
        said = {"loss": "hinge", "bias": "free", "weighted": bool(np.any(weights != 1.0)), **said}
        self.result_ = with_kernel(data, kernel, make, strength * weights, run, said)
        self._describe(self._model())
        self._conclude(self.result_)

    def _describe(self, model: KernelModel) -> None:
        turned = -1.0 if len(model.classes) == 2 else 1.0
        self.classes_ = model.classes
        self.support_, self.n_support_ = model.support.astype(np.int32), model.n_support.astype(np.int32)
        self.support_vectors_ = matrix_of(model.vectors)
        self.dual_coef_, self.intercept_ = turned * model.dual_coef, turned * model.b
        self.n_iter_ = np.array([max(1, int(np.ceil(part.epochs))) for part in self.result_.parts], dtype=np.int32)

    @property
    def coef_(self) -> np.ndarray:
        """The weights of each pair of classes; of a linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only there for a linear kernel")
        model = self._model()
        vectors, coefficients, spans = self.support_vectors_, model.dual_coef, model.spans
        found = [
            coefficients[j - 1, spans[i]] @ vectors[spans[i]] + coefficients[i, spans[j]] @ vectors[spans[j]]
            for i, j in model.pairs
        ]
        return np.asarray(np.vstack(found) * (-1.0 if len(model.classes) == 2 else 1.0))

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,) for two classes, above zero meaning the second; else (n, k), or (n, number of pairs) for "ovo"."""
        model = self._model()
        X = self._checked(X)
        if self.decision_function_shape == "ovo" and len(model.classes) > 2:
            return model.decide_pairs(X, self.threads)
        return model.decide(X, self.threads)

    def predict(self, X: Any) -> np.ndarray:
        """Labels: by votes; with `break_ties`, by the decision values."""
        model = self._model()
        if self.break_ties and len(model.classes) > 2:
            if self.decision_function_shape == "ovo":
                raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
            return np.asarray(model.classes[np.argmax(self.decision_function(X), axis=1)])
        return model.predict(self._checked(X), self.threads)

    def _model(self) -> KernelModel:
        check_is_fitted(self, "result_")
        model = self.result_.model
        assert isinstance(model, KernelModel)
        return model


class SVC(Classifier):
    """Support vector classification with a kernel, that proves how good it is.

    Parameters are scikit-learn's, and those of `maxmargin.train`: `tol` is the relative duality gap to reach,
    `cache_size` megabytes of the kernel that may be held, None for a quarter of the free memory.

    Attributes
    ----------
    support_ : row numbers of the support vectors, those of each class together
    support_vectors_ : the support vectors
    n_support_ : how many each class has
    dual_coef_ : array (k - 1, number of support vectors): alpha, signed, for each pair of classes
    intercept_ : of each pair of classes
    classes_ : labels
    coef_ : the weights, where the kernel is linear
    fit_status_ : 0 if the certificate is within `tol`, else 1
    certificate_ : primal and dual objective, gap and relative gap, summed over the pairs
    result_ : all that `train` returned

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
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: int | None = None,
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        threads: int | None = None,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_seconds = max_seconds
        self.max_epochs = max_epochs
        self.threads = threads
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Train; a run that stops short of `tol` says so in a warning, with its certificate."""
        check_settings("hinge", penalty(1, self.C, None))
        self._fit(X, y, sample_weight, lambda y, C, _: c_svc(y, C), self.C, {"machine": "C-SVC", "C": float(self.C)})
        return self


class NuSVC(Classifier):
    """Support vector classification in which ν takes the place of C, and that proves how good it is.

    ν is at least the part of margin errors and at most the part of support vectors. The other parameters and the
    attributes are those of `SVC`. As in LIBSVM coefficients are divided by ρ, so that margins are at ±1; the
    certificate is of the problem before that.

    Examples
    --------
    >>> from maxmargin import NuSVC
    >>> svc = NuSVC(nu=0.5, gamma=1.0).fit([[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"])
    >>> svc.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['same', 'other']
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: int | None = None,
        max_seconds: float | None = None,
        max_epochs: float | None = None,
        threads: int | None = None,
        callback: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_seconds = max_seconds
        self.max_epochs = max_epochs
        self.threads = threads
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVC:
        """Train; a run that stops short of `tol` says so in a warning, with its certificate."""

        def make(y: np.ndarray, weights: np.ndarray, classes: tuple[Any, Any]) -> Machine:
            return nu_svc(y, weights, self.nu, classes)

        self._fit(X, y, sample_weight, make, 1.0, {"machine": "nu-SVC", "nu": self.nu})
        return self
