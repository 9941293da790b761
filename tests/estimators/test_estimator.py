import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from problems import overlapping
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import LinearSVC, Status

EQUIVALENCE = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}


def expected(options):
    """Checks that may fail; they fail for scikit-learn's LinearSVC too.

    Without an intercept, no class weight makes all predictions one class. Weights and copies of examples are compared
    to 1e-7, and with these losses and intercepts the two fits stop at different points within `tol`.
    """
    found = {"check_array_api_input"}
    if not options.get("fit_intercept", True):
        found.add("check_class_weight_classifiers")
    if options.get("loss") != "hinge" and options.keys() & {"fit_intercept", "intercept_scaling"}:
        found |= EQUIVALENCE
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge"},
        {"loss": "logistic"},
        {"fit_intercept": False},
        {"intercept_scaling": 1.0},
        {"loss": "hinge", "fit_intercept": False},
        {"loss": "hinge", "intercept_scaling": 10.0},
        {"loss": "logistic", "intercept_scaling": 1.0},
    ],
    ids=str,
)
def test_the_contract_of_scikit_learn_is_kept(options):
    """Every check passes; the one that may be skipped needs an environment variable set before SciPy's import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(LinearSVC(**options), on_fail=None, on_skip=None)
    wrong = {check["check_name"]: repr(check["exception"]) for check in checks if check["status"] != "passed"}
    assert wrong.keys() <= expected(options), wrong
    assert "SCIPY_ARRAY_API" in wrong.get("check_array_api_input", "SCIPY_ARRAY_API")
    assert len(checks) > 40


def test_attributes_are_those_of_scikit_learn():
    X, y = overlapping(n=100)
    svc = LinearSVC(C=2.0).fit(X, y)
    assert svc.coef_.shape == (1, 5)
    assert svc.intercept_.shape == (1,)
    assert svc.classes_.tolist() == [-1, 1]
    assert svc.dual_coef_.shape == (1, len(svc.support_))
    assert svc.n_iter_ >= 1
    assert svc.certificate_.relative_gap <= 1e-4
    assert svc.result_.status is Status.CONVERGED
    np.testing.assert_allclose(svc.decision_function(X), X @ svc.coef_[0] + svc.intercept_[0])


def test_it_agrees_with_libsvm_whose_bias_is_free_too():
    X, y = overlapping(n=100)
    ours, theirs = LinearSVC(loss="hinge", C=0.5).fit(X, y), SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert np.array_equal(ours.support_, np.sort(theirs.support_))


def test_several_classes_predict_by_the_largest_decision():
    X, _ = overlapping(n=150)
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    svc = LinearSVC().fit(X, y)
    assert svc.coef_.shape == (3, 5)
    assert svc.dual_coef_.shape == (3, len(svc.support_))
    assert np.array_equal(svc.predict(X), svc.classes_[np.argmax(svc.decision_function(X), axis=1)])
    assert svc.score(X, y) > 0.7


def test_class_weight_is_a_weight_on_every_example_of_the_class():
    X, y = overlapping(n=100)
    by_class = LinearSVC(class_weight={1.0: 3.0}).fit(X, y)
    by_sample = LinearSVC().fit(X, y, sample_weight=np.where(y > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_)
    balanced = LinearSVC(class_weight="balanced").fit(X, y)
    assert not np.allclose(balanced.coef_, LinearSVC().fit(X, y).coef_)


def test_it_works_in_pipelines_and_searches_and_survives_pickling():
    X, y = overlapping(n=100)
    search = GridSearchCV(make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    svc = LinearSVC().fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(svc)).predict(X), svc.predict(X))
    assert clone(svc).get_params() == svc.get_params()


def test_feature_names_are_remembered():
    X, y = overlapping()
    svc = LinearSVC().fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert svc.feature_names_in_.tolist() == list("abcde")


def test_sparse_rows_give_the_same_answer_as_dense_ones():
    X, y = overlapping(n=100)
    np.testing.assert_allclose(LinearSVC().fit(sparse.csr_matrix(X), y).coef_, LinearSVC().fit(X, y).coef_, atol=1e-8)


def test_float32_rows_are_not_widened():
    X, y = overlapping(n=100)
    np.testing.assert_allclose(LinearSVC().fit(X.astype(np.float32), y).coef_, LinearSVC().fit(X, y).coef_, atol=1e-8)


def test_stopping_early_warns_with_the_certificate():
    X, y = overlapping(n=2000, d=20)
    with pytest.warns(ConvergenceWarning, match=r"objective .* above the optimum\. Stopped at the epoch limit"):
        LinearSVC(loss="hinge", max_iter=1, C=100.0, tol=1e-8).fit(X, y)


def test_probabilities_exist_for_logistic_and_if_they_are_asked_for():
    X, y = overlapping()
    assert not hasattr(LinearSVC(), "predict_proba")
    assert not hasattr(LinearSVC(), "predict_log_proba")
    for settings in ({"loss": "logistic"}, {"probability": True}, {"loss": "logistic", "probability": True}):
        svc = LinearSVC(**settings).fit(X, y)
        np.testing.assert_allclose(svc.predict_proba(X).sum(axis=1), 1.0)
        np.testing.assert_allclose(svc.predict_log_proba(X), np.log(svc.predict_proba(X)))
    far = svc.predict_log_proba(1e6 * X)
    assert np.isneginf(far).any()
    assert not np.isnan(far).any()


def test_predicting_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        LinearSVC().predict([[0.0]])
