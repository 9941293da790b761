"""The perceptron: its mistakes, its end, its means."""

import numpy as np
import pytest
from problems import EVERY_BIAS, STORAGES, overlapping, posed

import maxmargin
from maxmargin import Status, train
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import primal_of
from maxmargin.solvers import find_solver


def apart(n=80, d=4, seed=1):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 64) / 64
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)
    X[:, 0] += 0.4 * y
    return X, y


def plain(X, y, order, B2=0.0, margin=0.0):
    """The textbook loop: all iterates, and the mistakes on each example."""
    w, b, counts, iterates = np.zeros(X.shape[1]), 0.0, np.zeros(len(y)), []
    for i in order:
        if y[i] * (X[i] @ w + b) <= margin:
            w, b = w + y[i] * X[i], b + B2 * y[i]
            counts[i] += 1
        iterates.append((w.copy(), b))
    return iterates, counts


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("bias", "B2"), [("none", 0.0), ("regularised", 0.49), ("free", 1.0)])
@pytest.mark.parametrize("margin", [0.0, 0.8])
def test_it_steps_as_the_textbook_does(storage, bias, B2, margin):
    X, y = overlapping(n=50)
    problem = posed(STORAGES[storage](X), y, bias=bias, bias_scale=0.7)
    solver, rng = find_solver("perceptron", {"margin": margin}), np.random.default_rng(5)
    state, order = solver.start(problem), []
    for _ in range(3):
        solver.advance(problem, state, rng)
        order.extend(state.order)
    iterates, counts = plain(X, y, order, B2, margin)
    np.testing.assert_allclose(state.w, iterates[-1][0], atol=1e-12)
    assert state.b == pytest.approx(iterates[-1][1])
    assert np.array_equal(state.alpha, counts)
    assert state.all_mistakes == counts.sum()
    assert state.mistakes == plain(X, y, order, B2, margin)[1].sum() - plain(X, y, order[:100], B2, margin)[1].sum()
    np.testing.assert_allclose(primal_of(problem, state.alpha)[0], state.w, atol=1e-12)
    means = [np.mean([part[k] for part in iterates], axis=0) for k in (0, 1)]
    np.testing.assert_allclose(state.w - state.lag / state.t, means[0], atol=1e-12)
    assert state.b - state.lag_b / state.t == pytest.approx(means[1])


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("output", ["last", "average"])
def test_it_says_when_the_data_are_separated(C, bias, output):
    X, y = apart()
    result = train(X, y, C=C, bias=bias, solver="perceptron", options={"output": output})
    assert result.status is Status.SEPARATED
    assert result.history[-1].mistakes == 0
    assert np.all(y * (X @ result.model.w[0] + result.model.b[0]) > 0)
    assert 0 <= result.certificate.relative_gap < 1


def test_mistakes_stay_below_the_bound():
    """Novikoff: at most (R/γ)² mistakes, R the longest row and γ the margin of any unit vector that separates."""
    X, y = apart()
    best = train(X, y, C=np.inf, bias="none", tol=1e-8)
    result = train(X, y, bias="none", solver="perceptron")
    assert 0 < result.history[-1].all_mistakes <= (np.linalg.norm(X, axis=1).max() / best.model.margins[0]) ** 2


def test_a_margin_asked_for_brings_a_wider_one():
    X, y = apart()
    plain, wide = (train(X, y, C=np.inf, solver="perceptron", options={"margin": m}) for m in (0.0, 100.0))
    best = train(X, y, C=np.inf)
    assert plain.model.margins[0] < wide.model.margins[0] <= best.model.margins[0]
    assert wide.model.margins[0] > 0.5 * best.model.margins[0]  # Krauth, Mézard: half of the widest, at least


def test_where_classes_overlap_it_does_not_claim_the_end():
    X, y = overlapping(n=200)
    soft = train(X, y, solver="perceptron", max_epochs=50)
    assert soft.status is Status.EPOCH_LIMIT
    assert soft.history[-1].mistakes > 0
    assert train(X, y, C=np.inf, solver="perceptron").status is Status.NOT_SEPARABLE


def test_mistakes_outlive_a_checkpoint(tmp_path):
    X, y = overlapping(n=200)
    whole = train(X, y, solver="perceptron", max_epochs=20)
    train(X, y, solver="perceptron", max_epochs=7, checkpoint=tmp_path / "run")
    resumed = train(X, y, solver="perceptron", max_epochs=20, checkpoint=tmp_path / "run", resume=True)
    assert [record.mistakes for record in whole.history] == [record.mistakes for record in resumed.history]
    assert np.array_equal(whole.model.w, resumed.model.w)


def test_the_estimator_warns_that_it_is_not_the_optimum():
    X, y = apart()
    svc = maxmargin.LinearSVC(loss="hinge", solver="perceptron")
    with pytest.warns(UserWarning, match="on its side"):
        svc.fit(X, y)
    assert svc.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [({"margin": -1.0}, "margin=-1.0 must be"), ({"output": "first"}, "choose one of last, average")],
)
def test_bad_options(options, words):
    with pytest.raises(ParameterError, match=words):
        find_solver("perceptron", options)
