"""SVC beside scikit-learn's, and what it writes, reads, refuses."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import SVC, DataError, FileError, LinearSVC, ParameterError

digits = load_digits()
X, y = digits.data[:600] / 16.0, digits.target[:600]
test = digits.data[600:] / 16.0
two = y < 2


@parametrize_with_checks([SVC()])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "linear"}, {"class_weight": "balanced"}]
)
def test_many_classes_are_decided_as_scikit_learn_does(settings, storage):
    ours = SVC(C=3.0, tol=1e-8, **settings).fit(storage(X), y)
    theirs = svm.SVC(C=3.0, tol=1e-6, **settings).fit(X, y)
    assert np.mean(ours.predict(storage(test)) == theirs.predict(test)) >= 0.999
    assert ours.n_support_.sum() == len(ours.support_) == ours.support_vectors_.shape[0]
    assert ours.dual_coef_.shape == (9, len(ours.support_))
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=2e-3)
    for shape in ("ovr", "ovo"):
        ours.decision_function_shape = theirs.decision_function_shape = shape
        assert ours.decision_function(storage(test)) == pytest.approx(theirs.decision_function(test), abs=2e-3)


def test_two_classes_are_decided_as_scikit_learn_does():
    ours, theirs = SVC(tol=1e-9).fit(X[two], y[two]), svm.SVC(tol=1e-8).fit(X[two], y[two])
    assert ours.decision_function(test) == pytest.approx(theirs.decision_function(test), abs=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert set(ours.support_) == set(theirs.support_)
    assert ours.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)


def test_ties_are_broken_by_the_decision_values():
    ours, theirs = (kind(break_ties=True).fit(X, y) for kind in (SVC, svm.SVC))
    assert np.mean(ours.predict(test) == theirs.predict(test)) >= 0.995
    with pytest.raises(ValueError, match="break_ties"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(test)


def test_a_linear_kernel_is_a_linear_machine():
    kernel, linear = (
        SVC(kernel="linear", tol=1e-8).fit(X[two], y[two]),
        LinearSVC(loss="hinge", tol=1e-8).fit(X[two], y[two]),
    )
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-7)
    assert kernel.coef_ == pytest.approx(linear.coef_, abs=1e-3)
    assert kernel.decision_function(test) == pytest.approx(linear.decision_function(test), abs=1e-3)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(X[two], y[two]).coef_


def test_a_precomputed_kernel_and_a_function_are_the_kernel_they_compute():
    def gaussian(A, B):
        return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))

    expected = SVC(gamma=0.5, tol=1e-8).fit(X, y).decision_function(test)
    by_function = SVC(kernel=gaussian, tol=1e-8).fit(X, y).decision_function(test)
    by_matrix = SVC(kernel="precomputed", tol=1e-8).fit(gaussian(X, X), y).decision_function(gaussian(test, X))
    assert by_function == pytest.approx(expected, abs=1e-3)
    assert by_matrix == pytest.approx(expected, abs=1e-3)


def test_weights_count_as_copies_do():
    weights = np.arange(len(X)) % 3
    weighted = SVC(tol=1e-9).fit(X, y, sample_weight=weights)
    copied = SVC(tol=1e-9).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.decision_function(test) == pytest.approx(copied.decision_function(test), abs=1e-3)


def test_it_searches_a_grid_and_a_pipeline_of_precomputed_kernels():
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, cv=3).fit(X[:200], y[:200])
    assert search.best_score_ > 0.9
    K = X[:200] @ X[:200].T
    assert GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(K, y[:200]).best_score_ > 0.8


def test_a_run_that_is_cut_short_says_so_and_still_decides():
    with pytest.warns(ConvergenceWarning, match="above the optimum"):
        cut = SVC(C=1000.0, tol=1e-9, max_iter=1e-9).fit(X[two], y[two])
    assert cut.fit_status_ == 1
    assert cut.predict(test).shape == (len(test),)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_a_model_comes_back_from_its_file(tmp_path, storage):
    model = maxmargin.train(storage(X), y, kernel="gaussian", gamma=0.3).model
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert np.array_equal(again.decide(test), model.decide(test))
    assert np.array_equal(again.predict(storage(test)), model.predict(storage(test)))
    assert again.kernel == model.kernel
    assert again.certificate == model.certificate
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path):
    model = maxmargin.train(X[two], y[two], kernel="linear").model
    model.b = np.zeros(3)
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match="do not fit together"):
        maxmargin.load(tmp_path / "model")


def test_a_function_is_not_saved(tmp_path):
    model = maxmargin.train(X[two], y[two], kernel=lambda A, B: A @ B.T).model
    with pytest.raises(ParameterError, match="no file holds code"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"loss": "logistic"}, ParameterError, "hinge"),
        ({"C": np.inf}, ParameterError, "large finite C"),
        ({"bias": "regularised"}, ParameterError, "not for kernels"),
        ({"solver": "newton"}, maxmargin.RefusedError, "no step for kernels: use solver='smo'"),
        ({"cache": 0}, ParameterError, "cache=0"),
        ({"gamma": -1.0}, ParameterError, "gamma=-1.0"),
    ],
)
def test_what_kernels_cannot_do_is_refused(settings, error, words):
    with pytest.raises(error, match=words):
        maxmargin.train(X[two], y[two], kernel="gaussian", **settings)


def test_smo_without_a_kernel_is_refused():
    with pytest.raises(maxmargin.RefusedError, match="made for kernels"):
        maxmargin.train(X[two], y[two], solver="smo")


def test_the_wrong_number_of_features_is_refused():
    model = maxmargin.train(X[two], y[two], kernel="gaussian").model
    for wrong in (test[:, :9], np.hstack([test, test])):
        with pytest.raises(DataError, match="the model was trained with 64"):
            model.predict(wrong)


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    same = {"kernel": "gaussian", "C": 100.0, "options": {"batch": 8}, "checkpoint": tmp_path / "run"}
    maxmargin.train(X[two], y[two], max_epochs=0.2, tol=1e-7, **same)
    resumed = maxmargin.train(X[two], y[two], tol=1e-7, resume=True, **same)
    assert resumed.status is maxmargin.Status.CONVERGED
    with pytest.raises(FileError, match="kernel was"):
        maxmargin.train(X[two], y[two], **{**same, "kernel": "linear"}, resume=True)


def test_a_file_with_rows_that_lead_out_of_it_is_refused(tmp_path):
    for name, value in (("indices", 64), ("indptr", 7)):
        model = maxmargin.train(sparse.csr_matrix(X[two]), y[two], kernel="linear").model
        array = np.array(getattr(model.vectors, name))
        array[-1] = value
        model.vectors = model.vectors._replace(**{name: array})
        model.save(tmp_path / "model")
        with pytest.raises(FileError, match="support vectors"):
            maxmargin.load(tmp_path / "model")


def test_what_a_run_cannot_keep_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="no file holds code"):
        maxmargin.train(X[two], y[two], kernel=lambda A, B: A @ B.T, checkpoint=tmp_path / "run")
    first = maxmargin.train(X[two], y[two])
    with pytest.raises(ParameterError, match="warm is for linear"):
        maxmargin.train(X[two], y[two], kernel="linear", warm=first)
