"""The base class of the estimators: it translates their parameters for `train`, and handles fits that end early.

Parameters have scikit-learn's names; `NAMES` maps them to those of `train`. An estimator's fit calls `train` and sets
the attributes that scikit-learn's estimators have.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels.functions import has_parameter
from maxmargin.loop.interrupts import postponed
from maxmargin.models.to_sklearn import to_sklearn
from maxmargin.results import Result
from maxmargin.settings.checks import CHECKS
from maxmargin.status import Status
from maxmargin.training.train import train

ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}
NAMES = {"cache_size": "cache", "random_state": "seed", "n_jobs": "threads"}  # scikit-learn's name, name in `train`
OWN = {"on_interrupt", "decision_function_shape", "break_ties", "shrinking"}  # parameters that `train` lacks
ON_INTERRUPT = ("raise", "return")
EVERY_CORE = -1  # the value of n_jobs for all cores


def store(estimator: Any, parameters: dict[str, Any]) -> None:
    """Set every parameter of `__init__` as an attribute, as scikit-learn requires."""
    estimator.__dict__.update((name, value) for name, value in parameters.items() if name not in ("self", "__class__"))


class Estimator(BaseEstimator):
    """An estimator whose fit calls `train` for its `task`, with its parameters translated."""

    task: ClassVar[str] = "classify"
    result_: Result

    def _train(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Train, set the fitted attributes, and warn if the run stops before `tol` is reached."""
        parameters = self.get_params()
        with interruptible(parameters["on_interrupt"]):
            weights = None if sample_weight is None else self._weights(sample_weight, X, y)
            self.result_ = train(X, y, task=self.task, weights=weights, **self._parameters(parameters))
            self._describe()
            self.certificate_ = self.result_.certificate
            self.fit_status_ = int(self.result_.status is not Status.CONVERGED)
            if self.fit_status_:
                message = f"{self.result_.certificate}. {self.result_.advice}"
                warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def _parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters for `train`. Those without effect are checked and dropped: grids may set them."""
        found = {NAMES.get(name, name): value for name, value in parameters.items() if name not in OWN}
        if "seed" in found:
            found["seed"] = seed_of(found["seed"])
        found["threads"] = self._threads()
        if parameters.get("shrinking", True) is not True and found.get("approx") is None:
            found["options"] = {"shrinking": parameters["shrinking"]}
        for name in [name for name, holds in NEEDS.items() if name in found and not holds(found)]:
            CHECKS[name](name, found.pop(name))
        return found

    def _weights(self, sample_weight: Any, X: Any, y: Any) -> np.ndarray:
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))

    def _describe(self) -> None:
        """Set the attributes that scikit-learn's estimators have."""
        raise NotImplementedError

    def _checked(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, **ROWS)

    def _threads(self) -> int | None:
        """Return the number of threads; None for all cores."""
        threads = self.get_params()["n_jobs"]
        return None if threads == EVERY_CORE else threads

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
        kernel = self.get_params().get("kernel")
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


class KernelEstimator(Estimator):
    """An estimator with a kernel. Examples with a negative weight do not count, as in scikit-learn."""

    support_vectors_: Any

    def _weights(self, sample_weight: Any, X: Any, y: Any) -> np.ndarray:
        checked = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
        weights = np.maximum(checked, 0.0)
        if not np.any(weights):
            raise DataError("Invalid input - all samples have zero or negative weights.")
        return np.asarray(weights)

    @property
    def coef_(self) -> Any:
        """The weights, sparse if the training data are; only for a linear kernel. Read-only: the model has its own."""
        if self.get_params()["kernel"] != "linear":
            raise AttributeError("coef_ is only there for a linear kernel")
        found = stored_like(self._linear_weights(), self.support_vectors_)
        (found.data if issparse(found) else found).flags.writeable = False
        return found

    def _linear_weights(self) -> np.ndarray:
        """Return w of each problem, for a linear kernel."""
        raise NotImplementedError


def stored_like(values: np.ndarray, vectors: Any) -> Any:
    """Return the values as a sparse matrix if the support vectors are sparse, as scikit-learn does."""
    return type(vectors)(values) if issparse(vectors) else values


def seed_of(random_state: Any) -> Any:
    """Return the seed for scikit-learn's `random_state`. None is 0, so that the same data give the same model."""
    if random_state is None:
        return 0
    return int(random_state.randint(1 << 31)) if hasattr(random_state, "randint") else random_state


NEEDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "bias_scale": lambda given: given["bias"] == "regularised",
    "gamma": lambda given: has_parameter(given["kernel"], "gamma"),
    "degree": lambda given: has_parameter(given["kernel"], "degree"),
    "coef0": lambda given: has_parameter(given["kernel"], "coef0"),
    "cache": lambda given: given.get("approx") is None,
    "components": lambda given: given["approx"] is not None,
    "landmarks": lambda given: given["approx"] == "nystrom",
}  # if the condition is false, the estimator drops the parameter: grids and pipelines may set it all the same


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
