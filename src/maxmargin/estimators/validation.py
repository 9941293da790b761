"""The checks of X and y in the estimators: those of scikit-learn, in a few steps for plain NumPy arrays.

scikit-learn's checks take longer than a small fit. A plain array needs few of them: it has numbers of the right type in
the right order, no column names, and its sum shows that all its values are finite. All other input, and every input
that is to be refused, goes to scikit-learn's functions.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from maxmargin.data.frames import frame_values, is_frame, readable_frame
from maxmargin.data.labels import plain

ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}
TEXT_KINDS = "OUT"  # kinds of NumPy types in which labels of several types can hide
WHOLE_KINDS = "biu"  # kinds of NumPy types whose values are whole numbers, and never missing
FEW_LABELS = 20  # up to this many examples, scikit-learn does not compare the number of classes with that of examples


def validated(estimator: Any, X: Any, *y: Any, reset: bool = True, **options: Any) -> Any:
    """Return X, or X and y, checked as by scikit-learn. A data frame becomes a matrix; its column names are checked."""
    if not (options.keys() - {"y_numeric"}) and is_plain(X) and agrees(estimator, X, reset) and are_plain(X, *y):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
        return (X, *y) if y else X
    options = ROWS | options
    if not is_frame(X):
        return validate_data(estimator, X, *y, reset=reset, **options)
    frame = readable_frame(X)
    values = frame_values(frame)
    validate_data(estimator, frame, reset=reset, skip_check_array=True)  # names and number of columns
    if y:
        return check_X_y(values, *y, estimator=estimator, **options)
    return check_array(values, estimator=estimator, input_name="X", **options)


def is_plain(X: Any) -> bool:
    """Whether X is an array of finite floats in rows, to which no check of scikit-learn objects."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.c_contiguous
        and X.size > 0
        and isfinite(sum_of(X))
    )


def are_plain(X: np.ndarray, *y: Any) -> bool:
    """Whether y, if given, has one finite number for each row of X."""
    return all(
        type(one) is np.ndarray
        and one.shape == X.shape[:1]
        and one.flags.c_contiguous
        and (one.dtype.kind in WHOLE_KINDS or (one.dtype.char in "df" and isfinite(sum_of(one))))
        for one in y
    )


def agrees(estimator: Any, X: np.ndarray, reset: bool) -> bool:
    """Whether X has as many columns as in `fit`, where columns had no names; always true for new data."""
    own = estimator.__dict__
    return reset or (own.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in own)


def sum_of(values: np.ndarray) -> float:
    """Return the sum of all values; it is finite only if they all are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(values.sum())


def check_labels(y: Any) -> None:
    """Refuse labels of several types, and missing ones among text: NumPy would turn all of them into text."""
    if y is None:
        return
    labels = np.asarray(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if labels.ndim == 1 and labels.dtype.kind in TEXT_KINDS:
        plain(labels)


def check_classes(y: np.ndarray) -> None:
    """Refuse labels that are no classes, and warn if there are nearly as many classes as examples."""
    if y.ndim != 1 or y.dtype.kind not in WHOLE_KINDS or not holds_few(y):
        check_classification_targets(y)


def holds_few(y: np.ndarray) -> bool:
    """Whether whole numbers lie so close together that they can only be classes."""
    return len(y) <= FEW_LABELS or int(y.max()) - int(y.min()) + 1 <= len(y) // 2
