"""The base class for regression and novelty detection, whose models are one function of an example."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.base import Estimator, iterations
from maxmargin.kernels.points import matrix_of


class FunctionEstimator(Estimator):
    """An estimator whose model is one function, Σ c_i K(x_i, x) + b."""

    def _describe(self) -> None:
        model: Any = self.result_.model
        self.model_ = model
        self.support_ = model.support.astype(np.int32)
        self.support_vectors_ = matrix_of(model.vectors)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = model.coefficients[None, :]
        self.intercept_ = np.array([model.intercept])
        self.n_iter_ = int(max(iterations(self.result_)))
