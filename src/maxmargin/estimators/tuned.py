"""LinearSVCCV and SVCCV: classification whose C, and γ of a kernel, are chosen by cross-validation.

As scikit-learn's `LogisticRegressionCV`, they are fitted like the estimator without CV, and choose by themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.estimators.base import store
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.svc import SVC
from maxmargin.results import Result
from maxmargin.tuning.table import Candidate
from maxmargin.tuning.tune import tune
from maxmargin.tuning.tuning import Tuning


class SearchMixin:
    """The part of an estimator that chooses C and γ before it trains."""

    tuning_: Tuning
    _groups: Any = None

    def _result(self, X: Any, y: Any, weights: Any, given: dict[str, Any]) -> Result:
        """Choose, and train with the chosen values."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        cv = 5 if parameters["cv"] is None else parameters["cv"]
        tuning = tune(
            X, y, Cs=parameters["Cs"], gammas=parameters.get("gammas"), folds=cv, groups=self._groups,
            scoring=parameters["scoring"], rule=parameters["rule"], weights=weights, **given,
        )  # fmt: skip
        if tuning.result is None:
            raise ParameterError("the search ended before any fit: raise max_seconds")
        self._describe_search(tuning)
        return tuning.result

    def _describe_search(self, tuning: Tuning) -> None:
        """Set the attributes of a search, as scikit-learn's have them."""
        chosen = tuning.chosen
        assert chosen is not None
        self.tuning_, self.C_, self.best_score_ = tuning, chosen.C, chosen.mean
        self.best_params_ = values_of(chosen)
        self.Cs_ = np.unique([one.C for one in tuning.candidates])
        self.cv_results_ = results_of(tuning.candidates)
        if chosen.gamma is not None:
            self.gamma_ = chosen.gamma


def values_of(candidate: Candidate) -> dict[str, float]:
    """Return C, and γ if there is one, by their names."""
    return {"C": candidate.C} | ({} if candidate.gamma is None else {"gamma": candidate.gamma})


def results_of(candidates: list[Candidate]) -> dict[str, Any]:
    """Return the table of a search with the names that `GridSearchCV` uses. Folds that were not run have NaN."""
    scores = np.array([[np.nan if score is None else score for score in one.scores] for one in candidates])
    means, params = np.array([one.mean for one in candidates]), [values_of(one) for one in candidates]
    found: dict[str, Any] = {f"param_{name}": np.array([one[name] for one in params]) for name in params[0]}
    found |= {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
    known = [one.known or [np.nan] for one in candidates]
    found |= {"mean_test_score": means, "std_test_score": np.array([float(np.std(one)) for one in known])}
    order = np.where([one.complete for one in candidates], -means, np.inf)
    return {**found, "rank_test_score": 1 + np.searchsorted(np.sort(order), order), "params": params}


class LinearSVCCV(SearchMixin, LinearSVC):
    """Linear support vector classification whose C is chosen by cross-validation.

    All values of C are fitted for each fold, each from the fit for the one before; folds share the rows. Then the
    chosen model is trained on all rows. Other parameters and attributes are those of `LinearSVC`.

    Parameters
    ----------
    Cs : array-like of float or None, default=None
        The values of C; None for nine from 0.01 to 100.
    cv : int, splitter or iterable, default=5
        The number of folds, stratified and shuffled by `random_state`; a splitter of scikit-learn; or pairs of row
        numbers.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None for the accuracy.
    rule : {"best", "one_standard_error"}, default="best"
        Whether to choose the C with the best mean score, or the smallest within one standard error of it.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray
        The values of C.
    best_score_, best_params_, cv_results_
        As in `GridSearchCV`, for the chosen C.
    tuning_ : Tuning
        The search, as `maxmargin.tune` returns it.

    Examples
    --------
    >>> from maxmargin import LinearSVCCV
    >>> X, y = [[0.0], [0.5], [1.0], [3.0], [3.5], [4.0]], ["a", "a", "a", "b", "b", "b"]
    >>> svc = LinearSVCCV(Cs=[0.01, 1.0], cv=3).fit(X, y)
    >>> svc.C_, svc.predict([[0.5]]).tolist()
    (0.01, ['a'])
    """

    def __init__(
        self,
        Cs: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        penalty: str = "l2",
        loss: str = "squared_hinge",
        dual: bool | str = "auto",
        tol: float = 1e-4,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: float = -1,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        n_jobs: int | None = None,
        probability: bool = False,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LinearSVCCV:
        """Choose C and train. Rows with the same value of `groups` are in the same fold."""
        self._groups = groups
        super().fit(X, y, sample_weight)
        return self


class SVCCV(SearchMixin, SVC):
    """Support vector classification with a kernel, whose C and γ are chosen by cross-validation.

    For each γ, the kernel matrix is computed once and shared by all folds, pairs of classes and C. Other parameters and
    attributes are those of `SVC`.

    Parameters
    ----------
    Cs : array-like of float or None, default=None
        The values of C; None for five from 0.1 to 1000.
    gammas : array-like of float or None, default=None
        The values of γ; None for five around 1 / (n_features * X.var()) with the kernel "rbf", else for that value.
    cv, scoring, rule
        As in `LinearSVCCV`.

    Attributes
    ----------
    C_, gamma_ : float
        The chosen values.
    Cs_, best_score_, best_params_, cv_results_, tuning_
        As in `LinearSVCCV`.

    Examples
    --------
    >>> from maxmargin import SVCCV
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]] * 3, ["same", "same", "other", "other"] * 3
    >>> svc = SVCCV(Cs=[1.0, 10.0], gammas=[1.0], cv=3).fit(X, y)
    >>> svc.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['same', 'other']
    """

    def __init__(
        self,
        Cs: Any = None,
        gammas: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-4,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: float = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        n_jobs: int | None = None,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SVCCV:
        """Choose C and γ, and train. Rows with the same value of `groups` are in the same fold."""
        self._groups = groups
        super().fit(X, y, sample_weight)
        return self
