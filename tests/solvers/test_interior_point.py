"""What is special about interior_point: it stays inside, takes few steps, and any features and weights."""

import numpy as np
import pytest
from problems import EVERY_BIAS, overlapping, posed
from troubles import TROUBLES, all_units, units

import maxmargin
from maxmargin.choose import choose
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.dual import interior_point

SOLVER = SOLVERS["interior_point"]


@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_it_stays_inside(bias):
    weights = 1.0 + np.arange(300) % 3
    problem = posed(*overlapping(n=300, d=5), bias=bias, weights=weights)
    state, rng = SOLVER.start(problem), np.random.default_rng(0)
    for _ in range(15):
        SOLVER.advance(problem, state, rng)
        assert all(np.all(array > 0) for array in (state.alpha, state.room, state.surplus, state.shortfall))
        np.testing.assert_allclose(state.alpha + state.room, problem.C, rtol=1e-12)


@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_a_direction_meets_the_linearised_conditions(bias):
    problem = posed(*overlapping(n=80, d=4), bias=bias)
    state, rng = SOLVER.start(problem), np.random.default_rng(0)
    SOLVER.advance(problem, state, rng)
    equations = interior_point.Equations(problem, slice(None), state)
    low, high = rng.normal(size=(2, problem.n))
    step = equations.direction(low, high)
    ridge = equations.primal.ridge
    Z = np.column_stack([problem.rows.values, np.ones(problem.n)])[:, : len(ridge)]
    np.testing.assert_allclose(step.margins, problem.y * (Z @ step.v), atol=1e-9)
    np.testing.assert_allclose(
        ridge * (state.v + step.v), Z.T @ (problem.y * (state.alpha + step.alpha)), atol=0.02 * np.abs(state.v).max()
    )
    np.testing.assert_allclose(
        1.0 - state.margins - step.margins, state.shortfall + step.shortfall - state.surplus - step.surplus, atol=1e-9
    )
    np.testing.assert_allclose(state.surplus * step.alpha + state.alpha * step.surplus, low, atol=1e-9)
    np.testing.assert_allclose(state.room * step.shortfall - state.shortfall * step.alpha, high, atol=1e-9)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_few_steps_whatever_C(C, bias):
    problem = posed(*overlapping(n=800, d=20), bias=bias, C=C)
    outcome = solve(problem, SOLVER, Limits(tol=1e-8, max_epochs=interior_point.PASSES * 60))
    assert outcome.certificate.relative_gap <= 1e-8


# where features are 1e12 times others, Σ α y x must be exact to the last digit: there auto takes second_order
ITS_OWN = [trouble for trouble in TROUBLES if trouble not in (units, all_units)]


@pytest.mark.parametrize("trouble", ITS_OWN, ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize("wide", [False, True], ids=["long", "wide"])
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_trouble(trouble, wide, bias):
    X, y, weights = trouble(*(overlapping(n=60, d=90) if wide else overlapping(n=400, d=6)))
    result = maxmargin.train(X, y, bias=bias, weights=weights, solver="interior_point", max_seconds=20)
    assert result.status is maxmargin.Status.CONVERGED, result.certificate


def test_auto_takes_it_where_dual_variables_would_crawl():
    X, y = overlapping(n=6000, d=500)
    result = maxmargin.train(X, y, C=100.0, max_epochs=200)  # dual_coordinate alone takes more than 10,000 epochs
    assert result.status is maxmargin.Status.CONVERGED
    assert result.why.endswith("began with dual_coordinate; its gap shrank too slowly, went on with interior_point")
    assert choose(posed(X, y, C=1e-3))[0] == "dual_coordinate"
