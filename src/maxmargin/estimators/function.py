"""The base class for regression and novelty detection, whose models are one function of an example."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.base import iterations
from maxmargin.estimators.kernel import KernelEstimator, stored_like
from maxmargin.kernels.points import matrix_of


class FunctionEstimator(KernelEstimator):
    """An estimator whose model is one function, Σ c_i K(x_i, x) + b."""

    def _describe(self) -> None:
        model: Any = self.result_.model
        self.model_ = model
        self.support_ = model.support.astype(np.int32)
        self.support_vectors_ = matrix_of(model.vectors)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = stored_like(model.coefficients[None, :], self.support_vectors_)
        self.intercept_ = np.array([model.intercept])
        self.class_weight_ = np.zeros(0)
        self.n_iter_ = int(max(iterations(self.result_)))

    def _linear_weights(self) -> np.ndarray:
        function = self._fitted()
        return np.asarray(function.coefficients @ matrix_of(function.around(function.vectors))).reshape(1, -1)
