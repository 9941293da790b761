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
from maxmargin import SVC, MaxmarginError, NuSVC, ParameterError
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
    with pytest.raises(ParameterError, match="probability is for kernels"):
        maxmargin.train(X, y, probability=True)
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
