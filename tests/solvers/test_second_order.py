"""What is special about second_order: samples, bands, systems of three kinds, features in any units."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, STORAGES, overlapping, posed

import maxmargin
from maxmargin.choose import choose
from maxmargin.data.pick import pick
from maxmargin.data.rows import count_rows
from maxmargin.data.take import take
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Point, certify
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.parts import newton_system
from maxmargin.solvers.parts.augmented_lagrangian import Lagrangian
from maxmargin.solvers.parts.newton_system import System
from maxmargin.solvers.parts.row_bands import rows_in_band

SOLVER = SOLVERS["second_order"]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("bias", "size"), [("none", 4), ("free", 5)])
def test_the_three_ways_solve_the_same_system(storage, bias, size, monkeypatch):
    X, _ = overlapping(n=30, d=4)
    rng = np.random.default_rng(0)
    h, gradient, ridge = rng.random(30) * (rng.random(30) < 0.7), rng.normal(size=size), np.ones(size)
    if bias == "free":
        ridge[-1] = 0.0
    Z = X if bias == "none" else np.column_stack([X, np.ones(30)])
    exact = np.linalg.solve(np.diag(ridge) + Z.T @ (h[:, None] * Z), -gradient)
    system = System(take(STORAGES[storage](X)), 4, ridge, h)
    np.testing.assert_allclose(system.by_factors()(-gradient), exact, rtol=1e-9)
    np.testing.assert_allclose(system.by_inner_products()(-gradient), exact, rtol=1e-9)
    np.testing.assert_allclose(system.by_conjugate_gradients()(-gradient), exact, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize("storage", STORAGES)
def test_picked_rows_are_those_rows(storage):
    X, _ = overlapping(n=30, d=4)
    rows, chosen = take(STORAGES[storage](X)), np.array([3, 0, 17, 29])
    some = pick(rows, chosen)
    assert count_rows(some) == 4
    from maxmargin.data.passes import scores

    w = np.arange(1.0, 5.0)
    np.testing.assert_allclose(scores(some, w), scores(rows, w)[chosen])


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("storage", ["dense64", "csr32"])
def test_samples_and_bands_lead_to_the_same_optimum(loss, bias, storage):
    X, y = overlapping(n=6000, d=5, seed=3)
    problem = posed(STORAGES[storage](X), y, loss=loss, bias=bias, weights=np.linspace(0.5, 2.0, 6000))
    outcome = solve(problem, SOLVER, Limits(tol=1e-9))
    assert outcome.certificate.relative_gap <= 1e-9
    other = "dual_pairs" if bias == "free" else "dual_coordinate"
    reference = solve(problem, SOLVERS[other], Limits(tol=1e-6)).certificate
    assert reference.dual * (1 - 1e-9) <= outcome.certificate.primal <= reference.primal * (1 + 1e-9)


def test_bands_are_used():
    X, y = overlapping(n=6000, d=5, seed=3)
    problem = posed(X, y)
    state, rng = SOLVER.start(problem), np.random.default_rng(0)
    SOLVER.advance(problem, state, rng)
    whole = Lagrangian.of(problem, state.alpha, state.epsilon)
    band = rows_in_band(whole, whole.at(state.v).margins, 1.0)
    assert 0 < len(band) < problem.n / 2


@pytest.mark.parametrize("way", ["by_factors", "by_inner_products", "by_conjugate_gradients"])
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_each_way_of_solving_reaches_the_optimum(way, bias, monkeypatch):
    monkeypatch.setattr(newton_system.System, "solver", getattr(newton_system.System, way))
    problem = posed(*overlapping(n=150, d=6), bias=bias)
    assert solve(problem, SOLVER, Limits(tol=1e-6, max_epochs=5000)).certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_features_in_very_different_units_duplicates_and_constants(bias):
    X, y = overlapping(n=2000, d=4, seed=1)
    units = np.column_stack([X[:, 0] * 1e6, X[:, 1] * 1e-6, X[:, 2], X[:, 2], np.ones(2000), np.zeros(2000), X[:, 3]])
    outcome = solve(posed(units, y, bias=bias, C=10.0), SOLVER, Limits(tol=1e-5, max_epochs=3000))
    assert outcome.certificate.relative_gap <= 1e-5


@pytest.mark.parametrize(
    ("bias", "C", "solver"),
    [("none", 3.0, "second_order"), ("free", 3.0, "second_order"), ("regularised", 3.0, "second_order"),
     ("none", 0.3, "dual_coordinate"), ("free", 0.3, "dual_coordinate")],
)  # fmt: skip
def test_for_a_hundred_examples_a_feature_the_steepness_decides(bias, C, solver):
    X, y = overlapping(n=1600, d=10)
    X /= np.sqrt(np.mean(np.sum(X * X, axis=1)) / 10.0)
    assert choose(posed(X, y, bias=bias, C=C), small=False)[0] == solver


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_a_large_C_does_not_crawl(C):
    problem = posed(*overlapping(n=3000, d=10), C=C)
    assert choose(problem)[0] == "second_order"
    outcome = solve(problem, SOLVER, Limits(tol=1e-6, max_epochs=1500))
    assert outcome.certificate.relative_gap <= 1e-6


def test_separable_data_and_a_large_C():
    X, y = overlapping(n=1000, d=4, flip=0.0)
    y = np.where(X @ np.arange(1.0, 5.0) > 0, 1.0, -1.0)
    outcome = solve(posed(X, y, C=1e3), SOLVER, Limits(tol=1e-6, max_epochs=5000))
    assert outcome.certificate.relative_gap <= 1e-6


def test_a_matrix_that_rounding_left_indefinite_is_factored():
    H = np.ones((3, 3))
    H[0, 1] = H[1, 0] = 1.0 + 1e-9
    lower, _ = newton_system.factored(H)
    assert np.all(np.isfinite(lower))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("bias", ["none", "regularised"])
def test_newton_knows_its_gap(loss, bias):
    """With α = −Cℓ′(m) the gap is ½‖∇P‖², so the estimate is no guess."""
    problem = posed(*overlapping(n=300, d=5), loss=loss, bias=bias)
    newton = SOLVERS["newton"]
    state, rng = newton.start(problem), np.random.default_rng(0)
    for _ in range(4):
        newton.advance(problem, state, rng)
        found = certify(problem, newton.point(problem, state)).certificate
        computed = (found.gap - found.rounding) / found.measure
        assert state.estimate == pytest.approx(computed, rel=1e-4, abs=1e-14)


def test_a_warm_start_from_too_far_begins_anew_and_one_from_near_goes_on():
    X, y = overlapping(n=3000, d=5)
    exact = maxmargin.train(X, y, C=1.0, solver="second_order", tol=1e-8, bias="none")
    problem = posed(X, y, C=1.0, bias="none")
    solver = SOLVER
    near, far = Point(exact.model.w[0], 0.0, exact.alpha), Point(-exact.model.w[0], 0.0, np.zeros(3000))
    for point, begun in ((near, 1), (far, 0), (Point(exact.model.w[0]), 1)):
        state = solver.start(problem, point)
        assert state.given
        solver.learn(problem, state, certify(problem, solver.point(problem, state)))
        assert (state.given, state.round) == (False, begun)
        assert solve(problem, solver, Limits(tol=1e-6), warm=point).certificate.relative_gap <= 1e-6
