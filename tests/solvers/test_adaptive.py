"""Gradient steps with memory: each method by hand, against plain NumPy, and where it must not go."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, STORAGES, overlapping, posed
from scipy import sparse

from maxmargin.errors import ParameterError
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.solvers import find_solver
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.stochastic.adaptive import MEMORY, STEPS, Velocity, walk
from maxmargin.status import Status

every_method = pytest.mark.parametrize("method", STEPS)
every_loss = pytest.mark.parametrize("loss", EVERY_LOSS)
every_bias = pytest.mark.parametrize("bias", EVERY_BIAS)

R = 1 / np.sqrt(1.5)  # the rate of the second step of two: half an epoch is over
F = 0.001 * R  # and the weight of its g² in an average


@pytest.mark.parametrize(
    ("method", "first", "second"),
    [
        # w = 0: margin 0, g = -2.  Then w, margin 2 w, g = w / 2 - 2 below a margin of 1, else w / 2
        ("momentum", 0.2, 0.2 + 0.9 * 0.2 + 0.1 * R * 1.9),
        ("nesterov", 0.2, 0.2 + 0.9 * 0.2 + 0.1 * R * 1.81),  # g at 0.2 + 0.18
        ("adagrad", 0.1, 0.1 + 0.1 * 1.95 / np.sqrt(4 + 1.95**2)),
        ("rmsprop", 3.16227766, 3.16227766 - 0.1 * R * 1.58113883 / np.sqrt((1 - F) * 0.004 + F * 2.5)),
        (
            "adam",
            0.1,
            0.1 + 0.1 * R * (0.375 / 0.19) / np.sqrt(((1 - F) * 0.004 + F * 1.95**2) / ((1 - F) * 0.001 + F)),
        ),
    ],
)
def test_two_steps_by_hand(method, first, second, monkeypatch):
    """Two examples with y x = 2, so that their order is all one; C = 1, so lam = 1/2 and lam n C = 1."""
    monkeypatch.setattr("maxmargin.solvers.base.WORK", 1)  # one row at a time
    problem = posed(np.array([[2.0], [-2.0]]), np.array([1.0, -1.0]), bias="none")
    solver = find_solver("adaptive", {"method": method, "step": 0.1})
    state, rng = solver.start(problem), np.random.default_rng(0)
    for expected in (first, second):
        solver.advance(problem, state, rng)
        assert state.v[0] == pytest.approx(expected, rel=1e-6)


def textbook(method, w, gradient, order, step, beta=0.9, decay=0.999):
    """Plain NumPy, each coordinate in each step; yields w after each epoch of `order`."""
    v, s, p, q, t, n = 0 * w, 0 * w, 1.0, 1.0, 0, order.shape[1]
    for epoch in order:
        for i in epoch:
            r = 1 / np.sqrt(1 + t / n)
            fresh = (1 - decay) * r
            g = gradient(w + beta * v if method == "nesterov" else w, i)
            t, p, q = t + 1, p * beta, q * (1 - fresh)
            if method in ("momentum", "nesterov"):
                v = beta * v - step * r * g
                w = w + v
            elif method == "adagrad":
                s = s + g**2
                w = w - step * g / (np.sqrt(s) + 1e-8)
            else:
                s = (1 - fresh) * s + fresh * g**2
                if method == "rmsprop":
                    w = w - step * r * g / (np.sqrt(s) + 1e-8)
                else:
                    v = beta * v + (1 - beta) * g
                    w = w - step * r * (v / (1 - p)) / (np.sqrt(s / (1 - q)) + 1e-8)
        yield w


@every_method
@every_loss
@every_bias
def test_dense_rows_take_the_steps_of_the_textbook(method, loss, bias):
    X, y = overlapping(n=30, d=4)
    problem = posed(X, y, loss=loss, bias=bias, bias_scale=0.7, weights=np.linspace(0.5, 2.0, 30))
    lam, primal = 1 / problem.C.sum(), Primal(problem)
    Z = np.hstack([X, np.ones((30, 1))]) if bias != "none" else X

    def gradient(w, i):
        bias_curvature = 30 * problem.C[i] * y[i] * problem.loss.slope(y[i] * Z[i : i + 1] @ w)
        return lam * (primal.ridge * w + bias_curvature * Z[i])

    solver = find_solver("adaptive", {"method": method, "step": 0.02})
    state, rng = solver.start(problem), np.random.default_rng(0)
    begin, found, order = state.v.copy(), [], []
    for _ in range(6):
        solver.advance(problem, state, rng)
        found.append(state.v.copy())
        order.append(state.order)
    np.testing.assert_allclose(found, list(textbook(method, begin, gradient, np.array(order), 0.02)), atol=1e-9)
    point = solver.point(problem, state)
    mean = primal.joined(point.w, point.b)
    np.testing.assert_allclose(mean, np.mean(found[4:], axis=0))  # since four epochs, a power of two


@pytest.mark.parametrize("storage", ["dense64", "csr64"])
@every_loss
@every_bias
def test_the_shares_of_the_examples_add_up_to_the_objective(storage, loss, bias):
    """One gradient step for each example, from the same point: their mean is a step of the whole."""
    X, y = overlapping(n=40)
    weights = np.arange(40) % 4 / 2.0
    problem = posed(STORAGES[storage](X), y, loss=loss, bias=bias, bias_scale=0.7, weights=weights)
    primal, state = Primal(problem), find_solver("adaptive").start(problem)
    v, n, lam = np.linspace(-0.5, 0.5, len(state.v)), len(problem.counted), 1 / problem.C.sum()
    steps = []
    for i in problem.counted:
        w, memory = v.copy(), [np.zeros_like(v) for _ in MEMORY]
        walk(
            problem.rows, problem.d, y, problem.dual_term, n * lam, state.ridge, Velocity(1.0, 0.0, 0.0),
            w, *memory, np.zeros(40), np.array([i]), np.ones(1),
        )  # fmt: skip
        steps.append(v - w)
    np.testing.assert_allclose(np.mean(steps, axis=0), lam * primal.gradient(v, primal.scores(v)), atol=1e-12)


@every_method
def test_a_step_touches_only_what_its_row_stores(method, monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.base.WORK", 1)
    X = sparse.csr_array(np.kron(np.eye(4), [[1.0, -2.0]]))  # row i has features 2i and 2i + 1
    problem = posed(X, np.array([1.0, -1.0, 1.0, -1.0]), bias="none")
    solver = find_solver("adaptive", {"method": method})
    state, rng, seen = solver.start(problem), np.random.default_rng(0), []
    for place in range(4):
        before = [getattr(state, name).copy() for name in ("v", *MEMORY)]
        solver.advance(problem, state, rng)
        seen.append(state.order[place])
        others = np.delete(np.arange(8), [2 * seen[-1], 2 * seen[-1] + 1])
        for name, old in zip(("v", *MEMORY), before, strict=True):
            assert np.array_equal(getattr(state, name)[others], old[others])
        assert set(np.flatnonzero(state.v) // 2) == set(seen)


def test_nesterov_is_not_momentum():
    problem = posed(*overlapping(), loss="logistic")
    one, other = (
        solve(problem, find_solver("adaptive", {"method": method}), Limits(tol=1e-30, max_epochs=3))
        for method in ("momentum", "nesterov")
    )
    assert not np.allclose(one.w, other.w, rtol=1e-6)


def test_alpha_of_hinge_is_the_mean_of_what_was_given_even_within_an_epoch(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.base.WORK", 1)
    problem = posed(*overlapping(n=20), C=3.0, bias="none")
    solver = find_solver("adaptive")
    state, rng, given = solver.start(problem), np.random.default_rng(0), [[] for _ in range(20)]
    for step in range(20 * 7):
        if step in (20, 40, 80):
            given = [[] for _ in range(20)]
        w = state.v.copy()
        solver.advance(problem, state, rng)
        i = state.order[step % 20]
        given[i].append(3.0 * (problem.y[i] * (problem.rows.values[i] @ w) < 1))
        alpha = solver.point(problem, state).alpha
        np.testing.assert_allclose(alpha, [np.mean(each) if each else 0.0 for each in given])


@every_method
@every_loss
@pytest.mark.parametrize("C", [1e-4, 1.0])
def test_every_method_reaches_a_hundredth_with_its_own_step(method, loss, C):
    problem = posed(*overlapping(n=100, d=6), loss=loss, C=C)
    outcome = solve(problem, find_solver("adaptive", {"method": method}), Limits(tol=1e-2, max_epochs=2000))
    assert outcome.status is Status.CONVERGED


@every_method
def test_no_method_stops_beside_the_optimum(method):
    """With a decay that stays, rmsprop and adam end at a gap of 2e-4 here."""
    problem = posed(*overlapping(n=200), loss="squared_hinge", bias="regularised")
    outcome = solve(problem, find_solver("adaptive", {"method": method}), Limits(tol=5e-5, max_epochs=10_000))
    assert outcome.status is Status.CONVERGED


@every_method
@every_loss
@pytest.mark.parametrize("at_once", [1, 10**7])
def test_steps_that_run_away_end_with_the_last_finite_model(method, loss, at_once, monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.base.WORK", at_once)
    problem = posed(*overlapping(), loss=loss, weights=(np.arange(60) % 4 > 0).astype(float))
    outcome = solve(problem, find_solver("adaptive", {"method": method, "step": 1e200}), Limits(max_epochs=100))
    assert outcome.status is Status.DIVERGED
    assert "smaller steps" in outcome.status.advice
    assert np.all(np.isfinite(outcome.w))
    assert np.isfinite(outcome.certificate.gap)


@every_loss
def test_steps_that_run_away_later_leave_the_best_model_before_they_did(loss):
    problem = posed(*overlapping(), loss=loss, C=1e-3, bias="none")  # lam = 17
    solver = find_solver("adaptive", {"method": "momentum", "step": 1.2})
    first, later = (solve(problem, solver, Limits(max_epochs=epochs)) for epochs in (1, 100))
    assert (first.status, later.status) == (Status.EPOCH_LIMIT, Status.DIVERGED)
    assert later.epochs > first.epochs
    assert later.certificate.primal <= first.certificate.primal
    assert np.all(np.isfinite(later.w))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "adamw"}, "choose one of momentum, nesterov, adagrad, rmsprop, adam"),
        ({"step": 0.0}, "step=0.0 must be a positive number"),
        ({"step": np.inf}, "step=inf must be"),
        ({"step": "fast"}, "step='fast' must be"),
        ({"momentum": 1.0}, "momentum=1.0 must be a number from 0 to below 1"),
        ({"momentum": -0.1}, "momentum=-0.1 must be"),
        ({"decay": 1}, "decay=1 must be a number from 0 to below 1"),
        ({"decay": np.nan}, "decay=nan must be"),
        ({"beta": 0.9}, "no option 'beta': its options are method, step, momentum, decay"),
    ],
)
def test_a_bad_option_is_named_with_what_is_allowed(options, words):
    with pytest.raises(ParameterError, match=words):
        find_solver("adaptive", options)
