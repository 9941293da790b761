"""NuSVC, SVR, NuSVR and OneClassSVM beside scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_diabetes, load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, DataError, NuSVC, NuSVR, OneClassSVM, ParameterError

digits = load_digits()
X, y = digits.data[:400] / 16.0, digits.target[:400]
test = digits.data[400:900] / 16.0
patients = load_diabetes()
P, z = patients.data[:300] * 10.0, patients.target[:300] / 100.0
later = patients.data[300:] * 10.0
storages = pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])


def infeasible(estimator):
    """Checks whose data leave one class so little weight that no machine has ν = 0.5."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    checks.append("check_class_weight_classifiers")
    return dict.fromkeys(checks, "nu=0.5 is infeasible") if isinstance(estimator, NuSVC) else {}


@parametrize_with_checks([NuSVC(), SVR(), NuSVR(), OneClassSVM()], expected_failed_checks=infeasible)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@storages
def test_nu_svc_is_scikit_learns(storage):
    ours, theirs = NuSVC(nu=0.1, tol=1e-9).fit(storage(X), y), svm.NuSVC(nu=0.1, tol=1e-7).fit(X, y)
    assert np.mean(ours.predict(storage(test)) == theirs.predict(test)) >= 0.998
    ours.decision_function_shape = theirs.decision_function_shape = "ovo"
    assert ours.decision_function(storage(test)) == pytest.approx(theirs.decision_function(test), abs=2e-3)


@storages
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_svr_is_scikit_learns(kernel, storage):
    ours = SVR(C=2.0, epsilon=0.2, kernel=kernel, tol=1e-9).fit(storage(P), z)
    theirs = svm.SVR(C=2.0, epsilon=0.2, kernel=kernel, tol=1e-8).fit(P, z)
    assert ours.predict(storage(later)) == pytest.approx(theirs.predict(later), abs=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)
    if kernel == "linear":
        weights = ours.coef_ if storage is np.asarray else ours.coef_.toarray()
        assert weights == pytest.approx(theirs.coef_, abs=1e-3)


def test_nu_svr_is_scikit_learns_and_knows_its_epsilon():
    ours, theirs = NuSVR(C=2.0, nu=0.3, tol=1e-9).fit(P, z), svm.NuSVR(C=2.0, nu=0.3, tol=1e-8).fit(P, z)
    assert ours.predict(later) == pytest.approx(theirs.predict(later), abs=1e-3)
    same = SVR(C=2.0, epsilon=ours.epsilon_, tol=1e-9).fit(P, z)
    assert ours.predict(later) == pytest.approx(same.predict(later), abs=1e-3)


def test_one_class_is_scikit_learns():
    ours, theirs = OneClassSVM(nu=0.2, tol=1e-10).fit(X), svm.OneClassSVM(nu=0.2, tol=1e-8).fit(X)
    assert ours.decision_function(test) == pytest.approx(theirs.decision_function(test), abs=1e-3)
    assert ours.score_samples(test) == pytest.approx(theirs.score_samples(test), abs=1e-3)
    assert np.mean(ours.predict(test) == theirs.predict(test)) >= 0.99
    on_edge = np.count_nonzero(ours.dual_coef_[0] < 1.0 - 1e-9)  # which counts as inside
    assert 0.2 - (on_edge + 1) / len(X) <= np.mean(ours.predict(X) < 0) <= 0.2


def test_weights_count_as_copies_do():
    weights = np.arange(len(z)) % 3
    weighted = SVR(tol=1e-9).fit(P, z, sample_weight=weights)
    copied = SVR(tol=1e-9).fit(np.repeat(P, weights, axis=0), np.repeat(z, weights))
    assert weighted.predict(later) == pytest.approx(copied.predict(later), abs=1e-3)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (SVR(epsilon=-1.0), "epsilon=-1.0"),
        (SVR(C=0.0), "C=0.0"),
        (SVR(gamma=0.0), "gamma=0.0"),
        (NuSVR(nu=0.0), "nu=0.0"),
        (OneClassSVM(nu=1.5), "nu=1.5"),
        (SVR(tol=0.0), "tol=0.0"),
        (SVR(cache_size=-1), "cache_size=-1"),
        (SVR(shrinking=2), "shrinking=2"),
    ],
)
def test_wrong_settings_are_refused(estimator, words):
    with pytest.raises(ParameterError, match=words):
        estimator.fit(P, z)


def test_an_infeasible_nu_names_the_class_and_the_largest():
    rare = np.where(np.arange(len(X)) < 20, "rare", "usual")
    with pytest.raises(ParameterError, match=r"class rare.*largest feasible nu is 0\.1"):
        NuSVC(nu=0.5).fit(X, rare)


def test_the_wrong_number_of_features_is_refused():
    with pytest.raises(DataError, match="trained with 10"):
        SVR().fit(P, z).model_.decide(P[:, :4])


def test_without_any_weight_there_is_nothing_to_train():
    for estimator in (SVR(), OneClassSVM()):
        for weight in (0.0, -1.0):
            with pytest.raises(ValueError, match="all samples have zero or negative weights"):
                estimator.fit(P, z, sample_weight=np.full(len(z), weight))


@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_examples_with_a_negative_weight_do_not_count(estimator):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(40, 3)), np.where(np.arange(40) % 5, 1.0, -2.0)
    labels = np.where(rows[:, 0] > 0, 1, -1)
    some = estimator(tol=1e-9).fit(rows, labels, sample_weight=weights)
    same = estimator(tol=1e-9).fit(rows, labels, sample_weight=np.maximum(weights, 0.0))
    assert np.array_equal(some.support_, same.support_)
    assert not np.isin(some.support_, np.flatnonzero(weights < 0)).any()


@pytest.mark.parametrize(("estimator", "message"), [(SVC, "belong to the same class"), (NuSVC, "nu is infeasible")])
def test_weights_that_leave_one_class_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, sample_weight=np.where(y == 3, 1.0, -1.0))


def test_coef_cannot_be_changed():
    for rows in (P, sparse.csr_array(P)):
        with pytest.raises((RuntimeError, ValueError)):
            SVR(kernel="linear").fit(rows, z).coef_[0, 0] = 0.0


@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_what_is_fitted_on_sparse_rows_is_sparse(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=30) > 0, 1, -1)
    dense, thin = (estimator(kernel="linear", tol=1e-8).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    for name in ("dual_coef_", "coef_", "support_vectors_"):
        assert sparse.issparse(getattr(thin, name))
        np.testing.assert_allclose(getattr(thin, name).toarray(), getattr(dense, name), atol=1e-6)
