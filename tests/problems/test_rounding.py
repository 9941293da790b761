"""Certificates in exact arithmetic: what the reviews found false must stay true."""

from fractions import Fraction

import numpy as np
import pytest
from exact import linear_dual, linear_primal
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import EVERY_LOSS, timestamps
from scipy import sparse
from sklearn.datasets import make_blobs

import maxmargin
from maxmargin.data.columns import centre_of, column_to_blame, ranges_of, shifted
from maxmargin.data.take import take
from maxmargin.status import Status
from maxmargin.system.rounding import additions_of_sum, gamma

OFFSETS = [0.0, 2000.0, 1e5, 1.7e9, 1.7e12]


def check_exactly(result, X, y, C, loss="hinge", bias="free", tol=1e-4):
    """P ≤ primal, as it is and as `decide` computes it; dual ≤ every P; CONVERGED is true."""
    certificate, model = result.certificate, result.model
    C = np.full(len(y), C)
    primal = linear_primal(model, X, y, C, loss, bias)
    decided = [Fraction(float(value)) for value in model.decide(X)]
    assert primal <= Fraction(certificate.primal)
    assert linear_primal(model, X, y, C, loss, bias, scores=decided) <= Fraction(certificate.primal)
    assert certificate.gap >= 0.0
    dual = linear_dual(result.alpha, X, y, C, loss, bias)
    assert Fraction(certificate.dual) <= dual
    if result.status is Status.CONVERGED:
        assert primal - dual <= Fraction(tol) * primal


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("bias", ["free", "regularised", "none"])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.sampled_from([1e-3, 1.0, 1e4, 1e10]))
def test_certificates_hold_in_exact_arithmetic(offset, bias, loss, seed, C):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 20)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    X[:, 0] = offset + np.round(X[:, 0], 3)
    y = np.where(rng.random(n) < 0.5, -1, 1)
    y[:2] = -1, 1
    result = maxmargin.train(X, y, C=C, loss=loss, bias=bias, threads=1, max_epochs=300)
    check_exactly(result, X, y, C, loss, bias)


@pytest.mark.parametrize("seed", [20, 26])
@pytest.mark.parametrize("bias", ["regularised", "none"])
def test_a_timestamp_that_no_bias_can_absorb_is_never_converged_by_mistake(seed, bias):
    X, y = timestamps(seed)
    result = maxmargin.train(X, y, C=1e6, bias=bias, threads=1)
    assert result.status in (Status.ROUNDING, Status.CONVERGED)
    if result.status is Status.ROUNDING:
        assert "column 0 (counted from 0) lies around 1.7e+12: subtract its mean" in result.advice
    check_exactly(result, X, y, 1e6, bias=bias)


@pytest.mark.parametrize("seed", [20, 23, 26, 29])
def test_a_timestamp_with_a_free_bias_converges_to_a_true_gap(seed):
    X, y = timestamps(seed)
    result = maxmargin.train(X, y, C=1e6, threads=1)
    assert result.status is Status.CONVERGED
    check_exactly(result, X, y, 1e6)
    near = maxmargin.train(X - [1.7e12, 0, 0, 0], y, C=1e6, threads=1)
    assert near.certificate.primal == pytest.approx(result.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("C", [1e10, 1e12])
def test_large_C_claims_no_more_than_is_true(C):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(4, 20)), 30))
        y = np.where(np.arange(len(X)) % 2, 1, -1)
        check_exactly(maxmargin.train(X, y, C=C), X, y, C)


@pytest.mark.parametrize("C", [1e10, 1e12])
def test_logistic_at_large_C_converges(C):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (60, 40)).astype(float)
    y = np.where(X @ rng.normal(size=40) > 0, 1, -1)
    result = maxmargin.train(X, y, loss="logistic", C=C)
    assert result.status is Status.CONVERGED
    assert 0.0 <= result.certificate.relative_gap < 1e-9


SMALL = np.array([[0.126, -0.132], [0.64, 0.105], [-0.536, 0.362], [1.304, 0.947]])


@pytest.mark.parametrize("offset", [1e5, 1e6, 1e7, 1e9])
def test_shifting_a_column_changes_nothing_for_a_gaussian(offset):
    y = [-1, 1, -1, 1]
    shift = np.array([offset, 0.0])
    there = SMALL + shift
    back = there - shift
    near, far, moved = (maxmargin.train(X, y, kernel="gaussian", gamma=1.0, C=100.0) for X in (SMALL, there, back))
    assert far.status is Status.CONVERGED
    assert far.certificate.dual <= near.certificate.primal * (1 + 1e-9 * offset)
    assert far.certificate.primal == pytest.approx(moved.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(far.model.decide(there), moved.model.decide(back))


def test_regressions_and_novelty_detection_see_no_offset():
    rng = np.random.default_rng(0)
    X = rng.integers(-20, 21, (40, 3)) / 8.0
    z = np.sin(X[:, 0])
    for offset in (1e5, 1e7):
        for make in (maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM):
            near, far = make(gamma=0.5).fit(X, z), make(gamma=0.5).fit(X + offset, z)
            assert far.fit_status_ == 0
            np.testing.assert_allclose(far.predict(X + offset), near.predict(X), atol=1e-3)


def test_a_linear_kernel_with_a_free_bias_sees_no_offset():
    rng = np.random.default_rng(1)
    X = rng.integers(-20, 21, (40, 3)) / 8.0
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, "a", "b")
    far = maxmargin.SVC(kernel="linear").fit(X + 2.0**20, y)
    near = maxmargin.SVC(kernel="linear").fit(X, y)
    assert far.fit_status_ == 0
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-6)
    by_hand = (X + 2.0**20) @ far.coef_[0] + far.intercept_[0]
    np.testing.assert_allclose(far.decision_function(X + 2.0**20), by_hand, atol=1e-6)


@pytest.mark.parametrize("C", [100.0, 1e6, 1e10])
def test_polynomial_kernels_far_from_0_claim_no_more_than_is_true(C):
    """Values of 1e18 leave few digits of the margins: the claims are compared with exact fractions."""
    X = [[1, -0.15, 1000], [-1, -0.7, 1000]]
    result = maxmargin.train(X, [-1, 1], kernel="poly", degree=3, gamma=1.0, coef0=1.0, C=C)
    rows = [[Fraction(value) for value in row] for row in X]

    def K(x, z):
        return (sum(a * b for a, b in zip(x, z, strict=True)) + 1) ** 3

    optimum = 2 / (K(rows[0], rows[0]) + K(rows[1], rows[1]) - 2 * K(rows[0], rows[1]))
    c, b = [Fraction(value) for value in result.model.dual_coef[0].tolist()], Fraction(float(result.model.b[0]))
    support = [rows[place] for place in result.model.support]
    decisions = [sum(ci * K(z, x) for ci, z in zip(c, support, strict=True)) + b for x in rows]
    norm = sum(ci * cj * K(x, z) for ci, x in zip(c, support, strict=True) for cj, z in zip(c, support, strict=True))
    exact = norm / 2 + Fraction(C) * sum(max(1 - y * f, 0) for y, f in zip((1, -1), decisions, strict=True))
    assert Fraction(result.certificate.dual) <= optimum <= exact <= Fraction(result.certificate.primal)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("seed", range(4))
def test_one_class_with_the_origin_inside_the_data_ends(kernel, seed):
    X = make_blobs(100, random_state=seed)[0]
    for rows in (X, X - X.mean(axis=0)):
        svm = maxmargin.OneClassSVM(kernel=kernel, max_iter=2000).fit(rows)
        assert svm.fit_status_ == 0
        assert svm.certificate_.relative_gap <= svm.tol
        assert svm.certificate_.scale > 0.0


def test_targets_that_are_all_the_same_converge():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for z in (np.zeros(30), np.full(30, 5.0), np.full(30, 1e9)):
        for svm in (maxmargin.SVR(epsilon=0.0), maxmargin.SVR(), maxmargin.NuSVR()):
            assert svm.fit(X, z).fit_status_ == 0


def test_a_model_with_a_centre_survives_its_file_and_takes_any_storage(tmp_path):
    X, y = timestamps(20)
    model = maxmargin.train(X, y, C=10.0).model
    assert model.centre is not None
    model.save(tmp_path / "m.safetensors")
    again = maxmargin.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.decide(X), model.decide(X))
    np.testing.assert_allclose(again.decide(sparse.csr_array(X)), model.decide(X), rtol=1e-12)
    some = X.copy()
    some[3, 0] = 0.0  # not stored in a sparse row
    np.testing.assert_allclose(again.decide(sparse.csr_array(some)), model.decide(some), rtol=1e-12)
    kernel = maxmargin.train(X, y, kernel="gaussian", gamma=0.1).model
    kernel.save(tmp_path / "k.safetensors")
    np.testing.assert_array_equal(maxmargin.load(tmp_path / "k.safetensors").decide(X), kernel.decide(X))
    features = maxmargin.train(X, y, kernel="gaussian", gamma=0.1, approx="fourier", components=20).model
    features.save(tmp_path / "f.safetensors")
    np.testing.assert_array_equal(maxmargin.load(tmp_path / "f.safetensors").decide(X), features.decide(X))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_float32_rows_are_shifted_by_the_centre_itself(storage):
    X, y = timestamps(20)
    model = maxmargin.train(X, y, C=10.0).model
    short = X.astype(np.float32)
    np.testing.assert_allclose(model.decide(storage(short)), model.decide(short.astype(np.float64)), rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]))
def test_shifts_are_exact(seed, dtype):
    rng = np.random.default_rng(seed)
    X = (10.0 ** rng.uniform(2, 12) + rng.normal(size=(20, 3))).astype(dtype)
    X[:, 1] = rng.normal(size=20)
    for given_rows in (X, sparse.csr_array(X)):
        rows = take(given_rows)
        centre = centre_of(rows)
        moved = shifted(rows, np.zeros(3) if centre is None else centre)
        values = moved.values.reshape(-1)
        wanted = np.array([[Fraction(float(a)) for a in row] for row in X], dtype=object)
        wanted -= [Fraction(float(c)) for c in (np.zeros(3) if centre is None else centre)]
        assert all(Fraction(float(a)) == b for a, b in zip(values, wanted.reshape(-1), strict=True))


def test_a_sparse_column_with_a_value_that_is_not_stored_is_not_far_from_0():
    X = sparse.csr_array(np.array([[1e9, 1.0], [1e9 + 1, 0.0], [0.0, 2.0]]))
    assert centre_of(take(X)) is None
    assert ranges_of(take(X)).least.tolist() == [0.0, 0.0]


def test_the_column_to_blame_is_named():
    rows = take(np.array([[1.0, 5e6, 1e9], [2.0, -5e6, 1e9 + 1]]))
    assert column_to_blame(rows) == "column 2 (counted from 0) lies around 1e+09: subtract its mean"
    assert column_to_blame(take(rows.values[:, :2]), ["a", "b"]) == (
        "column 1 'b' has values up to 5e+06: divide it by its standard deviation"
    )
    assert column_to_blame(take(rows.values[:, :1])) == ""


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_sums_of_numpy_err_by_no_more_than_their_bound(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=int(rng.integers(1, 5000))) * 10.0 ** rng.uniform(-8, 8)
    exact = sum((Fraction(float(value)) for value in values), Fraction(0))
    size = sum((abs(Fraction(float(value))) for value in values), Fraction(0))
    bound = Fraction(gamma(additions_of_sum(len(values)))) * size
    for found in (np.sum(values), *np.sum(np.vstack([values, values, values]), axis=1)):
        assert abs(Fraction(float(found)) - exact) <= bound
