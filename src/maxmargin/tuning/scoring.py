"""Scores of held-out rows, by any scorer of scikit-learn.

A scorer calls methods of an estimator on X. Here the decision values of the held-out rows are known already. So the
scorer is given an estimator that looks them up: its X is the row numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from maxmargin.errors import ParameterError
from maxmargin.models.linear import has_probabilities, label_of, probabilities_of

DEFAULT = {"classify": "accuracy", "regress": "r2"}
KNOWN = {
    "classify": "accuracy, balanced_accuracy, f1, roc_auc or neg_log_loss",
    "regress": "r2 or neg_mean_squared_error",
}
AT_MOST_ONE = {"accuracy", "balanced_accuracy", "roc_auc", "average_precision", "f1", "precision", "recall", "r2"}

Score = Callable[[Any, np.ndarray, Any], float]


class HeldOutClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values and labels are known; X holds places in them."""

    def __init__(self, classes: Any = None, values: Any = None, labels: Any = None, probabilities: Any = None) -> None:
        self.classes, self.values, self.labels, self.probabilities = classes, values, labels, probabilities

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        return np.asarray(self.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values of the rows."""
        return np.asarray(self.values[X])

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of the rows."""
        return np.asarray(self.labels[X])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities of the rows; raise if the loss has none."""
        if self.probabilities is None:
            raise ParameterError("this scoring needs probabilities: take loss='logistic' (--loss logistic)")
        return np.asarray(self.probabilities[X])


def classifier_of(classes: np.ndarray, values: np.ndarray, loss: str) -> HeldOutClassifier:
    """Return the estimator of a linear model that knows these decision values, a column for each problem."""
    plain = values[:, 0] if values.shape[1] == 1 else values
    probabilities = probabilities_of(values) if has_probabilities(loss) else None
    return HeldOutClassifier(classes, plain, label_of(classes, plain), probabilities)


class HeldOutRegressor(RegressorMixin, BaseEstimator):
    """A regression whose predictions are known; X holds places in them."""

    def __init__(self, values: Any = None) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions of the rows."""
        return np.asarray(self.values[X])


def scorer_of(scoring: Any, task: str) -> tuple[Score, str]:
    """Return the scorer and its name. None is the accuracy, or R² of a regression."""
    from sklearn.metrics import get_scorer, get_scorer_names

    wanted = DEFAULT[task] if scoring is None else scoring
    if callable(wanted):
        return wanted, getattr(wanted, "__name__", str(wanted))
    if wanted == "accuracy":
        return accuracy, wanted
    if not isinstance(wanted, str) or wanted not in get_scorer_names():
        raise ParameterError(
            f"scoring={wanted!r} is not known: give the name of a scorer of scikit-learn, such as {KNOWN[task]}"
        )
    return get_scorer(wanted), wanted


def accuracy(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the part of the rows whose label is predicted. scikit-learn's scorer checks its arguments for longer."""
    return float(np.mean(estimator.predict(X) == y))


def scored(score: Score, estimator: Any, y: np.ndarray, name: str) -> float:
    """Return the score of held-out rows whose labels are y."""
    import warnings

    from sklearn.exceptions import UndefinedMetricWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            found = float(score(estimator, np.arange(len(y)), y))
    except ParameterError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError(f"scoring={name!r} cannot score these rows: {' '.join(str(error).split())}") from error
    return found


def highest_score(name: str) -> float:
    """Return the highest score that a scorer can give; infinity if unknown."""
    if name.startswith("neg_"):
        return 0.0
    return 1.0 if name.split("_", maxsplit=1)[0] in {one.split("_")[0] for one in AT_MOST_ONE} else np.inf
