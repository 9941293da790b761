"""The base class of the estimators: it translates their parameters for `train`, and handles fits that end early.

Parameters have scikit-learn's names; `TRANSLATION` maps them to those of `train`. An estimator's fit calls `train` and
sets the attributes that scikit-learn's estimators have.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from maxmargin.data.examples import weights_of_classes
from maxmargin.data.labels import show
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.callbacks import CallbackSupportMixin, fit_task, reporting, with_callbacks
from maxmargin.estimators.names import estimator_names, renamed, unknown_name
from maxmargin.estimators.validation import validated
from maxmargin.kernels.functions import has_parameter
from maxmargin.loop.interrupts import postponed
from maxmargin.loop.loop import Callback
from maxmargin.loop.record import Record
from maxmargin.loop.record_text import as_text
from maxmargin.models.linear import has_probabilities
from maxmargin.models.to_sklearn import to_sklearn
from maxmargin.results import Result
from maxmargin.settings.checks import CHECKS
from maxmargin.status import Status
from maxmargin.system.values import check_flag, is_number, is_whole
from maxmargin.training.train import train

ON_INTERRUPT = ("raise", "return")
NO_LIMIT = -1  # the value of max_iter for no limit, as in scikit-learn
EVERY_CORE = -1  # the value of n_jobs for all cores
WARNING_LEVEL = 4  # calls from the warning to the line that calls `fit`


def store(estimator: Any, parameters: dict[str, Any]) -> None:
    """Set every parameter of `__init__` as an attribute, as scikit-learn requires."""
    estimator.__dict__.update((name, value) for name, value in parameters.items() if name not in ("self", "__class__"))


def seed_of(random_state: Any) -> Any:
    """Return the seed for scikit-learn's `random_state`. None is 0, so that the same data give the same model."""
    if random_state is None:
        return 0
    return int(random_state.randint(1 << 31)) if hasattr(random_state, "randint") else random_state


def threads_of(n_jobs: Any) -> Any:
    """Return the number of threads; None for all cores."""
    return None if is_whole(n_jobs) and n_jobs == EVERY_CORE else n_jobs


def epochs_of(max_iter: Any) -> float | None:
    """Return the limit of epochs; None for no limit."""
    if is_number(max_iter) and max_iter == NO_LIMIT:
        return None
    if not (is_number(max_iter) and max_iter > 0):
        raise ParameterError(f"max_iter={max_iter!r} must be a number of epochs above 0, or -1 for no limit")
    return float(max_iter)


def scale_of(intercept_scaling: Any) -> Any:
    """Return the size of the constant feature; 1 if there is none."""
    return 1.0 if intercept_scaling is None else intercept_scaling


def has_sigmoids(probability: Any) -> Any:
    """Return whether probabilities are wanted: not if `probability` has its default, "deprecated"."""
    return False if isinstance(probability, str) and probability == "deprecated" else probability


def unchanged(value: Any) -> Any:
    """Return the value of a parameter that only has another name in `train`."""
    return value


# The name of a parameter in the estimators, its name in `train`, and how its value is translated. `bias` of `train`
# follows from `fit_intercept` and `intercept_scaling` together (see `bias_of`). Other names are the same in both.
TRANSLATION: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "max_iter": ("max_epochs", epochs_of),
    "cache_size": ("cache", unchanged),
    "random_state": ("seed", seed_of),
    "n_jobs": ("threads", threads_of),
    "intercept_scaling": ("bias_scale", scale_of),
    "probability": ("probability", has_sigmoids),
}
ELSEWHERE = {"bias": "fit_intercept", **{other: name for name, (other, _) in TRANSLATION.items()}}

# Parameters that `train` lacks. They are used by the estimators, or are only checked: penalty, dual, multi_class.
OWN = {
    "penalty", "dual", "multi_class", "fit_intercept", "verbose", "shrinking", "decision_function_shape", "break_ties",
    "on_interrupt", "Cs", "gammas", "cv", "scoring", "rule",
}  # fmt: skip

# If the condition is false, the parameter has no effect and is not passed on: grids and pipelines may set it.
NEEDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "bias_scale": lambda given: given["bias"] == "regularised",
    "gamma": lambda given: has_parameter(given["kernel"], "gamma"),
    "degree": lambda given: has_parameter(given["kernel"], "degree"),
    "coef0": lambda given: has_parameter(given["kernel"], "coef0"),
    "cache": lambda given: given.get("approx") is None,
    "components": lambda given: given["approx"] is not None,
    "landmarks": lambda given: given["approx"] == "nystrom",
    "probability": lambda given: not has_probabilities(given.get("loss", "hinge")),
}


class Estimator(CallbackSupportMixin, BaseEstimator):
    """An estimator whose fit calls `train` for its `task`, with its parameters translated."""

    task: ClassVar[str] = "classify"
    result_: Result
    classes_: Any

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, found once: reading a signature takes longer than a small fit."""
        return list(super()._get_param_names())

    def __new__(cls, *positional: Any, **parameters: Any) -> Any:
        """Refuse an unknown parameter and name the nearest known one."""
        for name in parameters.keys() - set(cls._get_param_names()):
            message = f"{cls.__name__}() got an unexpected keyword argument {name!r}"
            raise TypeError(f"{message}: {unknown_name(name, cls._get_param_names(), ELSEWHERE)}")
        return super().__new__(cls)

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters, as in scikit-learn. An unknown name is refused, and the nearest known one is named."""
        for name in parameters:
            if name.partition("__")[0] not in self._get_param_names():
                message = f"Invalid parameter {name!r} for estimator {type(self).__name__}"
                raise ParameterError(f"{message}: {unknown_name(name, self._get_param_names(), ELSEWHERE)}")
        return super().set_params(**parameters)

    @with_callbacks
    def _train(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Train, set the fitted attributes, and warn if the run stops before `tol` is reached."""
        parameters = self.get_params(deep=False)
        task, data = fit_task(self, X, y, sample_weight)
        with interruptible(parameters["on_interrupt"]), estimator_names():
            weights = None if sample_weight is None else self._weights(sample_weight, X, y)
            plain = weights is None and parameters.get("class_weight") is None
            if self.task == "classify" and not plain:
                self.class_weight_ = checked_class_weights(y, weights, parameters["class_weight"])
            given = self._parameters(parameters)
            if task is not None:
                given["callback"] = reporting(self, task, data, given["callback"])
            self.result_ = self._result(X, y, weights, given)
            self._describe()
            if self.task == "classify" and plain:
                self.class_weight_ = np.ones(len(self.classes_))
            self.certificate_ = self.result_.certificate
            self.fit_status_ = int(self.result_.status is not Status.CONVERGED)
            if task is not None:
                task.call_on_fit_task_end(estimator=self, reconstruction_attributes={}, **data)
            if self.fit_status_:
                warnings.warn(self._warning(parameters["max_iter"]), ConvergenceWarning, stacklevel=WARNING_LEVEL)

    def _result(self, X: Any, y: Any, weights: Any, given: dict[str, Any]) -> Result:
        """Train with the parameters for `train`."""
        return train(X, y, task=self.task, weights=weights, **given)

    def _warning(self, max_iter: Any) -> str:
        """Return the text of the warning about a fit that stopped early; at `max_iter` it begins as scikit-learn's."""
        message = renamed(f"{self.result_.certificate}. {self.result_.advice}")
        if self.result_.status is not Status.EPOCH_LIMIT:
            return message
        return (
            f"Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with StandardScaler or "
            f"MinMaxScaler. {message}"
        )

    def _parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters for `train`. Those without effect are checked and dropped: grids may set them."""
        found: dict[str, Any] = {}
        for name, value in parameters.items():
            if name not in OWN:
                other, translated = TRANSLATION.get(name, (name, unchanged))
                found[other] = translated(value)
        check_verbose(parameters["verbose"])
        if parameters["verbose"]:
            CHECKS["callback"]("callback", found["callback"])
            found["callback"] = printing(type(self).__name__, found["callback"])
        if "fit_intercept" in parameters:
            found["bias"] = bias_of(parameters["fit_intercept"], parameters["intercept_scaling"])
        for name in [name for name, holds in NEEDS.items() if name in found and not holds(found)]:
            CHECKS[name](name, found.pop(name))
        return found

    def _weights(self, sample_weight: Any, X: Any, y: Any) -> np.ndarray:
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))

    def _describe(self) -> None:
        """Set the attributes that scikit-learn's estimators have."""
        raise NotImplementedError

    def _checked(self, X: Any) -> Any:
        return validated(self, X, reset=False)

    def _threads(self) -> Any:
        """Return the number of threads; None for all cores."""
        return threads_of(self.get_params(deep=False)["n_jobs"])

    def _fitted(self) -> Any:
        check_is_fitted(self, "result_")
        return self.result_.model

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn estimator that predicts the same; `maxmargin.from_sklearn` is the way back."""
        found = to_sklearn(self._fitted(), self.get_params())
        if hasattr(self, "feature_names_in_"):
            found.feature_names_in_ = self.feature_names_in_
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def bias_of(fit_intercept: Any, intercept_scaling: Any) -> str:
    """Return the bias for `train`: none, a constant feature of the size `intercept_scaling`, or not regularised."""
    check_flag("fit_intercept", fit_intercept)
    if not fit_intercept:
        return "none"
    return "free" if intercept_scaling is None else "regularised"


def check_verbose(verbose: Any) -> None:
    """Refuse anything but a boolean or a whole number, 0 or above."""
    if not (isinstance(verbose, (bool, np.bool_)) or (is_whole(verbose) and verbose >= 0)):
        raise ParameterError(f"verbose={verbose!r} must be True, False or a whole number, 0 or above")


def checked_class_weights(y: Any, weights: np.ndarray | None, class_weight: Any) -> np.ndarray:
    """Return the weight of each class. Refuse a class all of whose examples have the weight 0."""
    CHECKS["class_weight"]("class_weight", class_weight)
    classes, codes = np.unique(y, return_inverse=True)
    found = weights_of_classes(class_weight, classes, codes)
    for label in classes[np.bincount(codes, weights) * found <= 0.0]:
        raise DataError(f"all examples of class {show(label)} have the weight 0: weight one, or leave the class out")
    return found


def printing(name: str, callback: Callback | None) -> Callback:
    """Return a callback that prints a line for each certificate, and then calls the given one."""

    def show(record: Record) -> Any:
        text = f"{as_text(record)}, {record.seconds:.1f} s" if isinstance(record, Record) else record.progress
        print(f"[{name}] {text}", flush=True)
        return callback(record) if callback is not None else None

    return show


@contextmanager
def interruptible(on_interrupt: str) -> Iterator[None]:
    """Let a fit that Ctrl-C ends keep its best model; then raise KeyboardInterrupt, to end a grid search too."""
    if on_interrupt not in ON_INTERRUPT:
        raise ParameterError(f"on_interrupt={on_interrupt!r} is not known: choose one of {', '.join(ON_INTERRUPT)}")
    with postponed() as signals:
        try:
            yield
        finally:
            if signal.SIGINT in signals and on_interrupt == "raise":
                raise KeyboardInterrupt


def iterations(result: Result) -> np.ndarray:
    """Return the epochs of each problem, at least 1."""
    return np.array([max(1, int(np.ceil(part.epochs))) for part in result.parts], dtype=np.int32)
