"""Newton's passes and its sample, against the same things computed in another way."""

from dataclasses import replace

import numpy as np
import pytest
from problems import EVERY_BIAS, STORAGES, overlapping, posed
from scipy.optimize import minimize_scalar

from maxmargin.data import gram
from maxmargin.data.gram import weighted_gram
from maxmargin.data.passes import curved
from maxmargin.data.take import take
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Point, certify, primal_of
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.parts import newton_direction, newton_system, primal_objective
from maxmargin.solvers.parts.line_search import NEWTON_ACCURACY
from maxmargin.solvers.parts.newton_system import System, drawn_by
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.primal.newton import SAMPLE_ROWS_PER_FEATURE, sample
from maxmargin.system.buffers import MOST_KEPT_NUMBERS, scratch

SMOOTH = ("squared_hinge", "logistic")


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("storage", STORAGES)
def test_one_pass_gives_what_separate_passes_give(loss, bias, storage):
    X, y = overlapping(n=80, d=5)
    weights = np.linspace(0.0, 2.0, 80)
    problem = posed(STORAGES[storage](X), y, loss=loss, bias=bias, C=3.0, weights=weights)
    primal = Primal(problem)
    v, f, curvatures = np.linspace(-1.0, 1.0, len(primal.ridge)), np.empty(80), np.empty(80)
    value, gradient = primal.evaluate(v, f, curvatures)
    assert f == pytest.approx(X @ v[:5] + (v[-1] if bias != "none" else 0.0), rel=1e-12)
    assert value == pytest.approx(primal.value(v, f), rel=1e-12)
    assert gradient == pytest.approx(primal.gradient(v, f), rel=1e-10)
    assert curvatures == pytest.approx(problem.C * problem.loss.curvature(y * f), rel=1e-12)
    steps = 1e-6 * np.eye(len(v))
    rise = [primal.value(v + h, primal.scores(v + h)) - primal.value(v - h, primal.scores(v - h)) for h in steps]
    assert gradient == pytest.approx(np.array(rise) / 2e-6, rel=1e-5, abs=1e-5)


def test_an_evaluation_does_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(primal_objective, "EVALUATION_CHUNK", 500)
    problem = posed(*overlapping(n=2000), loss="logistic", bias="free")
    answers = []
    for threads in (1, 2, 3):
        primal = Primal(replace(problem, threads=threads))
        f, curvatures = np.empty(2000), np.empty(2000)
        answers.append((*primal.evaluate(np.ones(6), f, curvatures), f, curvatures))
    for other in answers[1:]:
        for one, same in zip(answers[0], other, strict=True):
            assert np.array_equal(one, same)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("size", [5, 6])
def test_the_curved_sum_is_a_product_with_the_matrix(storage, size):
    X, _ = overlapping(n=60, d=5)
    Z = np.hstack([X, np.ones((60, size - 5))])
    h, v = np.linspace(-1.0, 1.0, 60).clip(0.0), np.linspace(1.0, 2.0, size)
    product, f = curved(take(STORAGES[storage](X)), 5, h, v, threads=2)
    assert product == pytest.approx(Z.T @ (h * (Z @ v)), rel=1e-10)
    assert f[h > 0.0] == pytest.approx((Z @ v)[h > 0.0], rel=1e-10)


@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("times", [0.2, 1.0, 3.0])
def test_the_length_of_a_step_is_the_one_that_minimises_along_it(bias, times):
    """Against SciPy's search in one dimension; a length close to the whole step is the whole step."""
    X, y = overlapping(n=200, d=5)
    primal = Primal(posed(X, y, loss="logistic", bias=bias, C=2.0, weights=np.arange(200) % 3))
    v, step = np.zeros(len(primal.ridge)), times * np.append(X.T @ y, np.sum(y))[: len(primal.ridge)] / 100.0
    best = minimize_scalar(lambda t: primal.value(v + t * step, primal.scores(v + t * step))).x
    length = primal.length_along(v, primal.scores(v), step, primal.scores(step))
    assert length == pytest.approx(best, rel=2 * NEWTON_ACCURACY)


def test_a_length_that_cannot_be_found_is_the_whole_step():
    X, y = overlapping(n=100, d=5)
    primal = Primal(posed(X, y, loss="logistic", bias="none"))
    uphill = -X.T @ y
    assert primal.length_along(np.zeros(5), np.zeros(100), uphill, primal.scores(uphill)) == 1.0


@pytest.mark.parametrize("density", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("storage", STORAGES)
def test_the_lower_half_of_the_gram_matrix(storage, density):
    X, _ = overlapping(n=300, d=5)
    X[np.random.default_rng(0).random(X.shape) > density] = 0.0
    h, out = np.linspace(0.0, 1.0, 300), np.zeros((6, 6))
    weighted_gram(take(STORAGES[storage](X)), 5, h, out, threads=2)
    Z = np.hstack([X, np.ones((300, 1))])
    assert np.tril(out) == pytest.approx(np.tril(Z.T @ (h[:, None] * Z)), rel=1e-10)


def test_the_gram_matrix_by_blocks_does_not_depend_on_the_threads(monkeypatch):
    """Several parts, several blocks in each, and rows without a weight between the others."""
    monkeypatch.setattr(gram, "LEAST_PRODUCTS", 1)
    monkeypatch.setattr(gram, "CACHED_BLOCK", 1)
    X, _ = overlapping(n=3000, d=5)
    h, sums = np.where(np.arange(3000) % 3, np.linspace(0.0, 2.0, 3000), 0.0), []
    for threads in (1, 2, 3):
        sums.append(np.zeros((6, 6)))
        weighted_gram(take(X), 5, h, sums[-1], threads)
    Z = np.hstack([X, np.ones((3000, 1))])
    assert np.tril(sums[0]) == pytest.approx(np.tril(Z.T @ (h[:, None] * Z)), rel=1e-10)
    assert np.array_equal(sums[0], sums[1])
    assert np.array_equal(sums[0], sums[2])


def test_rows_are_drawn_as_often_as_their_weight_says():
    h = np.array([0.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    rows, counts = drawn_by(h, 80)
    assert dict(zip(rows.tolist(), counts.tolist(), strict=True)) == {1: 10, 2: 20, 4: 50}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("size", [5, 6])
def test_the_system_of_a_sample_is_like_that_of_all_rows(storage, size, monkeypatch):
    """A feature that only three rows have is in it too."""
    monkeypatch.setattr(newton_system, "LONG_ROW", 1)
    X, _ = overlapping(n=4000, d=5)
    X[:, 4] = 0.0
    X[[7, 1700, 3999], 4] = 30.0
    rows, h = take(STORAGES[storage](X)), np.linspace(0.5, 1.5, 4000)
    Z = np.hstack([X, np.ones((4000, size - 5))])
    nearly = System(rows, 5, np.ones(size), h, threads=2).by_sample()
    together = np.column_stack([nearly(column) for column in np.eye(size) + Z.T @ (h[:, None] * Z)])
    stretched = np.linalg.eigvals(together).real
    assert 0.3 < stretched.min() < 0.999
    assert stretched.max() < 3.0
    few = np.where(np.arange(4000) < 100, h, 0.0)
    assert System(rows, 5, np.ones(size), few).by_sample() is None


@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("storage", STORAGES)
def test_a_sample_leads_to_the_same_optimum(storage, bias, monkeypatch):
    X, y = overlapping(n=2000, d=5, seed=4)
    problem = posed(STORAGES[storage](X), y, loss="logistic", bias=bias, C=10.0)
    reference = solve(problem, SOLVERS["newton"], Limits(tol=1e-9)).certificate
    monkeypatch.setattr(newton_system, "LONG_ROW", 1)
    asked, by_sample = [], System.by_sample
    monkeypatch.setattr(System, "by_sample", lambda system: asked.append(by_sample(system)) or asked[-1])
    outcome = solve(problem, SOLVERS["newton"], Limits(tol=1e-9))
    assert any(nearly is not None for nearly in asked)
    assert outcome.certificate.relative_gap <= 1e-9
    assert outcome.certificate.primal == pytest.approx(reference.primal, rel=2e-9)


def test_a_sample_that_leads_nowhere_is_given_up_for_the_matrix(monkeypatch):
    monkeypatch.setattr(newton_system, "LONG_ROW", 1)
    misleading = np.array([1e8, 1.0, 1e-4, 1e4, 1e-8])
    monkeypatch.setattr(System, "by_sample", lambda system: lambda right: misleading * right)
    monkeypatch.setattr(newton_direction, "PRODUCTS", 3)
    problem = posed(*overlapping(n=2000, d=5, seed=4), loss="logistic", bias="none", C=10.0)
    outcome = solve(problem, SOLVERS["newton"], Limits(tol=1e-8, max_epochs=200))
    assert outcome.certificate.relative_gap <= 1e-8


def test_solving_one_system_leaves_the_factors_of_another_alone():
    X, _ = overlapping(n=300, d=5)
    rows, right = take(X), np.arange(5.0)
    first = System(rows, 5, np.ones(5), np.ones(300)).by_factors()
    before = first(right)
    System(rows, 5, np.ones(5), np.linspace(0.0, 9.0, 300)).by_factors()(right)
    assert np.array_equal(first(right), before)
    assert before == pytest.approx(np.linalg.solve(np.eye(5) + X.T @ X, right))


def test_scratch_is_zero_again_and_never_large():
    first = scratch("a test", (3, 2))
    first[:] = 7.0
    again = scratch("a test", (3, 2))
    assert again is first
    assert not np.any(again)
    assert scratch("a test", (2, 2)) is not first
    assert scratch("a large test", (MOST_KEPT_NUMBERS + 1,)) is not scratch("a large test", (MOST_KEPT_NUMBERS + 1,))


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_a_sample_spares_steps_and_leads_to_the_same_answer(loss, bias):
    problem = posed(*overlapping(n=20_000, d=4), loss=loss, bias=bias, C=10.0)
    part = sample(problem, np.random.default_rng(0))
    assert part.n == 2500
    assert np.sum(part.C) == pytest.approx(np.sum(problem.C))
    solver, rng = SOLVERS["newton"], np.random.default_rng(0)
    fresh, plain = solver.start(problem), solver.start(problem)
    plain.fresh = False
    for state in (fresh, plain):
        solver.advance(problem, state, rng)
    assert fresh.estimate < 0.1 * plain.estimate
    found = solve(problem, solver, Limits(tol=1e-10))
    other = solve(problem, SOLVERS["lbfgs"], Limits(tol=1e-8))
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-7)


def test_no_sample_of_few_rows_or_with_the_weights_of_one_class_alone():
    few = posed(*overlapping(n=4 * SAMPLE_ROWS_PER_FEATURE * 5 - 1, d=5), loss="logistic")
    assert sample(few, np.random.default_rng(0)) is None
    X, y = overlapping(n=20_000, d=4)
    once = np.where(np.arange(20_000) == 7, 1.0, -1.0)
    assert sample(posed(X, once, loss="logistic"), np.random.default_rng(0)) is None
    weights = np.where((y < 0) | (np.arange(20_000) == 1), 1.0, 0.0)
    weighted = posed(X, y, loss="logistic", weights=weights)
    assert sample(weighted, np.random.default_rng(0)) is None
    assert solve(weighted, SOLVERS["newton"], Limits(tol=1e-8)).certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_where_conjugate_gradients_do_not_arrive_the_matrix_takes_over(monkeypatch, bias):
    monkeypatch.setattr(newton_direction, "MATRIX_WORK", 0)
    X, y = overlapping(n=200, d=60)
    problem = posed(X * np.logspace(-2, 3, 60), y, loss="logistic", bias=bias)
    solver, rng = SOLVERS["newton"], np.random.default_rng(0)
    state = solver.start(problem)
    before = []
    while state.estimate > 1e-6 and len(before) < 60:
        before.append(state.stiff)
        solver.advance(problem, state, rng)
    assert state.estimate <= 1e-6
    assert not before[0]
    assert before[-1]


@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_alpha_that_a_step_predicts_is_a_dual_point_of_the_new_w(bias, weighted):
    """Near the optimum nothing is cut off, w(α) is w, and the gap is smaller than that of −C ℓ′(m)."""
    weights = (np.arange(300) % 3).astype(float) if weighted else None
    problem = posed(*overlapping(n=300, d=5), loss="logistic", bias=bias, C=100.0, weights=weights)
    solver, rng = SOLVERS["newton"], np.random.default_rng(0)
    state, used = solver.start(problem), 0
    for _ in range(6):
        solver.advance(problem, state, rng)
        if state.alpha is None:
            continue
        used += 1
        point = solver.point(problem, state)
        promised = certify(problem, point).certificate
        assert promised.gap <= certify(problem, Point(point.w, point.b)).certificate.gap + 1e-12 * promised.primal
        inside = np.all((state.alpha > 0.0) & (state.alpha < problem.C) | (problem.C == 0.0))
        if inside:
            assert primal_of(problem, state.alpha)[0] == pytest.approx(point.w, rel=1e-8)
        if inside or bias != "free":
            rel = 0.1 if bias == "free" else 1e-4  # the certificate takes the best b
            computed = (promised.gap - promised.rounding) / promised.measure
            assert state.estimate == pytest.approx(computed, rel=rel, abs=1e-13)
    assert used >= 2
