"""SVC and NuSVC: kernel machines that classify, in scikit-learn's manner."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin.errors import ParameterError
from maxmargin.estimators.interruptible import interruptible
from maxmargin.estimators.kernel_machine import KernelMachine
from maxmargin.estimators.linear_svc import ROWS
from maxmargin.kernel_training import Make, check_settings
from maxmargin.kernels.approximation import Approximation, checked_approximation
from maxmargin.kernels.points import matrix_of
from maxmargin.models.kernel import KernelModel
from maxmargin.models.linear import LabelModel
from maxmargin.problems.formulations import c_svc, largest_nu, nu_svc
from maxmargin.problems.kernel import Formulation
from maxmargin.problems.linear import penalty
from maxmargin.results import Result
from maxmargin.settings import checked_limits, checked_seed
from maxmargin.system.threads import thread_count
from maxmargin.training import Prepared, approximated, prepare, with_kernel

SHAPES = ("ovr", "ovo")
OF_THE_KERNEL = ("support_", "n_support_", "support_vectors_", "dual_coef_", "intercept_", "probA_", "probB_")


class Classifier(ClassifierMixin, KernelMachine):
    """What SVC and NuSVC share: one machine for each pair of classes."""

    probability: bool
    class_weight: Any
    decision_function_shape: str
    break_ties: bool
    result_: Result

    def _fit(self, X: Any, y: Any, sample_weight: Any, make: Make, strength: float, said: dict[str, Any]) -> None:
        """Train, with `strength` times the weight of each example as what `make` makes a machine of."""
        data, copies, weights = self._examples(X, y, sample_weight)
        kernel = self._kernel(data.rows, copies)
        said = {"loss": "hinge", "bias": "free", "weighted": bool(np.any(weights != 1.0)), **said}
        self.result_ = with_kernel(data, kernel, make, strength * weights, self._run(), said, self.probability)
        self._describe(self._model())
        self._conclude(self.result_)

    def _examples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Prepared, np.ndarray, np.ndarray]:
        """Rows and labels, what each example counts for, and the same with the weight of its class."""
        if self.decision_function_shape not in SHAPES:
            raise ParameterError(f"decision_function_shape={self.decision_function_shape!r} must be one of {SHAPES}")
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        copies = self._weights(sample_weight, X)
        weights = copies * compute_sample_weight(self.class_weight, y)
        return prepare(X, y, threads=thread_count(self.threads)), copies, weights

    def _describe(self, model: KernelModel) -> None:
        turned = -1.0 if len(model.classes) == 2 else 1.0
        self._forget()
        self.classes_ = model.classes
        self.support_, self.n_support_ = model.support.astype(np.int32), model.n_support.astype(np.int32)
        self.support_vectors_ = matrix_of(model.vectors)
        self.dual_coef_, self.intercept_ = turned * model.dual_coef, turned * model.intercept
        if model.sigmoids is not None:
            self.probA_, self.probB_ = model.sigmoids.T
        self.n_iter_ = self._iterations()

    def _forget(self) -> None:
        """What an earlier fit has left."""
        for name in OF_THE_KERNEL:
            self.__dict__.pop(name, None)

    def _iterations(self) -> np.ndarray:
        return np.array([max(1, int(np.ceil(part.epochs))) for part in self.result_.parts], dtype=np.int32)

    @property
    def coef_(self) -> np.ndarray:
        """The weights of each pair of classes; of a linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only there for a linear kernel")
        model = self._model()
        vectors, coefficients, spans = matrix_of(model.around(model.vectors)), model.dual_coef, model.spans
        found = [
            coefficients[j - 1, spans[i]] @ vectors[spans[i]] + coefficients[i, spans[j]] @ vectors[spans[j]]
            for i, j in model.pairs
        ]
        return np.asarray(np.vstack(found) * (-1.0 if len(model.classes) == 2 else 1.0))

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,) for two classes, above zero meaning the second; else (n, k), or (n, number of pairs) for "ovo"."""
        model = self._fitted()
        X = self._checked(X)
        if self.decision_function_shape == "ovo" and len(model.classes) > 2 and isinstance(model, KernelModel):
            return model.decide_pairs(X, self.threads)
        return model.decide(X, self.threads)

    def predict(self, X: Any) -> np.ndarray:
        """Labels: by votes; with `break_ties`, by the decision values."""
        model = self._fitted()
        if self.break_ties and len(model.classes) > 2:
            if self.decision_function_shape == "ovo":
                raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
            return np.asarray(model.classes[np.argmax(self.decision_function(X), axis=1)])
        return model.predict(self._checked(X), self.threads)

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, calibrated on five folds; the same data always give the same ones."""
        return self._fitted().probabilities(self._checked(X), self.threads)

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Their logarithms."""
        return np.asarray(np.log(self.predict_proba(X)))

    def _fitted(self) -> LabelModel:
        check_is_fitted(self, "result_")
        return self.result_.model

    def _model(self) -> KernelModel:
        model = self._fitted()
        if not isinstance(model, KernelModel):
            raise AttributeError("with approx there are no support vectors: the model is linear in its features")
        return model


class SVC(Classifier):
    """Support vector classification with a kernel, that proves how good it is.

    Parameters are scikit-learn's, and those of `maxmargin.train`: `tol` is the relative duality gap to reach,
    `cache_size` megabytes of the kernel that may be held, None for a quarter of the free memory. `approx`, `components`
    and `landmarks` put features in the place of the kernel, for more rows than a kernel can take; then more than two
    classes are one against the rest, there are no support vectors, and the certificate is of the problem with features.
    Ctrl-C keeps the best model so far and raises KeyboardInterrupt; with `on_interrupt="return"` the fit returns.

    Attributes
    ----------
    support_ : row numbers of the support vectors, those of each class together
    support_vectors_ : the support vectors
    n_support_ : how many each class has
    dual_coef_ : array (k - 1, number of support vectors): alpha, signed, for each pair of classes
    intercept_ : of each pair of classes
    classes_ : labels
    coef_ : the weights, where the kernel is linear
    probA_, probB_ : of each pair's sigmoid, with `probability`
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
        threads: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.approx = approx
        self.components = components
        self.landmarks = landmarks
        self.random_state = random_state
        self.max_seconds = max_seconds
        self.max_epochs = max_epochs
        self.threads = threads
        self.callback = callback
        self.on_interrupt = on_interrupt

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Train; a run that stops short of `tol` says so in a warning, with its certificate."""
        check_settings("hinge", penalty(1, self.C, None))
        approximation = checked_approximation(self.approx, self.components, self.landmarks)
        with interruptible(self.on_interrupt):
            if approximation is not None:
                self._fit_approximated(X, y, sample_weight, approximation)
            else:
                said = {"formulation": "C-SVC", "C": float(self.C)}
                self._fit(X, y, sample_weight, lambda y, C, *_: c_svc(y, C), self.C, said)
        return self

    def _fit_approximated(self, X: Any, y: Any, sample_weight: Any, approximation: Approximation) -> None:
        """Train a linear machine on features that stand for the kernel."""
        if self.probability:
            raise ParameterError("probability is for the kernel itself: with approx, use train(loss='logistic', ...)")
        if self.decision_function_shape == "ovo":
            raise ParameterError("decision_function_shape='ovo' is for the kernel itself: approx has one against rest")
        checked_limits(self.tol, self.max_seconds, self.max_epochs)
        seed = checked_seed(0 if self.random_state is None else self.random_state)
        data, copies, weights = self._examples(X, y, sample_weight)
        self.result_ = approximated(
            data, self._kernel(data.rows, copies), approximation, C=self.C, weights=weights, tol=self.tol,
            max_seconds=self.max_seconds, max_epochs=self.max_epochs, seed=seed,
            threads=thread_count(self.threads), callback=self.callback,
        )  # fmt: skip
        self._forget()
        self.classes_ = self.result_.model.classes
        self.n_iter_ = self._iterations()
        self._conclude(self.result_)


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
        probability: bool = False,
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
        on_interrupt: str = "raise",
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
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
        self.on_interrupt = on_interrupt

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVC:
        """Train; a run that stops short of `tol` says so in a warning, with its certificate."""

        def make(y: np.ndarray, weights: np.ndarray, classes: tuple[Any, Any], part: bool) -> Formulation:
            nu = min(self.nu, largest_nu(y, weights)) if part else self.nu  # a part may have a rarer class
            return nu_svc(y, weights, nu, classes)

        with interruptible(self.on_interrupt):
            self._fit(X, y, sample_weight, make, 1.0, {"formulation": "nu-SVC", "nu": self.nu})
        return self
