"""Probabilities: the sigmoid of a pair, pairs coupled, and models that have them."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import SVC, FileError, LinearSVC, MaxmarginError, NuSVC, ParameterError, RefusedError
from maxmargin.cli import run
from maxmargin.models.probabilities import couple, couple_some, fit_sigmoid, folds_of

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")

digits = load_digits()
order = np.random.default_rng(0).permutation(1797)
X, test, _ = np.split(digits.data[order] / 16.0, [400, 700])
y, right, _ = np.split(digits.target[order], [400, 700])
some, few = y < 3, right < 3


def test_the_sigmoid_is_the_one_of_maximum_likelihood():
    rng = np.random.default_rng(0)
    first = rng.random(300) < 0.4
    values = np.where(first, 0.7, -0.6) + rng.normal(size=300)
    A, B = fit_sigmoid(values, first)
    count = first.sum()
    target = np.where(first, (count + 1) / (count + 2), 1 / (300 - count + 2))

    def loss(point):
        z = point[0] * values + point[1]
        return np.sum(target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))

    reference = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8})
    assert loss((A, B)) <= reference.fun + 1e-9
    assert pytest.approx(reference.x, abs=1e-4) == (A, B)
    assert A < 0  # the larger the value, the likelier the first class


@pytest.mark.parametrize(
    "values",
    [np.zeros(10), np.r_[np.full(5, 1e6), np.full(5, -1e6)], np.arange(10.0), np.ones(200_000), np.full(200_000, -3.0)],
)
def test_the_sigmoid_ends_on_values_of_any_kind(values):
    """Equal values say nothing: then the probability is the part of the first class."""
    first = np.arange(len(values)) % 4 == 0
    A, B = fit_sigmoid(values, first)
    assert np.isfinite([A, B]).all()
    if np.ptp(values) == 0.0:
        assert 1 / (1 + np.exp(A * values[0] + B)) == pytest.approx(first.mean(), abs=0.05)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(3, 6).flatmap(
        lambda k: st.tuples(
            st.just(k), st.lists(st.floats(1e-7, 1 - 1e-7), min_size=k * (k - 1) // 2, max_size=k * (k - 1) // 2)
        )
    )
)
def test_coupled_pairs_are_probabilities_that_no_others_agree_better_with(case):
    k, pairs = case
    found = couple(np.array([pairs]), k)[0]
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    r = np.zeros((k, k))
    r[np.triu_indices(k, 1)] = pairs
    r[np.tril_indices(k, -1)] = (1 - r.T)[np.tril_indices(k, -1)]

    def disagreement(p):
        return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(k) for j in range(k) if i != j)

    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(k), 30):
        nearby = 0.99 * found + 0.01 * other
        assert disagreement(found) <= disagreement(nearby) + 1e-9


def test_pairs_that_agree_give_back_the_probabilities_they_came_from():
    p = np.array([0.5, 0.2, 0.2, 0.1])
    pairs = [p[i] / (p[i] + p[j]) for i in range(4) for j in range(i + 1, 4)]
    assert couple_some(np.array([pairs]), 4)[0] == pytest.approx(p)


def test_folds_share_each_class():
    folds = folds_of(np.array([1.0, 1, 1, 1, 1, 1, -1, -1]))
    assert folds.tolist() == [0, 1, 2, 3, 4, 0, 0, 1]


@pytest.mark.parametrize("kind", [SVC, NuSVC])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_probabilities_say_what_is_likely_and_are_always_the_same(kind, classes):
    own, others = y < classes, right < classes
    extra = {"nu": 0.1} if kind is NuSVC else {}
    one, two = (kind(probability=True, **extra).fit(X[own], y[own]) for _ in range(2))
    p = one.predict_proba(test[others])
    assert p.shape == (others.sum(), classes)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(p, two.predict_proba(test[others]))
    assert np.mean(one.classes_[np.argmax(p, axis=1)] == right[others]) > 0.9
    assert log_loss(right[others], p) < 0.4
    assert one.predict_log_proba(test[:5]) == pytest.approx(np.log(one.predict_proba(test[:5])))
    assert one.result_.model.sigmoids.shape == (classes * (classes - 1) // 2, 2)
    assert (one.result_.model.sigmoids[:, 0] < 0).all()


def test_noise_is_given_back_as_doubt():
    """Where one in four labels is wrong, no probability is far beyond three in four."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(600, 2))
    labels = (points[:, 0] > 0) ^ (rng.random(600) < 0.25)
    p = SVC(probability=True, gamma=0.1).fit(points, labels).predict_proba([[2.0, 0.0], [-2.0, 0.0]])
    assert p[0, 1] == pytest.approx(0.75, abs=0.1)
    assert p[1, 0] == pytest.approx(0.75, abs=0.1)


def test_they_are_kept_in_both_kinds_of_file(tmp_path):
    model = maxmargin.train(X[some], y[some], kernel="gaussian", gamma=0.1, probability=True).model
    model.save(tmp_path / "a")
    maxmargin.write_libsvm_model(model, tmp_path / "b")
    for name in "ab":
        again = maxmargin.load(tmp_path / name)
        assert again.probabilities(test) == pytest.approx(model.probabilities(test), abs=1e-10)


def test_libsvm_knows_its_classes_in_another_order(tmp_path):
    """A pair that is turned changes the sign of B: worked out by hand."""
    (tmp_path / "model").write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.5\nlabel 7 3\nprobA -2\nprobB 0.25\n"
        "nr_sv 1 1\nSV\n1 1:1\n-1 1:-1\n"
    )
    model = maxmargin.load(tmp_path / "model")
    value = 2 * 0.3 - 0.5
    seven = 1 / (1 + np.exp(-2 * value + 0.25))
    assert model.classes.tolist() == [3, 7]
    assert model.probabilities([[0.3]])[0] == pytest.approx([1 - seven, seven])


def test_an_example_that_is_alone_in_its_class_is_held_out_too():
    p = SVC(probability=True).fit(np.r_[X[y == 0][:10], X[y == 1][:1]], [0] * 10 + [1]).predict_proba(test[:3])
    assert np.isfinite(p).all()


def test_a_precomputed_kernel_has_probabilities():
    K = X[some] @ X[some].T
    ours = SVC(kernel="precomputed", probability=True).fit(K, y[some])
    plain = SVC(kernel="linear", probability=True).fit(X[some], y[some])
    assert ours.predict_proba(test @ X[some].T) == pytest.approx(plain.predict_proba(test), abs=1e-3)
    result = maxmargin.train(sparse.csr_matrix(K), y[some], kernel="precomputed", probability=True)
    assert result.model.probabilities(test @ X[some].T) == pytest.approx(plain.predict_proba(test), abs=1e-3)


def test_without_them_the_way_to_them_is_said(tmp_path):
    model = maxmargin.train(X[some], y[some], kernel="gaussian").model
    with pytest.raises(MaxmarginError, match="train with probability=True"):
        model.probabilities(test)
    with pytest.raises(MaxmarginError, match="train with loss='logistic', or with probability=True"):
        maxmargin.train(X[some], y[some]).model.probabilities(test)
    with pytest.raises(ParameterError, match="whose models have probabilities anyway: leave it out"):
        maxmargin.train(X, y, loss="logistic", probability=True)
    assert not hasattr(SVC(), "predict_proba")


def test_on_the_command_line(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    maxmargin.write("data.svm", X[some], y[some])
    assert run(["train", "data.svm", "--kernel", "gaussian", "--gamma", "0.1", "--probability", "-q", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["status"] == "CONVERGED"
    assert run(["predict", "data.safetensors", "data.svm", "--what", "probabilities"]) == 0
    found = np.array([line.split() for line in capfd.readouterr().out.splitlines()], dtype=float)
    assert found.shape == (some.sum(), 3)
    assert found.sum(axis=1) == pytest.approx(1.0)


def test_an_end_of_time_leaves_no_probabilities():
    """Machines that never began say nothing about their pair."""
    with pytest.warns(ConvergenceWarning, match="time limit"):
        svc = SVC(probability=True, C=1e4, tol=1e-12, max_seconds=0.05).fit(X, y)
    assert svc.fit_status_ == 1
    with pytest.raises(MaxmarginError, match=r"no probabilities.*to the end"):
        svc.predict_proba(test[:4])


def test_an_interrupt_of_the_folds_is_no_convergence():
    """The callback stops the first fold: the machine is there, its probabilities are not, and the status says so."""

    def stop(record):
        return "fold" in record.problem

    result = maxmargin.train(X[some], y[some], kernel="gaussian", gamma=0.1, probability=True, callback=stop)
    assert result.status is maxmargin.Status.INTERRUPTED
    assert result.certificate.relative_gap <= 1e-4
    assert result.model.sigmoids is None


def test_a_nu_that_is_just_feasible_is_feasible_for_folds_too():
    own = np.r_[np.flatnonzero(y == 0)[:6], np.flatnonzero(y == 1)[:2]]
    p = NuSVC(nu=0.5, probability=True).fit(X[own], y[own]).predict_proba(test[:3])
    assert np.isfinite(p).all()


def test_an_example_without_weight_is_as_good_as_none():
    weights = np.ones(some.sum())
    weights[::7] = 0.0
    kept = weights > 0
    one = SVC(gamma=0.1, probability=True).fit(X[some], y[some], weights)
    other = SVC(gamma=0.1, probability=True).fit(X[some][kept], y[some][kept])
    assert one.predict_proba(test) == pytest.approx(other.predict_proba(test), abs=1e-3)


def expected(estimator):
    """Folds are of examples, so that a copy of one and a weight of two do not fall the same way."""
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(names, "folds are of examples")


@parametrize_with_checks([SVC(probability=True)], expected_failed_checks=expected)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


LINEAR = [
    {"loss": "hinge"}, {"loss": "squared_hinge"}, {"bias": "none"}, {"bias": "regularised"},
    {"class_weight": "balanced"},
    {"kernel": "gaussian", "approx": "nystrom", "components": 60}, {"expand": "poly2"}, {"lam": 1e-3},
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("given", LINEAR, ids=str)
def test_linear_models_have_calibrated_probabilities(given, classes, tmp_path):
    own, others = y < classes, right < classes
    one, two = (maxmargin.train(X[own], y[own], probability=True, **given).model for _ in range(2))
    p = one.probabilities(test[others])
    assert p.shape == (others.sum(), classes)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(p, two.probabilities(test[others]))
    assert log_loss(right[others], p) < 0.4
    assert getattr(one, "linear", one).sigmoids.shape == (1 if classes == 2 else classes, 2)
    one.save(tmp_path / "model")
    assert np.array_equal(maxmargin.load(tmp_path / "model").probabilities(test[others]), p)
    plain = maxmargin.train(X[own], y[own], **given).model
    assert np.array_equal(plain.decide(test), one.decide(test))


def test_the_sigmoid_of_a_linear_model_is_that_of_held_out_decision_values():
    own = y < 2
    rows, labels = X[own], y[own]
    values, folds = np.empty(len(rows)), folds_of(labels)
    for fold in range(5):
        rest = folds != fold
        values[~rest] = maxmargin.train(rows[rest], labels[rest], tol=1e-3).model.decide(rows[~rest])
    model = maxmargin.train(rows, labels, probability=True).model
    assert model.sigmoids[0] == pytest.approx(fit_sigmoid(values, labels == 1), rel=0.1)
    A, B = model.sigmoids[0]
    assert model.probabilities(test)[:, 1] == pytest.approx(1 / (1 + np.exp(A * model.decide(test) + B)), abs=2e-7)


def test_doubt_of_a_linear_model_is_about_the_noise():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(2000, 2))
    labels = (points[:, 0] > 0) ^ (rng.random(2000) < 0.25)
    svc = LinearSVC(probability=True).fit(points, labels)
    p = svc.predict_proba(points)[:, 1]
    assert np.mean(p[points[:, 0] > 1.0]) == pytest.approx(0.75, abs=0.1)
    assert np.mean(p[points[:, 0] < -1.0]) == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "make", [lambda: LinearSVC(probability=True), lambda: SVC(probability=True)], ids=["linear", "kernel"]
)
def test_a_class_with_one_example_has_probabilities(make, classes):
    """Its example is held out once, against a fit that never saw the class."""
    rows = (
        np.r_[X[y == 0][:10], X[y == 1][:10], X[y == 2][:1]] if classes == 3 else np.r_[X[y == 0][:10], X[y == 2][:1]]
    )
    labels = np.repeat(np.arange(classes), [10] * (classes - 1) + [1])
    p = make().fit(rows, labels).predict_proba(test[:20])
    assert np.isfinite(p).all()
    assert p.sum(axis=1) == pytest.approx(1.0)
    alone = make().fit(np.array([[0.0], [1.0]]), [0, 1]).predict_proba([[0.5]])
    assert np.isfinite(alone).all()


def test_weights_of_0_leave_examples_out_of_the_calibration():
    own = np.flatnonzero(y < 3)
    weights = np.arange(len(own)) % 3 > 0
    one = maxmargin.train(X[own], y[own], probability=True, weights=weights.astype(float)).model
    two = maxmargin.train(X[own][weights], y[own][weights], probability=True).model
    assert one.sigmoids == pytest.approx(two.sigmoids, rel=0.1, abs=0.1)


def test_a_linear_calibration_that_is_cut_short_gives_no_probabilities():
    seen = []
    result = maxmargin.train(X, y, probability=True, callback=lambda record: seen.append(record) or True)
    assert result.status is not maxmargin.Status.CONVERGED
    if result.model.sigmoids is None:
        with pytest.raises(MaxmarginError, match="probability=True and to the end"):
            result.model.probabilities(X)


def test_damaged_sigmoids_of_a_linear_model_are_refused(tmp_path):
    model = maxmargin.train(X[some], y[some], probability=True).model
    model.sigmoids = model.sigmoids[1:]
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match="sigmoids have shape"):
        maxmargin.load(tmp_path / "model")


def test_dual_steps_from_files_have_no_calibration(tmp_path):
    maxmargin.write(tmp_path / "rows.svm", X, y)
    with pytest.raises(RefusedError, match="cached_loops has no probability: take solver='auto'"):
        maxmargin.train(tmp_path / "rows.svm", probability=True, solver="cached_loops")
    assert maxmargin.train(tmp_path / "rows.svm", probability=True).model.sigmoids.shape == (10, 2)


@parametrize_with_checks([LinearSVC(probability=True)])
def test_linear_calibration_keeps_scikit_learns_contract(estimator, check):
    if check.func.__name__.startswith("check_sample_weight_equivalence"):
        pytest.skip("two fits to tol differ, and the folds of repeated examples are not those of weighted ones")
    if check.func.__name__ == "check_classifiers_train":
        pytest.skip("the sign of the decision value and the larger probability may differ: docs/estimator.md")
    check(estimator)
