"""The estimators in the place of scikit-learn's: its parameters, its warnings, and clear refusals."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from problems import overlapping
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

from maxmargin import SVC, SVR, DataError, LinearSVC, NuSVC, NuSVR, OneClassSVM, ParameterError, train

X, y = load_iris(return_X_y=True)
EVERY = [LinearSVC, SVC, NuSVC, SVR, NuSVR, OneClassSVM]
CLASSIFIERS = [LinearSVC, SVC, NuSVC]
every = pytest.mark.parametrize("estimator", EVERY)
classifiers = pytest.mark.parametrize("estimator", CLASSIFIERS)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_a_given_intercept_scaling_is_scikit_learns_model(loss, scale):
    rows, labels = overlapping(n=100)
    same = {"loss": loss, "intercept_scaling": scale, "C": 0.5}
    ours = LinearSVC(**same, tol=1e-9).fit(rows, labels)
    theirs = svm.LinearSVC(**same, tol=1e-9, max_iter=1_000_000, dual=True).fit(rows, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_the_intercept_is_as_train_has_it():
    rows, labels = overlapping(n=100)
    for given, bias in (
        ({}, {"bias": "free"}),
        ({"intercept_scaling": 3.0}, {"bias": "regularised", "bias_scale": 3.0}),
        ({"fit_intercept": False}, {"bias": "none"}),
        ({"fit_intercept": False, "intercept_scaling": 3.0}, {"bias": "none"}),
    ):
        model = train(rows, labels, loss="squared_hinge", **bias).model
        svc = LinearSVC(**given).fit(rows, labels)
        np.testing.assert_array_equal(svc.coef_, model.w)
        np.testing.assert_array_equal(svc.intercept_, model.b)


def test_the_default_loss_is_the_squared_hinge():
    assert LinearSVC().fit(X, y).result_.model.loss == "squared_hinge"
    assert LinearSVC("l2", "hinge").fit(X, y).result_.model.loss == "hinge"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"penalty": "l1", "dual": False}, "penalty='l1' is not available yet"),
        ({"penalty": "l3"}, "penalty='l3'"),
        ({"multi_class": "crammer_singer"}, "multi_class='crammer_singer' is not available yet"),
        ({"multi_class": "ovo"}, "multi_class='ovo'"),
        ({"penalty": "l1", "loss": "hinge"}, "Unsupported set of arguments"),
        ({"loss": "hinge", "dual": False}, "Unsupported set of arguments.*dual=False"),
        ({"penalty": "l1", "dual": True}, "Unsupported set of arguments.*dual=True"),
        ({"dual": "maybe"}, "dual='maybe'"),
        ({"fit_intercept": 1}, "fit_intercept=1"),
        ({"intercept_scaling": 0}, "intercept_scaling=0"),
        ({"fit_intercept": False, "intercept_scaling": "a"}, "intercept_scaling='a'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"verbose": -1}, "verbose=-1"),
        ({"random_state": "a"}, "random_state='a'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_what_linear_svc_does_not_take_is_refused_in_one_line(given, words):
    with pytest.raises(ParameterError, match=words) as caught:
        LinearSVC(**given).fit(X, y)
    assert "\n" not in str(caught.value)


@every
def test_an_unknown_parameter_names_the_nearest(estimator):
    for wrong, near in (
        ("tolerance", "tol"),
        ("max_itr", "max_iter"),
        ("max_epochs", "max_iter"),
        ("threads", "n_jobs"),
    ):
        with pytest.raises(TypeError, match=f"{wrong}'.*did you mean '{near}'"):
            estimator(**{wrong: 1})
        with pytest.raises(ValueError, match=f"Invalid parameter '{wrong}'.*did you mean '{near}'"):
            estimator().set_params(**{wrong: 1})
    with pytest.raises(ValueError, match="Valid parameters are"):
        estimator().set_params(xyzzy=1)
    assert list(inspect.signature(estimator).parameters) == [
        name for name in inspect.signature(estimator.__init__).parameters if name != "self"
    ]
    assert clone(estimator(tol=0.5)).tol == 0.5


@every
def test_verbose_prints_a_line_for_each_certificate(estimator, capsys):
    seen = []
    estimator(verbose=1, callback=lambda record: seen.append(record) and None).fit(X[:100], y[:100])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(seen) > 0
    assert all(line.startswith(f"[{estimator.__name__}] ") and "gap" in line for line in lines)
    estimator().fit(X[:100], y[:100])
    assert capsys.readouterr().out == ""


@every
def test_a_limit_of_epochs_warns_as_scikit_learn_does(estimator):
    rows, labels = overlapping(n=400, d=10)
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter=0.1\).*Raise max_iter"):
        fitted = estimator(max_iter=0.1, tol=1e-12).fit(rows, labels)
    assert fitted.fit_status_ == 1


@classifiers
def test_bad_labels_are_refused_in_one_line(estimator):
    for labels, words in (
        ([1, "a", 1, "a"], "mixes text and numbers"),
        (np.array([1, "a", 1, "a"], dtype=object), "mixes text and numbers"),
        (["b", np.nan, "a", "a"], r"y\[1\] is nan"),
        ([1.0, np.nan, 0.0, 0.0], "nan"),
        (np.array([1.0, np.nan, 0.0, 0.0]), "NaN"),
        (["b", None, "a", "a"], r"y\[1\] is None"),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            estimator().fit(X[:4], labels)
        assert "\n" not in str(caught.value)


@classifiers
def test_a_class_without_weight_is_named(estimator):
    with pytest.raises(DataError, match="class 2 have the weight 0"):
        estimator().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    with pytest.raises(DataError, match="class 2 have the weight 0"):
        estimator(class_weight={2: 0.0}).fit(X, y)


def test_linear_svc_refuses_negative_weights_and_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="Negative"):
        LinearSVC().fit(X, y, sample_weight=np.where(y == 2, -1.0, 1.0))
    with pytest.raises(ValueError, match="non-zero"):
        LinearSVC().fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_a_sparse_precomputed_kernel_is_refused(estimator):
    with pytest.raises(TypeError, match="Sparse precomputed"):
        estimator(kernel="precomputed").fit(sparse.csr_array(np.eye(4)), [0, 1, 0, 1])


@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_values_whose_squares_overflow_are_refused(estimator):
    with pytest.raises(DataError, match=r"are not finite.*scale the features"):
        estimator().fit(1e200 * X[:10], [0, 1] * 5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # rounding: the certificate says so
def test_an_infinite_c_is_a_large_one():
    rows, labels = make_classification(random_state=0)
    infinite, large = SVC(C=np.inf).fit(rows, labels), SVC(C=1e10).fit(rows, labels)
    assert infinite.certificate_ == large.certificate_
    assert np.array_equal(infinite.dual_coef_, large.dual_coef_)
    assert np.isinf(infinite.C)


@pytest.mark.parametrize("estimator", [LinearSVC, SVC, SVR, OneClassSVM])
def test_repeated_and_unsorted_sparse_columns_are_summed_in_a_copy(estimator):
    data, indices = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([2, 0, 0, 1, 1, 2])
    rows = sparse.csr_matrix((data.copy(), indices.copy(), [0, 2, 4, 6]), shape=(3, 3))
    same = sparse.csr_matrix(rows.toarray())
    rows = sparse.csr_matrix((np.r_[data, 1.0], np.r_[indices, 1], [0, 2, 4, 7]), shape=(3, 3))
    same[2, 1] += 1.0
    before = rows.data.copy(), rows.indices.copy(), rows.indptr.copy()
    one, other = (estimator(tol=1e-9).fit(given, [0, 1, 1]) for given in (rows, same))
    np.testing.assert_allclose(one.predict(rows), other.predict(same.toarray()))
    for kept, now in zip(before, (rows.data, rows.indices, rows.indptr), strict=True):
        np.testing.assert_array_equal(kept, now)


@every
def test_columns_in_another_order_are_refused(estimator):
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = estimator().fit(frame, y)
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(frame[list("bacd")])


def common_letters(A, B):
    return np.array([[sum(a.count(letter) * b.count(letter) for letter in "ab") for b in B] for a in A], dtype=float)


@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_a_kernel_may_be_given_texts(estimator):
    texts, targets = ["a", "aa", "aab", "b", "bb", "abb"] * 3, [0, 0, 0, 1, 1, 1] * 3
    K = common_letters(texts, texts)
    given, matrix = (
        estimator(kernel=common_letters).fit(texts, targets),
        estimator(kernel="precomputed").fit(K, targets),
    )
    new = ["aaa", "bbb", "ab"]
    np.testing.assert_array_equal(given.predict(new), matrix.predict(common_letters(new, texts)))
    assert given.shape_fit_ == (len(texts),)
    if estimator is SVC:
        assert cross_val_score(estimator(kernel=common_letters), texts, targets, cv=3).mean() > 0.9
        with pytest.raises(DataError, match=r"returned shape \(1, 1\)"):
            estimator(kernel=lambda A, B: np.ones((1, 1))).fit(texts, targets)


@pytest.mark.parametrize("estimator", [SVC, NuSVC])
def test_probability_is_deprecated_and_works(estimator):
    for probability in (True, False):
        with pytest.warns(FutureWarning, match=r"probability.+parameter.+deprecated.*CalibratedClassifierCV"):
            svc = estimator(probability=probability).fit(X, y)
        assert hasattr(svc, "predict_proba") is probability
    with pytest.warns(FutureWarning, match="Attribute `probA_` was deprecated"):
        assert svc.probA_.shape == (0,)
    svc.probability = True
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        svc.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(estimator().fit(X, y), "predict_proba")
    with pytest.warns(FutureWarning, match="Attribute `probB_` was deprecated"):
        assert estimator().fit(X, y).probB_.shape == (0,)


def test_coef_can_be_made_sparse_and_replaced():
    svc = LinearSVC().fit(X, y)
    expected = svc.decision_function(X)
    assert sparse.issparse(svc.sparsify().coef_)
    np.testing.assert_allclose(svc.decision_function(X), expected)
    assert isinstance(svc.densify().coef_, np.ndarray)
    svc.coef_, svc.intercept_ = 2.0 * svc.coef_, 2.0 * svc.intercept_
    np.testing.assert_allclose(svc.decision_function(X), 2.0 * expected)


def test_attributes_that_programs_read_are_scikit_learns():
    ours, theirs = (kind(class_weight="balanced").fit(X[20:], y[20:]) for kind in (SVC, svm.SVC))
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours._gamma == pytest.approx(theirs._gamma)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_
    assert SVR().fit(X, y).class_weight_.shape == (0,)


def test_a_value_of_zero_counts_as_in_scikit_learn():
    """Far from all examples the first pair decides by its intercept, which is exactly 0 for classes of equal size."""
    rows, labels = X[::8], y[::8]
    ours, theirs = (kind(gamma=1e6).fit(rows, labels) for kind in (SVC, svm.SVC))
    far = np.array([[100.0, 100.0, 100.0, 100.0]])
    assert ours.predict(far) == theirs.predict(far)
    np.testing.assert_allclose(ours.decision_function(far), theirs.decision_function(far), atol=1e-6)
