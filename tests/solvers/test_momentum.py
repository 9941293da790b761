"""Momentum between sweeps: it keeps what the sweeps keep, and it pays."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, STORAGES, overlapping, posed

from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import primal_of
from maxmargin.solvers import find_solver
from maxmargin.solvers.dual.dual_coordinate import EPOCHS_WITHOUT_MOMENTUM, bias_curvature


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("storage", ["dense64", "csr64"])
def test_alpha_stays_in_its_box_and_w_and_the_balance_follow_from_it(loss, bias, storage):
    X, y = overlapping(n=200, d=6)
    problem = posed(STORAGES[storage](X), y, loss=loss, bias=bias, C=50.0)
    solver, rng = find_solver("dual_coordinate"), np.random.default_rng(0)
    state, leaps = solver.start(problem), 0
    for _ in range(4 * EPOCHS_WITHOUT_MOMENTUM):
        solver.advance(problem, state, rng)
        leaps += state.pace > 2.0
        w, _ = primal_of(problem, state.alpha)
        assert np.all((state.alpha >= 0.0) & (state.alpha <= problem.dual_term.U))
        assert np.allclose(state.w, w, rtol=1e-9, atol=1e-9 * np.sum(state.alpha))
        assert state.balance == pytest.approx(float(state.alpha @ y), abs=1e-9 * np.sum(state.alpha))
        if bias == "regularised":
            assert state.b == pytest.approx(bias_curvature(problem) * state.balance, abs=1e-9 * np.sum(state.alpha))
    assert leaps, "there was no leap worth the name"


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_a_large_C_takes_fewer_epochs_with_momentum(loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 200)) * (rng.random((600, 200)) < 0.1)
    y = np.where(X @ rng.normal(size=200) + 2.0 * rng.normal(size=600) > 0, 1.0, -1.0)
    problem = posed(X, y, loss=loss, bias="none", C=1000.0)
    epochs = {
        momentum: solve(problem, find_solver("dual_coordinate", {"momentum": momentum}), Limits(tol=1e-5)).epochs
        for momentum in (False, True)
    }
    assert epochs[True] < 0.5 * epochs[False]
