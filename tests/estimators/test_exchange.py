"""Exchange with scikit-learn: every estimator goes there and comes back, and predicts the same."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import ParameterError

iris = load_iris()
X = (iris.data - iris.data.mean(axis=0)) * np.random.default_rng(0).binomial(1, 0.8, iris.data.shape)
y = iris.target
names = np.array(["one", "two", "three"])[y]
new = X[::2] + np.random.default_rng(1).normal(size=X[::2].shape) / 8.0
has_probability = "probability" in inspect.signature(svm.SVC).parameters  # scikit-learn 1.11 removes it


def squares(A, B):
    found = A @ B.T
    return ((found.toarray() if sparse.issparse(found) else found) + 1.0) ** 2


KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "gaussian", "gamma": 0.4},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"kernel": "linear"},
    {"kernel": squares},
]
CLASSIFIERS = [
    *[(maxmargin.LinearSVC, {"loss": loss}) for loss in ("hinge", "squared_hinge", "logistic")],
    *[(maxmargin.SVC, settings) for settings in KERNELS],
    (maxmargin.SVC, {"decision_function_shape": "ovo", "class_weight": "balanced"}),
    (maxmargin.SVC, {"break_ties": True, "C": 0.3}),
    (maxmargin.NuSVC, {"nu": 0.2}),
    (maxmargin.NuSVC, {"nu": 0.3, "kernel": squares}),
]
FUNCTIONS = [
    (kind, settings)
    for kind in (maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM)
    for settings in KERNELS
    if (kind, settings["kernel"]) != (maxmargin.OneClassSVM, "linear")
]
STORAGES = [np.asarray, sparse.csr_matrix, sparse.csr_array]


def title(value):
    if isinstance(value, dict):
        return "-".join(str(getattr(one, "__name__", one)) for one in value.values())
    return getattr(value, "__name__", None)


def check_same(one, other, rows):
    """Both predict the same, in every way that they have in common."""
    if hasattr(one, "decision_function"):
        assert other.decision_function(rows) == pytest.approx(one.decision_function(rows), rel=1e-9, abs=1e-9)
        assert np.array_equal(other.predict(rows), one.predict(rows))
    else:
        assert other.predict(rows) == pytest.approx(one.predict(rows), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sigmoid has no certificate
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("kind", "settings"), CLASSIFIERS, ids=title)
def test_a_classifier_goes_to_scikit_learn_and_back(kind, settings, classes, storage):
    some = y < classes
    ours = kind(**settings).fit(storage(X[some]), names[some])
    theirs = ours.to_sklearn()
    assert type(theirs).__module__.startswith("sklearn.")
    assert type(theirs).__name__ == kind.__name__ or settings.get("loss") == "logistic"
    check_same(ours, theirs, storage(new))
    back = maxmargin.from_sklearn(theirs)
    assert type(back) is kind
    check_same(ours, back, storage(new))
    check_same(ours, back, new)
    if settings.get("loss") == "logistic":
        for other in (theirs, back):
            assert other.predict_proba(storage(new)) == pytest.approx(ours.predict_proba(storage(new)), abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sigmoid has no certificate
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("kind", "settings"), FUNCTIONS, ids=title)
def test_a_function_goes_to_scikit_learn_and_back(kind, settings, storage):
    ours = kind(**settings).fit(storage(X), X[:, 0] + 2.0 * X[:, 1])
    theirs = ours.to_sklearn()
    assert type(theirs) is getattr(svm, kind.__name__)
    check_same(ours, theirs, storage(new))
    back = maxmargin.from_sklearn(theirs)
    assert type(back) is kind
    check_same(ours, back, storage(new))


@pytest.mark.parametrize(
    "kind", [maxmargin.SVC, maxmargin.NuSVC, maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM]
)
def test_a_precomputed_kernel_goes_to_scikit_learn_and_back(kind):
    K, wide = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)), np.exp(-((new[:, None] - X) ** 2).sum(axis=2))
    settings = {"nu": 0.3} if "nu" in kind().get_params() else {}
    ours = kind(kernel="precomputed", **settings).fit(K, y)
    theirs = ours.to_sklearn()
    check_same(ours, theirs, wide)
    check_same(ours, maxmargin.from_sklearn(theirs), wide)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [svm.SVC, svm.NuSVC, svm.LinearSVC])
def test_a_classifier_comes_from_scikit_learn_and_returns(kind, classes, storage):
    some = y < classes
    settings = {} if kind is svm.LinearSVC else {"C": 2.0} if kind is svm.SVC else {"nu": 0.2}
    theirs = kind(**settings).fit(storage(X[some]), names[some].astype(object))
    ours = maxmargin.from_sklearn(theirs)
    assert type(ours) is getattr(maxmargin, kind.__name__)
    check_same(theirs, ours, storage(new))
    check_same(theirs, ours.to_sklearn(), storage(new))
    for name, value in settings.items():
        assert getattr(ours, name) == value


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", [svm.SVR, svm.NuSVR, svm.OneClassSVM])
def test_a_function_comes_from_scikit_learn_and_returns(kind, storage):
    theirs = kind().fit(storage(X), X[:, 0])
    ours = maxmargin.from_sklearn(theirs)
    check_same(theirs, ours, storage(new))
    check_same(theirs, ours.to_sklearn(), storage(new))


def test_logistic_regression_comes_from_scikit_learn():
    some = y < 2
    for theirs in (
        LogisticRegression().fit(X[some], y[some]),
        LogisticRegression(fit_intercept=False).fit(X[some], y[some]),
        OneVsRestClassifier(LogisticRegression()).fit(X, y),
    ):
        ours = maxmargin.from_sklearn(theirs)
        check_same(theirs, ours, new)
        assert ours.predict_proba(new) == pytest.approx(theirs.predict_proba(new), abs=1e-12)
    with pytest.raises(ParameterError, match="OneVsRestClassifier"):
        maxmargin.from_sklearn(LogisticRegression().fit(X, y))


def test_what_comes_from_scikit_learn_claims_no_certificate():
    for theirs in (svm.SVC().fit(X, y), svm.LinearSVC().fit(X, y), svm.SVR().fit(X, y)):
        ours = maxmargin.from_sklearn(theirs)
        assert ours.certificate_.gap == ours.certificate_.relative_gap == np.inf
        assert ours.result_.model.certificate == ours.certificate_
        assert ours.result_.status is not maxmargin.Status.CONVERGED
        assert ours.fit_status_ == 1
        assert "gives no certificate" in ours.result_.advice


@pytest.mark.skipif(not has_probability, reason="scikit-learn's SVC has no probabilities")
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_kernels_go_along(classes, storage):
    some = y < classes
    tolerance = 0.01  # scikit-learn's LIBSVM couples classes by iterations that end at 0.005 / classes
    ours = maxmargin.SVC(probability=True).fit(storage(X[some]), y[some])
    theirs = ours.to_sklearn()
    assert theirs.predict_proba(storage(new)) == pytest.approx(ours.predict_proba(new), abs=tolerance)
    back = maxmargin.from_sklearn(theirs)
    assert np.array_equal(back.predict_proba(new), ours.predict_proba(new))
    theirs = svm.SVC(probability=True).fit(storage(X[some]), y[some])
    ours = maxmargin.from_sklearn(theirs)
    assert ours.predict_proba(new) == pytest.approx(theirs.predict_proba(storage(new)), abs=tolerance)


def test_models_go_to_scikit_learn(tmp_path):
    for settings in ({}, {"loss": "logistic"}, {"kernel": "gaussian"}, {"kernel": "gaussian", "nu": 0.1}):
        model = maxmargin.train(X, y, **settings).model
        assert np.array_equal(model.to_sklearn().predict(new), model.predict(new))
        model.save(tmp_path / "model", force=True)
        assert np.array_equal(maxmargin.load(tmp_path / "model").to_sklearn().predict(new), model.predict(new))
    model = maxmargin.train(X, X[:, 0], kernel="linear", task="regress").model
    assert model.to_sklearn().predict(new) == pytest.approx(model.predict(new))


def test_columns_far_from_zero_go_along():
    far = X + 1e4
    for ours in (maxmargin.LinearSVC(), maxmargin.SVC(kernel="linear"), maxmargin.SVC(gamma=0.5)):
        ours.fit(far, y)
        theirs = ours.to_sklearn()
        assert np.array_equal(theirs.predict(new + 1e4), ours.predict(new + 1e4))


def test_a_model_without_support_vectors_goes_along():
    for storage in (np.asarray, sparse.csr_matrix):
        ours = maxmargin.SVR(epsilon=9.0).fit(storage(X), X[:, 0])
        assert len(ours.support_) == 0
        assert maxmargin.from_sklearn(svm.SVR(epsilon=9.0).fit(X, X[:, 0])).predict(new) == pytest.approx(0.0, abs=9.0)


def test_parameters_go_along_and_scikit_learn_can_fit_again():
    ours = maxmargin.SVC(C=2.5, kernel="gaussian", gamma="auto", class_weight="balanced", tol=1e-6).fit(X, y)
    theirs = ours.to_sklearn()
    assert (theirs.C, theirs.kernel, theirs.gamma, theirs.class_weight) == (2.5, "rbf", "auto", "balanced")
    assert np.mean(clone(theirs).fit(X, y).predict(new) == ours.predict(new)) >= 0.98
    assert pytest.approx(1.0 / (0.1 * len(X))) == maxmargin.LinearSVC(lam=0.1).fit(X, y).to_sklearn().C
    back = maxmargin.from_sklearn(theirs)
    assert (back.C, back.gamma, back.class_weight) == (2.5, "auto", "balanced")
    assert back.fit(X, y).certificate_.relative_gap <= back.tol


def test_names_of_features_go_along():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    theirs = maxmargin.SVC().fit(frame, y).to_sklearn()
    assert theirs.feature_names_in_.tolist() == list("abcd")
    assert maxmargin.from_sklearn(theirs).feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (make_pipeline(StandardScaler(), svm.SVC()), "last step"),
        (StandardScaler(), "does not take StandardScaler"),
        (svm.LinearSVR(), "does not take LinearSVR"),
        (maxmargin.SVC(), "does not take SVC"),
        (OneVsRestClassifier(svm.LinearSVC()).fit(X, y), "only with LogisticRegression"),
        (svm.SVC(kernel="poly", degree=0).fit(X, y), "degree"),
    ],
)
def test_what_cannot_come_is_refused_in_one_line(estimator, words):
    with pytest.raises(ParameterError, match=words) as caught:
        maxmargin.from_sklearn(estimator)
    assert "\n" not in str(caught.value)


def test_what_cannot_go_is_refused_in_one_line():
    with pytest.raises(ParameterError, match="fit without approx"):
        maxmargin.SVC(approx="nystrom", components=8).fit(X, y).to_sklearn()
    with pytest.raises(ParameterError, match="PolynomialMap"):
        maxmargin.train(X, y, expand="poly2").model.to_sklearn()


def test_only_fitted_estimators_are_exchanged():
    with pytest.raises(NotFittedError):
        maxmargin.SVC().to_sklearn()
    with pytest.raises(NotFittedError):
        maxmargin.from_sklearn(svm.SVC())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "ours",
    [
        maxmargin.LinearSVC(),
        maxmargin.LinearSVC(loss="logistic"),
        maxmargin.SVC(),
        maxmargin.SVC(kernel="poly", degree=2),
        maxmargin.NuSVC(nu=0.2),
        maxmargin.SVR(),
        maxmargin.NuSVR(),
        maxmargin.OneClassSVM(nu=0.2),
    ],
    ids=lambda one: f"{type(one).__name__}-{getattr(one, 'loss', '')}",
)
@pytest.mark.parametrize("classes", [2, 3])
def test_onnx_predicts_the_same(ours, classes):
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    some = y < classes
    single = new.astype(np.float32)
    theirs = clone(ours).fit(X[some], y[some]).to_sklearn()
    graph = skl2onnx.to_onnx(theirs, single[:1])
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": single})[0].reshape(-1)
    if isinstance(ours, (maxmargin.SVR, maxmargin.NuSVR)):
        assert found == pytest.approx(theirs.predict(single), abs=1e-4)
    else:
        assert np.mean(found == theirs.predict(single)) >= 0.98  # float32 decides rows on the boundary otherwise
