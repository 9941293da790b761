from dataclasses import replace

import numpy as np
import pytest
from definitions import DEFINITIONS
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import EVERY_BIAS, EVERY_LOSS, SMOOTH_LOSSES, overlapping, posed, reference_optimum

from maxmargin.data import passes
from maxmargin.problems.certificate import Certificate, Point, certify, feasible, primal_of

every_loss = pytest.mark.parametrize("loss", EVERY_LOSS)
every_bias = pytest.mark.parametrize("bias", EVERY_BIAS)


@every_loss
@every_bias
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.sampled_from([1e-2, 1.0, 100.0]), scale=st.sampled_from([0.01, 1.0, 10.0]))
def test_weak_duality_holds_at_random_points(loss, bias, seed, C, scale):
    X, y = overlapping(n=20, seed=seed % 97)
    rng = np.random.default_rng(seed)
    problem = posed(X, y, loss=loss, bias=bias, C=C, weights=rng.random(20) + 0.1)
    points = [
        Point(alpha=C * scale * rng.random(20)),
        Point(w=scale * rng.normal(size=5), b=rng.normal() if bias != "none" else 0.0),
        Point(w=scale * rng.normal(size=5), alpha=C * rng.random(20)),
    ]
    for point in points:
        certificate = certify(problem, point).certificate
        assert certificate.gap >= 0.0


@every_loss
@every_bias
@pytest.mark.parametrize("threads", [1, 3])
def test_both_sides_at_once_are_what_each_is_alone(loss, bias, threads, monkeypatch):
    monkeypatch.setattr(passes, "CACHED_CHUNK", 16 * 7)
    monkeypatch.setattr(passes, "LEAST_VALUES_PER_SUM", 1)
    X, y = overlapping(n=500, d=7)
    rng = np.random.default_rng(0)
    problem = replace(posed(X, y, loss=loss, bias=bias, C=2.0, bias_scale=0.7), threads=threads)
    w, b = rng.normal(size=7), rng.normal() if bias != "none" else 0.0
    for alpha in (2.0 * rng.random(500), None):
        found = certify(problem, Point(w, b, alpha))
        m = y * (X @ found.w + found.b)
        if alpha is not None or bias != "free":
            wanted = feasible(problem, -problem.C * problem.loss.slope(m) if alpha is None else alpha)
            np.testing.assert_allclose(found.alpha, wanted, rtol=1e-12)
        s = float(np.sum(found.alpha * y))
        dual = problem.dual(found.alpha, X.T @ (found.alpha * y), problem.bias_square * s)
        assert found.certificate.dual == pytest.approx(dual, rel=1e-10)
        assert found.certificate.primal == pytest.approx(problem.primal(found.w, found.b, m), rel=1e-12)


@every_loss
@every_bias
def test_the_optimum_of_an_independent_solver_lies_between_dual_and_primal(loss, bias):
    X, y = overlapping(n=25, d=3)
    problem = posed(X, y, loss=loss, bias=bias, C=2.0, bias_scale=0.7)
    best = reference_optimum(problem, X)
    rng = np.random.default_rng(0)
    for point in (Point(alpha=rng.random(25)), Point(w=rng.normal(size=3))):
        certificate = certify(problem, point).certificate
        assert certificate.dual <= best * (1 + 1e-7)
        assert certificate.primal >= best * (1 - 1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@every_bias
def test_objectives_are_those_written_on_the_page(loss, bias):
    X, y = overlapping(n=12, d=3)
    s, B = np.linspace(0.5, 2.0, 12), 0.7
    problem = posed(X, y, loss=loss, bias=bias, C=3.0, weights=s, bias_scale=B)
    found = certify(problem, Point(alpha=np.linspace(0.0, 1.0, 12)))
    C, w, b, a = 3.0 * s, found.w, found.b, found.alpha
    m = y * (X @ w + b)
    value, terms = DEFINITIONS[loss].value(m), DEFINITIONS[loss].dual(a, C)
    extra = b * b / (2 * B * B) if bias == "regularised" else 0.0
    assert found.certificate.primal == pytest.approx(0.5 * w @ w + extra + C @ value, rel=1e-12)
    assert found.certificate.dual == pytest.approx(terms.sum() - 0.5 * w @ w - extra, rel=1e-12)
    np.testing.assert_allclose(w, (a * y) @ X, rtol=1e-12)


@every_loss
def test_a_regularised_bias_is_a_constant_feature(loss):
    X, y = overlapping(n=15, d=3)
    B = 0.6
    wide = posed(np.hstack([X, np.full((15, 1), B)]), y, loss=loss, bias="none")
    narrow = posed(X, y, loss=loss, bias="regularised", bias_scale=B)
    alpha = np.linspace(0.0, 1.0, 15)
    one, other = certify(wide, Point(alpha=alpha)), certify(narrow, Point(alpha=alpha))
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-13)
    assert one.certificate.dual == pytest.approx(other.certificate.dual, rel=1e-13)
    assert B * one.w[3] == pytest.approx(other.b, rel=1e-13)


@every_loss
def test_lam_and_C_state_the_same_problem(loss):
    X, y = overlapping(n=20)
    alpha = np.full(20, 0.01)
    by_lam = certify(posed(X, y, loss=loss, lam=0.025), Point(alpha=alpha)).certificate
    by_C = certify(posed(X, y, loss=loss, C=1 / (20 * 0.025)), Point(alpha=alpha)).certificate
    assert by_lam == by_C


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_feasible_alpha_is_in_the_box_and_balanced(seed):
    X, y = overlapping(n=20)
    rng = np.random.default_rng(seed)
    problem = posed(X, y, weights=rng.random(20) + 0.1)
    alpha = feasible(problem, rng.normal(size=20) * 3)
    assert np.all((alpha >= 0) & (alpha <= problem.C))
    assert abs(alpha @ y) <= 1e-13


def test_a_balanced_point_is_left_as_it_is():
    X, y = overlapping(n=20)
    problem = posed(X, y)
    alpha = np.where(y > 0, 0.5 / np.sum(y > 0), 0.5 / np.sum(y < 0))
    np.testing.assert_allclose(feasible(problem, alpha), alpha, rtol=1e-14)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
@every_bias
def test_a_primal_optimum_of_a_smooth_loss_certifies_itself(loss, bias):
    from maxmargin.training.train import train

    X, y = overlapping(n=40)
    model = train(X, y, loss=loss, bias=bias, tol=1e-13).model
    problem = posed(X, y, loss=loss, bias=bias)
    certificate = certify(problem, Point(w=model.w[0], b=float(model.b[0]))).certificate
    assert certificate.relative_gap <= 1e-9


def test_certifying_changes_nothing_it_is_given():
    X, y = overlapping()
    alpha = np.full(60, 2.0)
    before = X.copy(), y.copy()
    certify(posed(X, y), Point(alpha=alpha))
    assert np.all(alpha == 2.0)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


def test_zero_weights_take_examples_out_of_the_problem():
    X, y = overlapping(n=30)
    keep = np.arange(30) % 3 != 0
    for loss in EVERY_LOSS:
        all_of_them = posed(X, y, loss=loss, weights=keep.astype(float))
        few = posed(X[keep], y[keep], loss=loss)
        alpha = np.linspace(0, 1, 30)
        one = certify(all_of_them, Point(alpha=alpha * keep)).certificate
        other = certify(few, Point(alpha=alpha[keep])).certificate
        assert one.primal == pytest.approx(other.primal, rel=1e-12)
        assert one.dual == pytest.approx(other.dual, rel=1e-12)


def test_relative_gap_of_nothing_is_not_a_division_by_zero():
    assert Certificate(0.0, 0.0).relative_gap == 0.0


def test_primal_of_is_the_weighted_sum_of_rows():
    X, y = overlapping(n=10)
    problem = posed(X, y, bias="regularised", bias_scale=2.0)
    w, b = primal_of(problem, np.arange(10.0))
    np.testing.assert_allclose(w, (np.arange(10.0) * y) @ X)
    assert b == pytest.approx(4.0 * np.arange(10.0) @ y)


def test_a_negative_gap_proves_nothing():
    assert not Certificate(1.0, 1.1).meets(1.0)
    assert not Certificate(1.0, 1.0 + 1e-12).meets(1e-4)
    assert not Certificate(np.nan, 0.0).meets(1.0)


@pytest.mark.parametrize("bias", ["free", "regularised"])
def test_alpha_at_the_kink_of_hinge_balances_a_free_bias(bias):
    """At w = 0 every example of the larger class sits at the kink; their share must balance the smaller class."""
    X, y = overlapping(n=30)
    y = np.where(np.arange(30) < 10, -1.0, 1.0)
    found = certify(posed(X, y, bias=bias), Point(w=np.zeros(5), b=1.0))
    assert found.alpha.sum() == pytest.approx(20.0 if bias == "free" else 10.0)
