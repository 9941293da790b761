"""The contract of a solver, checked for every entry of the table: a new one is tested without a new test."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, STORAGES, overlapping, posed, reference_optimum

from maxmargin.certificate import certify, primal_of
from maxmargin.choose import choose
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.losses import Hinge
from maxmargin.solve import Limits, solve
from maxmargin.solvers import SOLVERS, find_solver, sweeps

CASES = [
    (name, loss, bias)
    for name, solver in SOLVERS.items()
    for loss in EVERY_LOSS
    for bias in EVERY_BIAS
    if not solver.refuses(posed(*overlapping(), loss=loss, bias=bias))
]
every_case = pytest.mark.parametrize(("name", "loss", "bias"), CASES)


def test_every_problem_is_solved_by_some_solver_and_by_the_one_that_auto_chooses():
    for loss in EVERY_LOSS:
        for bias in EVERY_BIAS:
            problem = posed(*overlapping(), loss=loss, bias=bias)
            name, why = choose(problem)
            assert (name, loss, bias) in CASES
            assert why


@pytest.mark.parametrize("name", SOLVERS)
def test_a_refusal_names_a_solver_that_does_not_refuse(name):
    refused = 0
    for bias in EVERY_BIAS:
        problem = posed(*overlapping(), bias=bias)
        if reason := SOLVERS[name].refuses(problem):
            refused += 1
            other = next(known for known in SOLVERS if f"solver='{known}'" in reason)
            assert not SOLVERS[other].refuses(problem)
            with pytest.raises(RefusedError, match=other):
                solve(problem, SOLVERS[name], Limits())
    assert refused


@every_case
@pytest.mark.parametrize("storage", STORAGES)
def test_reaches_the_optimum_that_others_find(name, loss, bias, storage):
    X, y = overlapping(n=40, d=4)
    weights = np.linspace(0.5, 2.0, 40)
    problem = posed(STORAGES[storage](X), y, loss=loss, bias=bias, C=2.0, bias_scale=0.7, weights=weights)
    outcome = solve(problem, SOLVERS[name], Limits(tol=1e-10))
    assert outcome.certificate.relative_gap <= 1e-10
    assert outcome.certificate.primal == pytest.approx(reference_optimum(problem, X), rel=1e-7)


@every_case
@pytest.mark.parametrize("C", [1e-4, 1e3])
def test_reaches_the_tolerance_for_small_and_large_C(name, loss, bias, C):
    problem = posed(*overlapping(n=100, d=6), loss=loss, bias=bias, C=C)
    assert solve(problem, SOLVERS[name], Limits(tol=1e-6)).certificate.relative_gap <= 1e-6


@every_case
def test_same_seed_same_bits(name, loss, bias):
    problem = posed(*overlapping(n=200), loss=loss, bias=bias)
    one, two = (solve(problem, SOLVERS[name], Limits(tol=1e-5), seed=3) for _ in range(2))
    assert np.array_equal(one.w, two.w)
    assert np.array_equal(one.alpha, two.alpha)
    assert (one.b, one.epochs, one.certificate) == (two.b, two.epochs, two.certificate)


@every_case
def test_another_seed_takes_another_way_to_the_same_place(name, loss, bias):
    problem = posed(*overlapping(n=200), loss=loss, bias=bias)
    one, two = (solve(problem, SOLVERS[name], Limits(tol=1e-8), seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.alpha, two.alpha)
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-8)


@every_case
def test_inputs_are_untouched(name, loss, bias):
    X, y = overlapping()
    problem = posed(X, y, loss=loss, bias=bias)
    copies = X.copy(), y.copy(), problem.C.copy()
    solve(problem, SOLVERS[name], Limits(tol=1e-3))
    for before, after in zip(copies, (X, y, problem.C), strict=True):
        assert np.array_equal(before, after)


@every_case
def test_a_warm_start_at_the_answer_is_an_answer(name, loss, bias):
    problem = posed(*overlapping(n=2000), loss=loss, bias=bias)
    cold = solve(problem, SOLVERS[name], Limits(tol=1e-6))
    warm = solve(problem, SOLVERS[name], Limits(tol=1e-6), alpha=cold.alpha)
    assert warm.certificate.relative_gap <= 1e-6
    assert warm.epochs <= cold.epochs


@every_case
def test_the_dual_objective_never_falls(name, loss, bias):
    problem = posed(*overlapping(n=100), loss=loss, bias=bias, C=10.0)
    solver, rng = SOLVERS[name], np.random.default_rng(0)
    state = solver.start(problem)
    values = []
    for _ in range(30):
        solver.advance(problem, state, rng)
        values.append(certify(problem, solver.point(problem, state)).certificate.dual)
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))


@every_case
def test_the_state_stays_true_to_alpha(name, loss, bias):
    problem = posed(*overlapping(n=100), loss=loss, bias=bias, C=10.0)
    solver, rng = SOLVERS[name], np.random.default_rng(0)
    state = solver.start(problem)
    for _ in range(50):
        solver.advance(problem, state, rng)
        w, b = primal_of(problem, state.alpha)
        np.testing.assert_allclose(state.w, w, atol=1e-9 * (1 + np.abs(w).max()))
        if bias == "regularised":
            assert state.b == pytest.approx(b, abs=1e-9)
        if bias == "free":
            assert abs(state.alpha @ problem.y) <= 1e-12 * max(1.0, state.alpha.sum())


@every_case
def test_examples_without_weight_are_never_touched(name, loss, bias):
    X, y = overlapping(n=60)
    weights = (np.arange(60) % 4 > 0).astype(float)
    problem = posed(X, y, loss=loss, bias=bias, weights=weights)
    outcome = solve(problem, SOLVERS[name], Limits(tol=1e-8))
    assert np.all(outcome.alpha[weights == 0] == 0)
    few = posed(X[weights > 0], y[weights > 0], loss=loss, bias=bias)
    assert outcome.certificate.primal == pytest.approx(
        solve(few, SOLVERS[name], Limits(tol=1e-8)).certificate.primal, rel=1e-7
    )


@every_case
def test_duplicate_rows_empty_rows_and_constant_columns_are_no_trouble(name, loss, bias):
    X, y = overlapping(n=20)
    X = np.vstack([X, X, X, np.zeros((5, 5))])
    X[:, 2] = 1.0
    X[:, 3] = 0.0
    y = np.concatenate([y, -y, y, [1.0, -1.0, 1.0, 1.0, -1.0]])
    outcome = solve(posed(X, y, loss=loss, bias=bias), SOLVERS[name], Limits(tol=1e-8))
    assert outcome.certificate.relative_gap <= 1e-8


@every_case
def test_separable_data_are_no_trouble(name, loss, bias):
    X, y = np.array([[-2.0, 0.0], [-1.0, 0.5], [1.0, -0.5], [2.0, 0.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    outcome = solve(posed(X, y, loss=loss, bias=bias, C=100.0), SOLVERS[name], Limits(tol=1e-8))
    assert outcome.certificate.relative_gap <= 1e-8
    assert np.all(y * (X @ outcome.w + outcome.b) > 0)


@every_case
def test_a_sweep_may_be_cut_into_parts(name, loss, bias, monkeypatch):
    """An epoch of large data takes several calls of `advance`; shrinking must survive the cuts."""
    monkeypatch.setattr(sweeps, "WORK", 5 * 17)
    problem = posed(*overlapping(n=200), loss=loss, bias=bias)
    assert solve(problem, SOLVERS[name], Limits(tol=1e-8)).certificate.relative_gap <= 1e-8


@pytest.mark.parametrize(("name", "bias"), [("dual_coordinate", "none"), ("dual_pairs", "free")])
def test_shrinking_happens_and_undoes_itself(name, bias):
    problem = posed(*overlapping(n=400), bias=bias, C=1.0)
    assert isinstance(problem.loss, Hinge)
    solver, rng = SOLVERS[name], np.random.default_rng(0)
    state = solver.start(problem)
    sizes = []
    for _ in range(400):
        solver.advance(problem, state, rng)
        sizes.append(len(state.order))
    assert min(sizes) < problem.n / 2
    shrunk = [place for place, size in enumerate(sizes) if size < problem.n]
    assert any(size == problem.n for size in sizes[shrunk[0] :])


def test_an_unknown_solver_lists_the_known_ones():
    with pytest.raises(ParameterError, match="auto or one of dual_coordinate, dual_pairs"):
        find_solver("smo")
