"""The base class of the estimators with a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, _num_samples

from maxmargin.errors import DataError
from maxmargin.estimators.base import Estimator
from maxmargin.estimators.validation import validated
from maxmargin.system.values import check_flag

LARGEST_C = 1e10  # the C that is used for C=inf with a kernel; beyond it, rounding is larger than the tolerance
WITH_SHRINKING = ("auto", "smo")  # values of `solver` for which `shrinking` has an effect


class KernelEstimator(Estimator):
    """An estimator with a kernel. Examples with a negative weight do not count, as in scikit-learn.

    A kernel that is a Python function may be given anything that has a length, such as a list of texts. Then the whole
    kernel matrix is computed by one call, and `_inputs` keeps the training examples for predictions.
    """

    kernel: Any
    support_vectors_: Any
    _inputs: Any = None

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return X, or X and y, checked as by scikit-learn; X is a kernel matrix if the kernel is given other data."""
        kernel, self._inputs = self.kernel, None
        if issparse(X) and isinstance(kernel, str) and kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported: pass K.toarray()")
        if not callable(kernel) or is_matrix(X):
            found = validated(self, X, *y, **options)
            rows = found[0] if y else found
            self.shape_fit_ = rows.shape
            if isinstance(kernel, str) and kernel != "precomputed":
                check_squares(rows)
            return found
        check_consistent_length(X, *y)
        self.shape_fit_ = np.shape(X) if hasattr(X, "shape") else (_num_samples(X),)
        self._inputs = X
        K = self._kernel_matrix(X)
        return (K, column_or_1d(y[0], warn=True)) if y else K

    def _checked(self, X: Any) -> Any:
        return super()._checked(X) if self._inputs is None else self._kernel_matrix(X)

    def _kernel_matrix(self, X: Any) -> np.ndarray:
        """Return K(x, z) for every x of X and every training example z, from one call of the kernel."""
        shape = (_num_samples(X), _num_samples(self._inputs))
        K = np.asarray(self.get_params(deep=False)["kernel"](X, self._inputs), dtype=np.float64)
        if K.shape != shape:
            raise DataError(
                f"the kernel function returned shape {K.shape} for {shape[0]} examples against {shape[1]}: it must "
                f"return {shape}, K(x, z) for every pair"
            )
        return K

    def _parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        kernel = parameters["kernel"] if self._inputs is None else "precomputed"
        found = super()._parameters({**parameters, "kernel": kernel})
        check_flag("shrinking", parameters["shrinking"])
        exact = found.get("approx") is None
        if not parameters["shrinking"] and exact and found["solver"] in WITH_SHRINKING:
            found["options"] = {"shrinking": False, **(found["options"] or {})}
        if exact and isinstance(found.get("C"), float) and found["C"] == np.inf:
            found["C"] = LARGEST_C
        return found

    def _weights(self, sample_weight: Any, X: Any, y: Any) -> np.ndarray:
        checked = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
        weights = np.maximum(checked, 0.0)
        if not np.any(weights):
            raise DataError("Invalid input - all samples have zero or negative weights.")
        return np.asarray(weights)

    @property
    def coef_(self) -> Any:
        """The weights, sparse if the training data are; only for a linear kernel. Read-only: the model has its own."""
        if self.get_params(deep=False)["kernel"] != "linear":
            raise AttributeError("coef_ is only there for a linear kernel")
        found = stored_like(self._linear_weights(), self.support_vectors_)
        (found.data if issparse(found) else found).flags.writeable = False
        return found

    def _linear_weights(self) -> np.ndarray:
        """Return w of each problem, for a linear kernel."""
        raise NotImplementedError

    @property
    def _gamma(self) -> float:
        """γ as a number, as other programs read it from scikit-learn's estimators; 0 for a kernel without it."""
        return float(getattr(self._fitted().kernel, "gamma", 0.0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.get_params(deep=False)["kernel"]
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


def check_squares(X: Any) -> None:
    """Refuse rows with values whose squares overflow."""
    values = X.data if issparse(X) else X
    limit = np.sqrt(np.finfo(np.float64).max / (4.0 * max(X.shape[1], 1)))  # differences are up to twice as large
    if values.size and max(-float(np.min(values)), float(np.max(values))) > limit:
        raise DataError(
            f"The dual coefficients or intercepts are not finite: squares of values in X overflow above {limit:.1e}: "
            "scale the features"
        )


def is_matrix(X: Any) -> bool:
    """Whether X holds numbers in rows and columns; a kernel that is a Python function may be given other data."""
    if issparse(X):
        return True
    try:
        values = np.asarray(X)
        if values.dtype.kind == "O":
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return values.ndim == 2 and values.dtype.kind in "biuf"


def stored_like(values: np.ndarray, vectors: Any) -> Any:
    """Return the values as a sparse matrix if the support vectors are sparse, as scikit-learn does."""
    return type(vectors)(values) if issparse(vectors) else values
