"""C = ∞: the widest margin where there is one, and where there is none a proof that anyone can check."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import EVERY_BIAS, STORAGES, overlapping
from scipy import sparse
from scipy.optimize import linprog, minimize

import maxmargin
from maxmargin import Status, train


def separable(n=60, d=3, seed=0, gap=0.5):
    """Two classes with a gap between them, off the origin."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 64) / 64
    direction = rng.normal(size=d)
    y = np.where(X @ direction > 0.2, 1.0, -1.0)
    return X + np.outer(y, gap * np.sign(direction)), y


def widest(X, y, bias, bias_scale):
    """½‖w‖² at the optimum, by SciPy's SLSQP on the primal."""
    Z = X if bias == "none" else np.column_stack([X, np.ones(len(y))])
    ridge = np.ones(Z.shape[1])
    if bias != "none":
        ridge[-1] = {"free": 0.0, "regularised": 1 / bias_scale**2}[bias]
    margin = {"type": "ineq", "fun": lambda v: y * (Z @ v) - 1, "jac": lambda v: y[:, None] * Z}
    start = linprog(np.zeros(Z.shape[1]), A_ub=-y[:, None] * Z, b_ub=-np.ones(len(y)), bounds=(None, None))
    assert start.status == 0
    found = minimize(
        lambda v: 0.5 * v @ (ridge * v), start.x, jac=lambda v: ridge * v, constraints=[margin], method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    return found.fun


def can_be_separated(X, y, bias):
    """By a linear program for (w, b), not for the weights."""
    Z = X if bias == "none" else np.column_stack([X, np.ones(len(y))])
    return linprog(np.zeros(Z.shape[1]), A_ub=-y[:, None] * Z, b_ub=-np.ones(len(y)), bounds=(None, None)).status == 0


def assert_proved(result, X, y, bias):
    """The weights are a proof by themselves."""
    alpha = result.alpha
    assert np.all(alpha >= 0)
    assert alpha.sum() > 0
    scale = 1e-8 * np.abs(X).max()
    if bias == "none":
        assert alpha.sum() == pytest.approx(1.0)
        np.testing.assert_allclose((alpha * y) @ X, 0.0, atol=scale)
    else:
        means = [alpha[y == side] @ X[y == side] for side in (-1, 1)]
        assert [alpha[y == side].sum() for side in (-1, 1)] == pytest.approx([1.0, 1.0])
        np.testing.assert_allclose(*means, atol=scale)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_widest_margin(storage, bias, loss):
    X, y = separable()
    scale = {"bias_scale": 0.7} if bias == "regularised" else {}
    result = train(STORAGES[storage](X), y, C=np.inf, loss=loss, bias=bias, tol=1e-8, **scale)
    w, b = result.model.w[0], result.model.b[0]
    margins = y * (X @ w + b)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(widest(X, y, bias, 0.7), rel=1e-6)
    assert margins.min() == pytest.approx(1.0)
    assert result.model.margins[0] == pytest.approx(1 / np.linalg.norm(w))
    np.testing.assert_allclose(margins[result.alpha > 1e-6 * result.alpha.max()], 1.0, atol=1e-3)
    assert set(result.model.support) == set(np.flatnonzero(result.alpha))


def test_lam_of_zero_says_the_same():
    X, y = separable()
    by_lam, by_C = train(X, y, lam=0.0), train(X, y, C=np.inf)
    assert np.array_equal(by_lam.model.w, by_C.model.w)


def test_a_large_C_comes_close():
    X, y = separable()
    hard, soft = train(X, y, C=np.inf, tol=1e-8), train(X, y, C=1e4, tol=1e-8)
    np.testing.assert_allclose(hard.model.w, soft.model.w, rtol=1e-3)


@pytest.mark.parametrize("storage", ["dense64", "csr64"])
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_classes_that_overlap_are_proved_to(storage, bias):
    X, y = overlapping(n=300)
    result = train(STORAGES[storage](X), y, C=np.inf, bias=bias)
    assert result.status is Status.NOT_SEPARABLE
    assert "give both classes the same mean" in result.advice
    assert_proved(result, X, y, bias)
    assert np.all(np.isfinite(result.model.w))


def test_two_equal_rows_with_unlike_labels():
    X, y = separable()
    X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])
    result = train(X, y, C=np.inf)
    assert result.status is Status.NOT_SEPARABLE
    assert set(np.flatnonzero(result.alpha)) == {0, len(y) - 1}
    assert_proved(result, X, y, "free")


def test_an_empty_row_cannot_be_on_a_side_without_a_bias():
    X, y = separable()
    X[5] = 0.0
    result = train(X, y, C=np.inf, bias="none")
    assert result.status is Status.NOT_SEPARABLE
    assert_proved(result, X, y, "none")


def test_far_from_the_origin_is_no_obstacle():
    X, y = separable()
    near, far = train(X, y, C=np.inf), train(X + 1e4, y, C=np.inf)
    assert far.status is Status.CONVERGED
    assert far.certificate.primal == pytest.approx(near.certificate.primal, rel=1e-3)


def test_examples_without_weight_may_lie_anywhere():
    X, y = separable()
    X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])
    weights = np.append(np.full(len(y) - 1, 2.0), 0.0)
    result = train(X, y, C=np.inf, weights=weights)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(train(X[:-1], y[:-1], C=np.inf).certificate.primal, rel=1e-3)


points = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=9)


@given(points=points, labels=st.integers(1, 2**9 - 2), bias=st.sampled_from(EVERY_BIAS))
def test_separable_or_not_is_decided_as_an_independent_program_decides(points, labels, bias):
    X = np.array(points, dtype=float)
    y = np.array([1.0 if labels >> k & 1 else -1.0 for k in range(len(points))])
    if len(set(y)) < 2:
        return
    result = train(X, y, C=np.inf, bias=bias, tol=1e-6, max_epochs=10**6)
    if can_be_separated(X, y, bias):
        assert result.status is Status.CONVERGED
        assert np.min(y * (X @ result.model.w[0] + result.model.b[0])) == pytest.approx(1.0)
    else:
        assert result.status is Status.NOT_SEPARABLE
        assert_proved(result, X, y, bias)


def test_several_classes_of_which_one_is_in_the_middle():
    X = np.array([[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]])
    result = train(X, [0, 0, 1, 1, 2, 2], C=np.inf)
    assert [part.status.name for part in result.parts] == ["CONVERGED", "NOT_SEPARABLE", "CONVERGED"]
    assert result.status is Status.NOT_SEPARABLE


def test_a_hard_margin_survives_its_file(tmp_path):
    X, y = separable()
    model = train(X, y, C=np.inf).model
    model.save(tmp_path / "m")
    again = maxmargin.load(tmp_path / "m")
    assert again.training["C"] == np.inf
    assert np.array_equal(again.w, model.w)


@pytest.mark.parametrize("solver", ["newton", "auto", "lbfgs"])
@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("storage", ["dense64", "csr32"])
def test_logistic_without_regularisation(solver, bias, storage):
    X, y = overlapping(n=200, d=4)
    weights = np.linspace(0.5, 2.0, 200)
    result = train(
        STORAGES[storage](X), y, loss="logistic", lam=0.0, bias=bias, weights=weights, solver=solver, tol=1e-9
    )
    Z = X if bias == "none" else np.column_stack([X, np.ones(200)])
    best = minimize(lambda v: weights @ np.logaddexp(0, -y * (Z @ v)), np.zeros(Z.shape[1]), options={"gtol": 1e-9}).fun
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(best, rel=1e-8)
    assert result.certificate.dual <= best * (1 + 1e-9)
    np.testing.assert_allclose((result.alpha * y) @ Z, 0.0, atol=1e-9)


def test_with_too_many_features_there_is_an_answer_but_no_bound(monkeypatch):
    monkeypatch.setattr("maxmargin.problems.balance.FEW", 0)
    X, y = overlapping(n=200, d=4)
    result = train(X, y, loss="logistic", C=np.inf, solver="lbfgs")
    monkeypatch.undo()
    assert result.status is Status.STALLED
    assert result.certificate.relative_gap == np.inf
    exact = train(X, y, loss="logistic", C=np.inf, tol=1e-10)
    assert result.certificate.primal == pytest.approx(exact.certificate.primal)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-11, 1e-12])
def test_features_that_are_nearly_copies_make_no_false_bound(solver, apart):
    """Their difference, blown up, is the feature that separates: no bound may be above the optimum with that."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 200))
    y = np.where(z + 0.5 * rng.normal(size=200) > 0, 1.0, -1.0)
    X = np.column_stack([x, x + apart * z])
    best = train(np.column_stack([x, (X[:, 1] - x) / apart]), y, loss="logistic", C=np.inf).certificate.primal
    result = train(X, y, loss="logistic", C=np.inf, solver=solver, max_seconds=5)
    if result.status is Status.CONVERGED:
        assert result.certificate.primal == pytest.approx(best, rel=1e-4)
    assert result.certificate.dual <= best * (1 + 1e-2)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_logistic_far_from_the_origin(offset):
    X, y = overlapping(n=200, d=2)
    near, far = (train(X + shift, y, loss="logistic", C=np.inf) for shift in (0.0, offset))
    assert far.status is Status.CONVERGED
    assert far.certificate.primal == pytest.approx(near.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("bias", ["free", "regularised"])
def test_an_offset_proves_nothing_in_sparse_rows_either(bias):
    X = sparse.csr_array(np.array([[1e10], [1e10 + 1], [1e10 - 1], [1e10 + 2]]))
    result = train(X, [-1, 1, -1, 1], C=np.inf, bias=bias, max_epochs=2000)
    assert result.status is not Status.NOT_SEPARABLE


def test_a_gap_that_rounding_makes_negative_ends():
    X = (1e7 + 0.3 * np.arange(20))[:, None]
    assert train(X, np.where(np.arange(20) >= 10, 1, -1), C=np.inf).status in (Status.STALLED, Status.CONVERGED)


def test_small_numbers_are_no_excuse():
    """The relative gap is relative at 1e-303 too, and α may have to be 1e60."""
    X = np.array([[-1, 0.5], [1, 0.2], [2, -1], [-3, 1], [0.01, 3], [-0.01, 3]]) * 4e153 / 3
    large = train(X, [-1, 1, 1, -1, 1, -1], C=np.inf, bias="none", tol=1e-3)
    assert large.certificate.primal - large.certificate.dual <= 1e-3 * large.certificate.primal
    tiny = train(np.array([[-2.0, 0.0], [-1.0, 0.5], [1.0, -0.5], [2.0, 0.0]]) * 1e-30, [-1, -1, 1, 1], C=np.inf)
    assert tiny.status is Status.CONVERGED
    assert tiny.model.margins[0] == pytest.approx(1.118034e-30)


def test_a_finished_proof_is_not_begun_again(tmp_path):
    X, y = overlapping(n=300)
    first = train(X, y, C=np.inf, checkpoint=tmp_path / "run")
    again = train(X, y, C=np.inf, checkpoint=tmp_path / "run", resume=True)
    assert again.status is first.status is Status.NOT_SEPARABLE
    assert again.epochs == first.epochs
    assert np.array_equal(again.alpha, first.alpha)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_logistic_has_no_minimiser_on_separable_data(solver):
    X, y = separable()
    result = train(X, y, loss="logistic", C=np.inf, solver=solver)
    assert result.status is Status.NO_MINIMISER
    assert "no minimiser" in result.advice
    assert np.min(y * (X @ result.model.w[0] + result.model.b[0])) > 0


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("storage", ["dense64", "csr64"])
def test_nor_when_the_classes_touch_but_do_not_cross(solver, storage):
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]]), np.array([-1, 1, 1, 1, 1, 1])
    assert train(STORAGES[storage](X), y, loss="logistic", C=np.inf, solver=solver).status is Status.NO_MINIMISER


@given(points=points, labels=st.integers(1, 2**9 - 2), bias=st.sampled_from(["none", "free"]))
def test_a_minimiser_exists_exactly_when_no_direction_gains(points, labels, bias):
    X = np.array(points, dtype=float)
    y = np.array([1.0 if labels >> k & 1 else -1.0 for k in range(len(points))])
    if len(set(y)) < 2:
        return
    Z = y[:, None] * (X if bias == "none" else np.column_stack([X, np.ones(len(y))]))
    # a minimiser exists exactly if strictly positive weights balance the rows (Stiemke's lemma)
    exists = linprog(np.zeros(len(y)), A_eq=Z.T, b_eq=np.zeros(Z.shape[1]), bounds=(1.0, None)).status == 0
    result = train(X, y, loss="logistic", C=np.inf, bias=bias, max_epochs=10**5)
    assert result.status is (Status.CONVERGED if exists else Status.NO_MINIMISER)
