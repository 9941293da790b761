"""Plain arrays skip most of scikit-learn's checks: nothing that scikit-learn notices may be lost by that."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import validate_data

import maxmargin
from maxmargin.estimators import validation

X = np.random.default_rng(0).normal(size=(30, 3))
y = np.arange(30) % 3
ESTIMATORS = [
    maxmargin.LinearSVC,
    maxmargin.SVC,
    maxmargin.NuSVC,
    maxmargin.SVR,
    maxmargin.NuSVR,
    maxmargin.OneClassSVM,
]


def with_value(value):
    changed = X.copy()
    changed[7, 1] = value
    return changed


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_in_fit_and_predict(estimator, value):
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator().fit(with_value(value), y)
    fitted = estimator().fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.predict(with_value(value))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        maxmargin.SVR().fit(X, np.where(np.arange(30) == 4, value, 1.0))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_another_number_of_columns_is_refused(estimator):
    fitted = estimator().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but"):
        fitted.predict(X[:, :2].copy())
    assert fitted.fit(X[:, :2].copy(), y).n_features_in_ == 2


@pytest.mark.parametrize("labels", [y[:20], np.stack([y, y]).T])
def test_labels_that_do_not_fit_the_rows_are_refused(labels):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples|1d array"):
        maxmargin.LinearSVC().fit(X, labels)


def test_names_of_columns_are_remembered_compared_and_forgotten():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = maxmargin.LinearSVC().fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict(X)
    fitted.fit(X, y)
    assert not hasattr(fitted, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names"):
        fitted.predict(frame)


def test_nearly_as_many_classes_as_rows_warn():
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        maxmargin.LinearSVC().fit(X, np.arange(30) * 3)


@pytest.mark.parametrize(
    "labels",
    [
        y.astype(np.int8), y.astype(np.uint64), y > 0, y.astype(np.float32), y - 10**12,
        (60 * y).astype(np.uint8), np.uint64(2**64 - 5) + y.astype(np.uint64),
    ],
)  # fmt: skip
def test_labels_of_every_number_type_keep_their_type(labels):
    fitted = maxmargin.LinearSVC().fit(X, labels)
    assert fitted.classes_.dtype == labels.dtype
    assert fitted.classes_.tolist() == np.unique(labels).tolist()
    assert set(fitted.predict(X).tolist()) <= set(labels.tolist())


def test_labels_whose_range_exceeds_their_type_are_told_apart():
    labels = np.tile(np.array([-100, 100, 0], dtype=np.int8), 40)
    fitted = maxmargin.LinearSVC().fit(np.tile(X, (4, 1)), labels)
    assert fitted.classes_.tolist() == [-100, 0, 100]
    assert fitted.classes_.dtype == np.int8


@pytest.mark.parametrize("values", [X, X.astype(np.float32)])
def test_a_plain_array_is_used_as_it_is_like_in_scikit_learn(values):
    own, others = maxmargin.LinearSVC(), maxmargin.LinearSVC()
    found = validation.validated(own, values, y)
    expected = validate_data(others, values, y, **validation.ROWS)
    assert found[0] is values is expected[0]
    assert own.n_features_in_ == others.n_features_in_


class Marked(np.ndarray):
    """An array of another type."""


@pytest.mark.parametrize(
    "values",
    [X.astype(np.float16), X.astype(">f8"), np.asfortranarray(X), X[::2], X.tolist(), X.view(Marked), X[:0], X[:, 0]],
)
def test_other_arrays_go_to_scikit_learn(values):
    assert not validation.is_plain(values)


def test_a_sum_that_overflows_is_no_reason_to_refuse():
    huge = X.copy()
    huge[:, 0] = np.where(y == 1, 1.7e308, 1.0)
    assert not validation.is_plain(huge)
    with pytest.raises(ValueError, match="squares overflow"):
        maxmargin.LinearSVC().fit(huge, y)
