"""What the kernel estimators share: their settings as a run, a warning where one falls short, their tags."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin.data.columns import shifted
from maxmargin.data.rows import Rows
from maxmargin.estimators.linear_svc import ROWS
from maxmargin.kernel_training import Run, function_of
from maxmargin.kernels.functions import Kernel, find_kernel, kernel_centre
from maxmargin.kernels.points import matrix_of
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.solve import Outcome
from maxmargin.models.kernel_function import ONE_CLASS, KernelFunction
from maxmargin.problems.kernel import Formulation
from maxmargin.results import Result
from maxmargin.settings import checked_cache, checked_limits
from maxmargin.solvers import find_solver
from maxmargin.status import Status
from maxmargin.system.threads import thread_count


class KernelMachine(BaseEstimator):
    """Parameters that all of them have are read here; each names its own in `__init__`, as scikit-learn asks."""

    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    shrinking: bool
    tol: float
    cache_size: float | None
    max_seconds: float | None
    max_epochs: float | None
    threads: int | None
    callback: Any
    on_interrupt: str

    def _run(self) -> Run:
        """The settings of a training."""
        limits = checked_limits(self.tol, self.max_seconds, self.max_epochs)
        solver = find_solver("smo", {"shrinking": self.shrinking})
        return Run(solver, limits, checked_cache(self.cache_size), thread_count(self.threads), callback=self.callback)

    def _kernel(self, rows: Rows, copies: np.ndarray) -> Kernel:
        """The kernel that the settings mean; examples count by their weights."""
        return find_kernel(
            self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0, weights=copies
        )  # fmt: skip

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray:
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))

    def _fit_function(self, rows: Rows, kernel: Kernel, formulation: Formulation) -> None:
        """Train one machine and describe it as scikit-learn does."""
        run = self._run()
        centre = kernel_centre(kernel, rows, balanced=formulation.kind != ONE_CLASS)
        near = rows if centre is None else shifted(rows, centre)
        with noticed() as interrupt:
            outcome = replace(run, interrupt=interrupt).solve(near, kernel, formulation)
        self.result_: Any = outcome
        self.model_ = function_of(rows, kernel, outcome, run.summary(rows, formulation.kind, [outcome]), centre)
        self.support_ = self.model_.support.astype(np.int32)
        self.support_vectors_ = matrix_of(self.model_.vectors)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = self.model_.coefficients[None, :]
        self.intercept_ = np.array([self.model_.intercept])
        self.n_iter_: Any = max(1, int(np.ceil(outcome.epochs)))
        self._conclude(outcome)

    def _conclude(self, ended: Outcome | Result) -> None:
        """Keep certificate and status; say so where it falls short."""
        self.certificate_ = ended.certificate
        self.fit_status_ = int(ended.status is not Status.CONVERGED)
        if self.fit_status_:
            warnings.warn(f"{ended.certificate}. {ended.advice}", ConvergenceWarning, stacklevel=4)

    def _function(self) -> KernelFunction:
        check_is_fitted(self, "model_")
        return self.model_

    def _checked(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, **ROWS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
