"""Nyström and Fourier features: near to their kernel, exact where they can be, and certified as what they are."""

import json
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import SVC, ApproximateModel, FileError, MaxmarginError, ParameterError, train
from maxmargin.cli import run
from maxmargin.data.pick import pick
from maxmargin.data.rows import count_rows
from maxmargin.data.take import take
from maxmargin.kernels.approximation import Approximation
from maxmargin.kernels.feature_maps import fourier_map, nystrom_map, transform
from maxmargin.kernels.functions import Gaussian, Linear, Polynomial
from maxmargin.kernels.landmarks import WAYS, landmarks_of, leverage
from maxmargin.training import approximate

digits = load_digits()
X, y = digits.data[:800] / 16.0, digits.target[:800]
test, right = digits.data[800:1200] / 16.0, digits.target[800:1200]
two = y < 2
STORAGES = [np.asarray, sparse.csr_matrix]


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", [Gaussian(0.1), Polynomial(2, 0.1, 1.0), Linear()])
def test_nystrom_features_are_exact_on_their_landmarks(kernel, storage):
    rows = take(storage(X))
    phi = transform(nystrom_map(kernel, pick(rows, np.arange(60))), rows).values
    products = X @ X[:60].T
    K = {"gaussian": gaussian(X, X[:60], 0.1), "polynomial": (0.1 * products + 1) ** 2, "linear": products}[kernel.name]
    assert phi @ phi[:60].T == pytest.approx(K, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("storage", STORAGES)
def test_fourier_features_come_nearer_with_their_number(storage):
    rows, K = take(storage(X[:200])), gaussian(X[:200], X[:200], 0.1)
    errors = []
    for components in (40, 640, 10240):
        phi = transform(fourier_map(Gaussian(0.1), 64, components, np.random.default_rng(0)), rows, 2).values
        assert phi.shape == (200, components)
        assert np.square(phi).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
        errors.append(np.sqrt(np.mean((phi @ phi.T - K) ** 2)))
    assert errors[0] > 2.5 * errors[1] > 2.5 * 2.5 * errors[2]
    assert errors[2] < 0.01


def test_orthogonal_frequencies_are_spread_as_the_spectrum_is():
    W = fourier_map(Gaussian(0.3), 8, 40000, np.random.default_rng(1)).frequencies
    assert np.mean(W**2) == pytest.approx(2 * 0.3, rel=0.02)
    assert (W[:, :8].T @ W[:, :8])[~np.eye(8, dtype=bool)] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
def test_with_all_examples_as_landmarks_nystrom_is_the_kernel(storage):
    settings = {"kernel": "gaussian", "gamma": 0.1, "C": 2.0, "tol": 1e-6}
    exact = maxmargin.train(storage(X[two]), y[two], **settings)
    near = maxmargin.train(storage(X[two]), y[two], approx="nystrom", components=10**6, **settings)
    assert near.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-4)
    assert near.model.decide(storage(test)) == pytest.approx(exact.model.decide(storage(test)), abs=1e-2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("storage", STORAGES)
def test_landmarks_are_as_many_as_asked_for_and_always_the_same(way, storage):
    rows = take(storage(X))
    one, two = (landmarks_of(way, rows, Gaussian(0.1), 50, np.random.default_rng(3), 2) for _ in range(2))
    assert count_rows(one) == 50
    assert np.array_equal(one.values, two.values)


def test_leverage_is_what_its_definition_says():
    """Of L = ΦΦᵀ, the kernel as 30 landmarks know it, the diagonal of L (L + λI)^(−1), and what L leaves, over λ."""
    rows, first = take(X[:200]), X[:30]
    found = leverage(rows, Gaussian(0.02), pick(rows, np.arange(30)), 2)
    to, own = gaussian(X[:200], first, 0.02), gaussian(first, first, 0.02)
    L = to @ np.linalg.solve(own, to.T)
    left = 1.0 - np.diag(L)
    ridge = left.sum() / 30
    expected = np.diag(L @ np.linalg.inv(L + ridge * np.eye(200))) + left / ridge
    assert expected.max() > 2 * expected.min()
    assert found == pytest.approx(np.minimum(expected, 1.0), abs=2e-3)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(2, 1.0, 0.0)])
@pytest.mark.parametrize("way", WAYS)
def test_rows_that_are_all_the_same_have_landmarks_too(kernel, way):
    for rows in (take(np.zeros((50, 3))), take(np.ones((50, 3))), take(np.zeros((50, 0)))):
        assert count_rows(landmarks_of(way, rows, kernel, 5, np.random.default_rng(0), 1)) == 5


def test_examples_without_weight_are_no_landmarks():
    weights = np.ones(len(y))
    weights[::3] = 0.0
    settings = {"kernel": "gaussian", "gamma": 0.1, "approx": "nystrom", "components": 40, "tol": 1e-6}
    one = maxmargin.train(X, y, weights=weights, **settings).model
    other = maxmargin.train(X[weights > 0], y[weights > 0], **settings).model
    assert np.array_equal(one.features.landmarks.values, other.features.landmarks.values)
    assert one.decide(test) == pytest.approx(other.decide(test), abs=1e-2)


def test_wide_sparse_rows_are_not_written_out():
    """A million columns and a hundred landmarks would be 800 MB."""
    wide, labels = sparse.random(300, 1_000_000, 1e-4, format="csr", random_state=0), np.arange(300) % 2
    result = maxmargin.train(wide, labels, kernel="gaussian", gamma=0.1, approx="nystrom", components=100)
    assert result.model.decide(wide[:5]).shape == (5,)


def test_the_time_of_the_features_counts(monkeypatch):
    """What the features have taken is no longer there for the machine, and is in the seconds of the result."""
    made, fit_linear, given = Approximation.features, approximate.fit_linear, []

    def slowly(*arguments):
        time.sleep(0.2)
        return made(*arguments)

    def watched(data, settings, metadata):
        given.append(settings.max_seconds)
        return fit_linear(data, settings, metadata)

    monkeypatch.setattr(Approximation, "features", slowly)
    monkeypatch.setattr(approximate, "fit_linear", watched)
    result = train(X[two], y[two], kernel="gaussian", approx="nystrom", components=20, max_seconds=1000.0)
    assert given[0] <= 999.8
    assert result.seconds >= 0.2 + result.parts[0].seconds


def test_weights_that_leave_no_class_are_refused_before_any_feature():
    with pytest.raises(maxmargin.DataError, match="weight"):
        maxmargin.train(X, y, weights=np.zeros(len(y)), kernel="gaussian", approx="nystrom")


def test_leverage_finds_what_nothing_else_explains():
    points = np.r_[np.random.default_rng(0).normal(size=(500, 2)) * 0.1, [[5.0, 5.0]]]
    rows = take(points)
    scores = leverage(rows, Gaussian(1.0), pick(rows, np.arange(20)), 1)
    assert np.argmax(scores) == 500


@pytest.mark.parametrize("landmarks", ["kmeans", "leverage"])
def test_the_error_of_nystrom_falls_with_its_components(landmarks):
    rows, K = take(X), gaussian(X, X, 0.02)
    errors = []
    for components in (10, 40, 160):
        phi = transform(
            Approximation("nystrom", components, landmarks).features(rows, Gaussian(0.02), 0, 2), rows
        ).values
        errors.append(np.abs(phi @ phi.T - K).mean())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("approx", ["nystrom", "fourier"])
def test_many_classes_are_learnt_and_certified(approx):
    result = maxmargin.train(X, y, kernel="gaussian", gamma=0.1, approx=approx, components=200, C=3.0)
    assert result.certificate.relative_gap <= 1e-4
    assert np.mean(result.model.predict(test) == right) > 0.94
    assert isinstance(result.model, ApproximateModel)
    assert f"200 {approx} features for Gaussian(gamma=0.1)" in result.why
    assert "the certificate is of that problem" in result.why


@pytest.mark.parametrize("approx", ["nystrom", "fourier"])
@pytest.mark.parametrize("storage", STORAGES)
def test_a_model_comes_back(approx, storage, tmp_path):
    model = maxmargin.train(storage(X), y, kernel="rbf", gamma=0.1, approx=approx, components=30).model
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert np.array_equal(again.decide(storage(test)), model.decide(storage(test)))
    assert again.certificate == model.certificate
    assert again.training == model.training
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert len(model.decide(storage(X[:0]))) == 0
    with pytest.raises(maxmargin.DataError, match=r"X has 65 features, but the model was trained with 64"):
        again.predict(np.zeros((2, 65)))


def test_any_loss_will_do_and_logistic_has_probabilities():
    model = maxmargin.train(X, y, kernel="gaussian", gamma=0.1, approx="nystrom", components=100, loss="logistic").model
    p = model.probabilities(test)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(model.classes[np.argmax(p, axis=1)] == right) > 0.9


def test_svc_takes_it():
    svc = SVC(gamma=0.1, approx="nystrom", components=150).fit(X, y)
    assert svc.score(test, right) > 0.93
    assert svc.decision_function(test).shape == (400, 10)
    assert svc.fit_status_ == 0
    assert svc.certificate_.relative_gap <= svc.tol
    assert np.array_equal(svc.predict(test), SVC(gamma=0.1, approx="nystrom", components=150).fit(X, y).predict(test))
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    assert (
        SVC(gamma=0.1, approx="fourier", components=150, class_weight="balanced").fit(X, y, weights).score(X, y) > 0.9
    )


def expected(estimator):
    """Landmarks are drawn of examples: with copies of some they are others."""
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(names, "landmarks are drawn of examples")


@parametrize_with_checks([SVC(approx="nystrom", components=20)], expected_failed_checks=expected)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"kernel": "gaussian", "approx": "fastfood"},
            "approx='fastfood' is not known: choose one of nystrom",
        ),
        ({"approx": "nystrom"}, "approx needs a kernel: add kernel='gaussian'"),
        ({"kernel": "poly", "approx": "fourier"}, "for the gaussian kernel only"),
        ({"kernel": "sigmoid", "approx": "nystrom"}, "is for positive semidefinite kernels"),
        ({"kernel": lambda A, B: A @ B.T, "approx": "nystrom"}, "is for positive semidefinite kernels"),
        ({"kernel": "gaussian", "approx": "nystrom", "components": "many"}, "components='many' must be a whole number"),
        ({"kernel": "gaussian", "approx": "nystrom", "components": 0}, "components=0 must be a whole number"),
        ({"kernel": "gaussian", "approx": "nystrom", "components": 2.5}, "components=2.5 must be a whole number"),
        ({"kernel": "gaussian", "approx": "nystrom", "landmarks": "best"}, "landmarks='best' is not known"),
    ],
)
def test_bad_input_gets_one_line(settings, said):
    with pytest.raises(ParameterError, match=said):
        maxmargin.train(X, y, **settings)


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_what_svc_cannot_do_with_it_is_said():
    with pytest.raises(ParameterError, match="'ovo' is for the kernel itself"):
        SVC(approx="nystrom", decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ParameterError, match="random_state=-1 must be"):
        SVC(approx="nystrom", random_state=-1).fit(X, y)
    svc = SVC(probability=True).fit(X[two], y[two])
    svc.set_params(approx="fourier", probability=False, components=20).fit(X[two], y[two])
    assert not hasattr(svc, "support_")
    assert not hasattr(svc, "probA_")


def test_landmarks_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr("maxmargin.kernels.approximation.free_memory", lambda: 1 << 20)
    with pytest.raises(ParameterError, match=r"components=700: 700 landmarks take 0\.0157 GB: take fewer"):
        maxmargin.train(X, y, kernel="gaussian", approx="nystrom", components=700)


def test_no_file_for_libsvm_and_no_half_file(tmp_path):
    model = maxmargin.train(X[two], y[two], kernel="gaussian", approx="fourier", components=10).model
    with pytest.raises(ParameterError, match="LIBSVM's files hold kernel models only, not type ApproximateModel"):
        maxmargin.write_libsvm_model(model, tmp_path / "model")
    with pytest.raises(MaxmarginError, match="no probabilities"):
        model.probabilities(test)
    model.linear.w = model.linear.w[:, 1:]
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match="features do not fit its weights"):
        maxmargin.load(tmp_path / "model")


def test_on_the_command_line(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    maxmargin.write("data.svm", X, y)
    options = ["--kernel", "gaussian", "--gamma", "0.1", "--approx", "nystrom", "--components", "60", "-q"]
    assert run(["train", "data.svm", *options]) == 0
    out = capfd.readouterr().out
    assert "certified is      the problem with 60 nystrom features for Gaussian(gamma=0.1), not the kernel's own" in out
    assert run(["inspect", "data.safetensors", "--json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["kind"] == "linear model on features for a kernel"
    assert facts["features"] == 64
    assert run(["score", "data.safetensors", "data.svm", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["accuracy"] > 0.9
