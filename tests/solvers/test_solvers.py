"""The contract of a solver, checked for every entry of the table: a new one is tested without a new test."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, STORAGES, overlapping, posed, reference_optimum

from maxmargin.errors import ParameterError
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Point, certify, primal_of
from maxmargin.problems.losses import Hinge
from maxmargin.solvers import SOLVERS, find_solver, refusal
from maxmargin.solvers.parts import sweeps
from maxmargin.status import Status
from maxmargin.testing.solvers import check_reaches, check_resumed, check_same_bits, check_untouched, check_warm_start

CASES = [
    (name, loss, bias)
    for name in SOLVERS
    for loss in EVERY_LOSS
    for bias in EVERY_BIAS
    if name != "perceptron"
    and not refusal(SOLVERS[name], posed(*overlapping(), loss=loss, bias=bias))  # it minimises nothing
]
DUAL = [case for case in CASES if issubclass(SOLVERS[case[0]].state_type, sweeps.Sweeps)]
STOCHASTIC = {"sgd", "pegasos", "implicit"}


def aim(name, loss, tol):
    """What a solver is asked for: much; 1e-6 of the taught SMO; a gap of 1e-2 of those whose steps shrink."""
    if name == "smo_simple":
        return Limits(tol=max(tol, 1e-6), max_epochs=10**6)
    rough = name in STOCHASTIC or name == "adaptive" or (name == "gradient_descent" and loss == "hinge")
    return Limits(tol=1e-2 if rough else tol, max_epochs=20_000 if rough else None)


every_case = pytest.mark.parametrize(("name", "loss", "bias"), CASES)
every_precise_case = pytest.mark.parametrize(
    ("name", "loss", "bias"), [case for case in CASES if not aim(*case[:2], 0.0).max_epochs]
)
every_dual_case = pytest.mark.parametrize(("name", "loss", "bias"), DUAL)


@every_case
@pytest.mark.parametrize("storage", STORAGES)
def test_reaches_the_optimum_that_others_find(name, loss, bias, storage):
    X, y = overlapping(n=40, d=4)
    weights = np.linspace(0.5, 2.0, 40)
    problem = posed(STORAGES[storage](X), y, loss=loss, bias=bias, C=2.0, bias_scale=0.7, weights=weights)
    limits = aim(name, loss, 1e-10)
    outcome = solve(problem, SOLVERS[name], limits)
    best = reference_optimum(problem, X)
    assert outcome.certificate.relative_gap <= limits.tol
    assert outcome.certificate.primal == pytest.approx(best, rel=max(limits.tol, 1e-7))
    assert outcome.certificate.dual <= best * (1 + 1e-7)


@every_case
@pytest.mark.parametrize("C", [1e-4, 1e3])
def test_reaches_the_tolerance_for_small_and_large_C(name, loss, bias, C):
    limits = aim(name, loss, 1e-6)
    C = min(C, 1.0) if limits.max_epochs else C  # steps that shrink as 1/t need C times as many epochs
    check_reaches(SOLVERS[name], posed(*overlapping(n=100, d=6), loss=loss, bias=bias, C=C), limits)


@every_case
def test_same_seed_same_bits(name, loss, bias):
    check_same_bits(SOLVERS[name], posed(*overlapping(n=200), loss=loss, bias=bias), aim(name, loss, 1e-5))


@every_dual_case
def test_another_seed_takes_another_way_to_the_same_place(name, loss, bias):
    problem = posed(*overlapping(n=200), loss=loss, bias=bias)
    one, two = (solve(problem, SOLVERS[name], Limits(tol=1e-8), seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.alpha, two.alpha)
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-8)


@every_case
def test_inputs_are_untouched(name, loss, bias):
    X, y = overlapping()
    problem = posed(X, y, loss=loss, bias=bias)
    copies = X.copy(), y.copy()
    check_untouched(SOLVERS[name], problem, aim(name, loss, 1e-3))
    for before, after in zip(copies, (X, y), strict=True):
        assert np.array_equal(before, after)


@every_precise_case
def test_a_warm_start_at_the_answer_is_an_answer(name, loss, bias):
    check_warm_start(SOLVERS[name], posed(*overlapping(n=2000), loss=loss, bias=bias), 1e-6)


@every_dual_case
def test_the_dual_objective_never_falls(name, loss, bias):
    problem = posed(*overlapping(n=100), loss=loss, bias=bias, C=10.0)
    plain = {"momentum": False} if name == "dual_coordinate" else None
    solver, rng = find_solver(name, plain), np.random.default_rng(0)
    state = solver.start(problem)
    values = []
    for _ in range(30):
        solver.advance(problem, state, rng)
        values.append(certify(problem, solver.point(problem, state)).certificate.dual)
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))


@every_dual_case
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
        if bias == "free" and name == "dual_coordinate":
            assert state.balance == pytest.approx(state.alpha @ problem.y, abs=1e-9)
        elif bias == "free":
            assert abs(state.alpha @ problem.y) <= 1e-12 * max(1.0, state.alpha.sum())


@every_precise_case
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


@every_precise_case
def test_duplicate_rows_empty_rows_and_constant_columns_are_no_trouble(name, loss, bias):
    X, y = overlapping(n=20)
    X = np.vstack([X, X, X, np.zeros((5, 5))])
    X[:, 2] = 1.0
    X[:, 3] = 0.0
    y = np.concatenate([y, -y, y, [1.0, -1.0, 1.0, 1.0, -1.0]])
    outcome = solve(posed(X, y, loss=loss, bias=bias), SOLVERS[name], Limits(tol=1e-8))
    assert outcome.certificate.relative_gap <= 1e-8


@every_precise_case
def test_separable_data_are_no_trouble(name, loss, bias):
    X, y = np.array([[-2.0, 0.0], [-1.0, 0.5], [1.0, -0.5], [2.0, 0.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    outcome = solve(posed(X, y, loss=loss, bias=bias, C=100.0), SOLVERS[name], Limits(tol=1e-8))
    assert outcome.certificate.relative_gap <= 1e-8
    assert np.all(y * (X @ outcome.w + outcome.b) > 0)


@every_dual_case
def test_a_sweep_may_be_cut_into_parts(name, loss, bias, monkeypatch):
    """An epoch of large data takes several calls of `advance`; shrinking must survive the cuts."""
    monkeypatch.setattr("maxmargin.solvers.base.WORK", 1)  # one row at a time
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
    with pytest.raises(
        ParameterError,
        match=f"auto or one of {', '.join(SOLVERS)}",
    ):
        find_solver("libsvm")


STEPPERS = [case for case in CASES if case[0] in STOCHASTIC]


@pytest.mark.parametrize(("name", "loss", "bias"), STEPPERS)
def test_a_stochastic_solver_has_a_dual_point_for_free(name, loss, bias):
    """At every epoch's end w = w(alpha) and alpha is in its box; the gap goes to 0."""
    problem = posed(*overlapping(n=100), loss=loss, bias=bias, weights=np.linspace(0.5, 2.0, 100))
    solver, rng = SOLVERS[name], np.random.default_rng(0)
    state = solver.start(problem)
    gaps = []
    for _ in range(200):
        solver.advance(problem, state, rng)
        alpha = state.scale * state.a
        assert np.all(alpha <= problem.loss.upper(problem.C) * (1 + 1e-12))
        w, _ = primal_of(problem, alpha)
        np.testing.assert_allclose(state.scale * state.v, w, atol=1e-9 * (1 + np.abs(w).max()))
        assert state.scale * state.s == pytest.approx(alpha @ problem.y, abs=1e-9 * (1 + alpha.sum()))
        gaps.append(certify(problem, solver.point(problem, state)).certificate.relative_gap)
    assert np.median(gaps[-20:]) < np.median(gaps[20:40]) / 2


def test_pegasos_steps_as_the_formula_says():
    """Two examples in one batch, both violating; then projection to the ball of radius sqrt(sum C)."""
    X, y = np.array([[3.0, 0.0], [0.0, -4.0]]), np.array([1.0, -1.0])
    problem = posed(X, y, bias="none", C=1.0)
    solver = find_solver("pegasos", {"batch": 2})
    state = solver.start(problem)
    solver.advance(problem, state, np.random.default_rng(0))
    np.testing.assert_allclose(state.scale * state.v, [3.0, 4.0])
    solver = find_solver("pegasos", {"batch": 2, "project": True})
    state = solver.start(problem)
    solver.advance(problem, state, np.random.default_rng(0))
    np.testing.assert_allclose(state.scale * state.v, np.array([3.0, 4.0]) * np.sqrt(2) / 5)


@pytest.mark.parametrize(
    ("length", "w", "expected"),
    [
        (1.0, 5.0, 5.0 / 2),  # right already: g = 0, w / (1 + eta lam)
        (0.1, 0.0, 0.1 * 2 / 2),  # far off: g = 1, (w + eta p x) / (1 + eta lam) with eta p = n C = 2
        (2.0, 0.0, 0.5),  # in between: just enough for a margin of 1
    ],
)
def test_implicit_steps_in_its_three_cases(length, w, expected):
    """One step at eta = 1/lam, so 1 + eta lam = 2, on the first of two examples; the second is empty."""
    from maxmargin.solvers.stochastic.implicit import walk

    problem = posed(np.array([[length], [0.0]]), np.array([1.0, -1.0]), bias="none", C=1.0)
    v, a = np.array([w]), np.zeros(2)
    order = np.array([0, 1])
    _, scale, _ = walk(
        problem.rows, problem.y, problem.C, problem.squared_norms, 0.0, v, a, 1.0, 0.0, order, 0, 1, np.array([0.5])
    )
    assert scale * v[0] == pytest.approx(expected)


@pytest.mark.parametrize("batch", [7, 33, 79])
def test_pegasos_arrives_with_batches_that_do_not_divide_the_examples(batch):
    problem = posed(*overlapping(n=80, d=3), bias="none")
    outcome = solve(problem, find_solver("pegasos", {"batch": batch}), Limits(tol=5e-3, max_epochs=3000))
    assert outcome.certificate.relative_gap <= 5e-3


def test_pegasos_in_batches_of_all_is_subgradient_descent():
    X, y = overlapping(n=50)
    problem = posed(X, y, bias="none")
    pegasos, descent = find_solver("pegasos", {"batch": 50}), find_solver("gradient_descent", {"rate": "over_t"})
    one, other = pegasos.start(problem), descent.start(problem)
    for _ in range(20):
        pegasos.advance(problem, one, np.random.default_rng(0))
        descent.advance(problem, other, np.random.default_rng(0))
        np.testing.assert_allclose(one.scale * one.v, other.w, atol=1e-9)


@pytest.mark.parametrize("schedule", ["over_t", "over_t_C", "over_sqrt_t", "constant"])
@pytest.mark.parametrize("name", ["sgd", "implicit"])
def test_other_schedules_descend_too(name, schedule):
    problem = posed(*overlapping(n=200), bias="none", C=0.1)
    solver = find_solver(name, {"schedule": schedule, "step": 0.005})
    start = certify(problem, solver.point(problem, solver.start(problem))).certificate.primal
    outcome = solve(problem, solver, Limits(tol=1e-9, max_epochs=30))
    assert outcome.certificate.primal < 0.9 * start


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pegasos", {"batch": 0}, "batch=0 must be"),
        ("pegasos", {"batch": 2.5}, "batch=2.5 must be"),
        ("pegasos", {"stride": 1}, "no option 'stride': its options are batch, project"),
        ("newton", {"batch": 1}, "no option 'batch': it has none"),
        ("dual_pairs", {"pairs": "best"}, "choose one of joined, random, greedy"),
        ("gradient_descent", {"change": -0.1}, "change=-0.1 must be"),
        ("sgd", {"schedule": "fast"}, "choose one of 1/t"),
        ("sgd", {"step": 0.0}, "step=0.0 must be"),
        ("sgd", {"output": "first"}, "choose one of last, average, suffix"),
        ("sgd", {"sampling": "none"}, "choose one of shuffled"),
        ("dual_coordinate", {"sampling": "all"}, "choose one of shuffled"),
        ("dual_coordinate", {"momentum": "some"}, "momentum='some' must be true or false"),
        ("implicit", {"step": -1}, "step=-1 must be"),
        ("smo_simple", {"tolerance": 0.0}, "tolerance=0.0 must be"),
        ("smo_simple", {"passes": 0}, "passes=0 must be"),
        ("smo_simple", {"refine": "maybe"}, "refine='maybe' must be true or false"),
        ("pegasos", {"project": 2}, "project=2 must be true or false"),
        ("lbfgs", {"memory": 0}, "memory=0 must be"),
        ("gradient_descent", {"rate": "slow"}, "choose one of backtracking"),
        ("gradient_descent", {"step": 2.0}, "step=2.0 must be"),
    ],
)
def test_a_bad_option_is_named_with_what_is_allowed(name, options, words):
    with pytest.raises(ParameterError, match=words):
        find_solver(name, options)


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ParameterError, match="from 1 to 60"):
        solve(posed(*overlapping(), bias="none"), find_solver("pegasos", {"batch": 61}), Limits())


@every_case
def test_interrupted_and_resumed_is_uninterrupted(name, loss, bias, tmp_path):
    check_resumed(SOLVERS[name], posed(*overlapping(n=150), loss=loss, bias=bias), folder=tmp_path)


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", ["none", "regularised"])
def test_uniform_draws_reach_the_same_optimum_as_shuffled_epochs(loss, bias):
    problem = posed(*overlapping(n=300), loss=loss, bias=bias)
    shuffled = solve(problem, find_solver("dual_coordinate"), Limits(tol=1e-8))
    uniform = solve(problem, find_solver("dual_coordinate", {"sampling": "uniform"}), Limits(tol=1e-8))
    assert uniform.certificate.relative_gap <= 1e-8
    assert uniform.certificate.primal == pytest.approx(shuffled.certificate.primal, rel=2e-8)
    assert not np.array_equal(uniform.alpha, shuffled.alpha)


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_the_lambda_form_and_the_C_form_give_the_same_w(loss):
    X, y = overlapping(n=200)
    by_C = solve(posed(X, y, loss=loss, bias="none", C=0.25), SOLVERS["dual_coordinate"], Limits())
    by_lam = solve(posed(X, y, loss=loss, bias="none", lam=1 / (200 * 0.25)), SOLVERS["dual_coordinate"], Limits())
    np.testing.assert_allclose(by_C.w, by_lam.w, rtol=1e-12)


@pytest.mark.parametrize("output", ["average", "suffix"])
@pytest.mark.parametrize("schedule", ["1/t", "constant"])
def test_averages_are_the_mean_of_the_iterates(output, schedule, monkeypatch):
    """One row at a time, every iterate is seen; their mean must be what the lazy sums give, folds and all."""
    monkeypatch.setattr("maxmargin.solvers.base.WORK", 1)
    problem = posed(*overlapping(n=20), bias="none", C=0.1)
    solver = find_solver("sgd", {"output": output, "schedule": schedule, "step": 0.4})
    state, rng, iterates = solver.start(problem), np.random.default_rng(0), []
    for step in range(20 * 7):
        if output == "suffix" and step in (20, 40, 80):
            iterates.clear()
        solver.advance(problem, state, rng)
        iterates.append(state.scale * state.v)
    w, alpha = state.sums()
    assert state.count == len(iterates)
    np.testing.assert_allclose(w / state.count, np.mean(iterates, axis=0), atol=1e-10)
    np.testing.assert_allclose(primal_of(problem, alpha)[0], w, atol=1e-10)


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("output", ["average", "suffix"])
def test_averages_are_certified(loss, output):
    problem = posed(*overlapping(n=200), loss=loss, bias="regularised", C=0.1)
    outcome = solve(problem, find_solver("sgd", {"output": output}), Limits(tol=2e-2, max_epochs=2000))
    assert outcome.certificate.relative_gap <= 2e-2


@pytest.mark.parametrize(
    ("y", "alpha", "C", "E", "expected"),
    [
        # x_i = 1, x_j = -1, so eta = 2 (-1) - 1 - 1 = -4 and alpha_j moves by y_j (E_i - E_j) / 4
        ((1.0, -1.0), (0.5, 0.5), (9.0, 9.0), (-1.0, 1.0), (1.0, 1.0)),  # inside: alpha_j = 0.5 + 2/4, both rise
        ((1.0, -1.0), (0.5, 0.5), (9.0, 0.7), (-1.0, 1.0), (0.7, 0.7)),  # H = C_j
        ((1.0, -1.0), (0.5, 0.5), (0.6, 9.0), (-1.0, 1.0), (0.6, 0.6)),  # H = C_i + alpha_j - alpha_i
        ((1.0, -1.0), (0.5, 0.2), (9.0, 9.0), (1.0, -1.0), (0.3, 0.0)),  # L = 0
        ((1.0, -1.0), (0.2, 0.5), (9.0, 9.0), (1.0, -1.0), (0.0, 0.3)),  # L = alpha_j - alpha_i
        ((1.0, 1.0), (0.5, 0.5), (9.0, 9.0), (-1.0, -0.2), (0.7, 0.3)),  # same label: one rises, one falls
        ((1.0, 1.0), (0.5, 0.5), (0.6, 9.0), (-1.0, 1.0), (0.6, 0.4)),  # L = alpha_i + alpha_j - C_i
        ((1.0, 1.0), (0.5, 0.5), (9.0, 9.0), (4.0, -1.0), (0.0, 1.0)),  # H = alpha_i + alpha_j
    ],
)
def test_smo_steps_with_each_bound_active(y, alpha, C, E, expected):
    from maxmargin.solvers.dual.smo_simple import step

    y, new, C = np.array(y), np.array(alpha), np.array(C)
    b, moved = step(y, C, 1.0, 1.0, -1.0, new, 0.0, 0, 1, *E)
    np.testing.assert_allclose(new, expected, atol=1e-15)
    assert moved == pytest.approx(new[1] - alpha[1])
    assert new @ y == pytest.approx(np.array(alpha) @ y)
    change = y[0] * (new[0] - alpha[0]) - y[1] * (new[1] - alpha[1])  # of w, since x_i = 1 and x_j = -1
    inside = (new > 0) & (new < C)
    errors = np.array([E[0] + change + b, E[1] - change + b])
    if inside.any():
        assert errors[np.argmax(inside)] == pytest.approx(0.0, abs=1e-12)
    else:
        assert errors.mean() == pytest.approx(0.0, abs=1e-12)


def test_the_taught_smo_agrees_with_libsvm():
    X, y = overlapping(n=60, d=4)
    problem = posed(X, y, C=0.5)
    outcome = solve(problem, SOLVERS["smo_simple"], Limits(tol=1e-7))
    assert outcome.certificate.primal == pytest.approx(reference_optimum(problem, X), rel=1e-6)


@every_case
@pytest.mark.parametrize("epochs", [1, 7, 40])
def test_the_certificate_is_of_the_very_model_that_is_returned(name, loss, bias, epochs):
    """Whatever the solver does to its own arrays afterwards."""
    X, y = overlapping(n=80)
    problem = posed(X, y, loss=loss, bias=bias, C=3.0)
    outcome = solve(problem, SOLVERS[name], Limits(tol=1e-30, max_epochs=epochs))
    primal = problem.primal(outcome.w, outcome.b, y * (X @ outcome.w + outcome.b))
    assert outcome.certificate.primal == pytest.approx(primal, rel=1e-12)
    dual = problem.dual(outcome.alpha, *primal_of(problem, outcome.alpha))
    assert outcome.certificate.dual == pytest.approx(dual, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_steps_that_go_up_again_leave_the_best_model_alone(loss):
    X, y = overlapping(n=80)
    problem = posed(X, y, loss=loss, bias="none", C=3.0)
    solver = find_solver("gradient_descent", {"rate": "constant", "step": 0.5})
    outcome = solve(problem, solver, Limits(tol=1e-30, max_epochs=60))
    primal = problem.primal(outcome.w, outcome.b, y * (X @ outcome.w))
    assert outcome.certificate.primal == pytest.approx(primal, rel=1e-12)


@pytest.mark.parametrize("pairs", ["random", "greedy"])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("storage", ["dense64", "csr64"])
def test_random_and_greedy_pairs_reach_the_same_optimum(pairs, loss, storage):
    X, y = overlapping(n=40, d=4)
    problem = posed(STORAGES[storage](X), y, loss=loss, C=2.0, weights=np.linspace(0.5, 2.0, 40))
    outcome = solve(problem, find_solver("dual_pairs", {"pairs": pairs}), Limits(tol=1e-8))
    assert outcome.certificate.relative_gap <= 1e-8
    assert outcome.certificate.primal == pytest.approx(reference_optimum(problem, X), rel=1e-7)
    assert abs(outcome.alpha @ y) <= 1e-9 * outcome.alpha.sum()


@pytest.mark.parametrize("pairs", ["random", "greedy"])
def test_random_and_greedy_pairs_find_the_widest_margin(pairs):
    X, y = np.array([[-2.0, 0.0], [-1.0, 0.5], [1.0, -0.5], [2.0, 0.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    outcome = solve(posed(X, y, C=np.inf), find_solver("dual_pairs", {"pairs": pairs}), Limits(tol=1e-8))
    np.testing.assert_allclose(outcome.w, [0.8, -0.4], atol=1e-6)  # the normal between (-1, ½) and (1, -½)


def test_a_greedy_step_takes_the_pair_that_violates_most():
    X, y = overlapping(n=40)
    problem = posed(X, y, C=2.0)
    alpha = np.where(y > 0, 1.0 / np.sum(y > 0), 1.0 / np.sum(y < 0))
    state = SOLVERS["dual_pairs"].start(problem, Point(alpha=alpha))
    before = state.alpha.copy()
    F = y - X @ state.w  # every α is inside its box: all can rise and all can fall
    from maxmargin.solvers.dual.dual_pairs import take_greedy_pairs

    take_greedy_pairs(
        problem.rows, problem.y, problem.dual_term, problem.squared_norms, state.alpha, state.w, problem.counted, 1
    )
    assert set(np.flatnonzero(state.alpha != before)) == {np.argmax(F), np.argmin(F)}


@pytest.mark.parametrize(
    ("loss", "y", "alpha", "C", "expected"),
    [
        # x_i = (2, 0), x_j = (0, 1): ‖x_i − x_j‖² = 5, w = α_i y_i x_i + α_j y_j x_j, F = y d′(α) − ⟨w, x⟩
        ("hinge", (1.0, -1.0), (0.0, 0.0), 9.0, 2 / 5),  # F_i − F_j = 1 − (−1), inside
        ("hinge", (1.0, -1.0), (0.0, 0.0), 0.25, 0.25),  # both stop at C
        ("hinge", (1.0, -1.0), (0.1, 0.1), 9.0, (1 - 0.4 + 1 - 0.1) / 5),  # w = (0.2, −0.1)
        ("hinge", (1.0, 1.0), (0.0, 0.3), 9.0, (1 - 0.0 - 1 + 0.3) / 5),  # w = (0, 0.3): i rises, j falls
        ("hinge", (-1.0, -1.0), (0.5, 0.0), 9.0, (-1 + 2.0 + 1 + 0.0) / 5),  # w = (−1, 0): α_i falls by 0.4
        ("hinge", (-1.0, -1.0), (0.3, 0.0), 9.0, (1.2) / 5),  # w = (−0.6, 0): α_i falls by 0.24
        ("hinge", (-1.0, -1.0), (0.2, 0.15), 0.2, 0.05),  # w = (−0.4, −0.15), F_i − F_j = 0.65, and α_j stops at C
        ("squared_hinge", (1.0, -1.0), (0.0, 0.0), 2.0, 2 / (5 + 0.25 + 0.25)),  # D = 1/(2C)
    ],
)
def test_a_pair_steps_as_the_formula_says(loss, y, alpha, C, expected):
    from maxmargin.solvers.dual.dual_pairs import join

    X, y, before = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array(y), np.array(alpha)
    problem = posed(np.vstack([X, X]), np.array([*y, 1.0, -1.0]), loss=loss, C=C)
    after = np.append(before, [0.0, 0.0])
    w = (before * y) @ X
    join(problem.rows, problem.y, problem.dual_term, problem.squared_norms, after, w, 0, 1)
    np.testing.assert_allclose(after[:2], [before[0] + y[0] * expected, before[1] - y[1] * expected], atol=1e-15)
    np.testing.assert_allclose(w, (after[:2] * y) @ X, atol=1e-15)
    assert after[:2] @ y == pytest.approx(before @ y)


def test_gradient_descent_can_stop_on_a_small_change():
    problem = posed(*overlapping(n=200), loss="logistic")
    loose, tight = (
        solve(problem, find_solver("gradient_descent", {"change": change}), Limits(tol=1e-14))
        for change in (1e-2, 1e-6)
    )
    assert loose.status is tight.status is Status.SETTLED
    assert tight.certificate.relative_gap < loose.certificate.relative_gap
    assert loose.epochs < tight.epochs


def test_the_taught_smo_can_stop_as_taught():
    """After `passes` sweeps without a change the conditions hold to the tolerance, against every partner drawn."""
    problem = posed(*overlapping(n=60, d=4), C=0.5)
    outcome = solve(problem, find_solver("smo_simple", {"refine": False, "passes": 20}), Limits(tol=1e-14))
    assert outcome.status is Status.SETTLED
    assert outcome.certificate.relative_gap < 1e-2


@pytest.mark.parametrize("name", ["sgd", "implicit"])
@pytest.mark.parametrize("step", [0.1, 0.9])
def test_a_scale_that_falls_fast_is_no_trouble(name, step):
    """(1 − γ)ⁿ leaves the floating-point numbers within an epoch; w must be that of the plain update."""
    X, y = overlapping(n=4000)
    problem = posed(X, y, bias="none", C=1e-3)
    solver, rng = find_solver(name, {"schedule": "constant", "step": step}), np.random.default_rng(0)
    state = solver.start(problem)
    while state.t < 4000:
        solver.advance(problem, state, rng)
    w = np.zeros(5)
    for i in state.order:
        gamma = step if name == "sgd" else step / (1 + step)
        m, most = y[i] * X[i] @ w, gamma * 4000 * 1e-3
        if name == "sgd":
            g = m < 1
        else:
            square = X[i] @ X[i]
            g = min(max((1 - (1 - gamma) * m) / (most * square), 0), 1) if square else 1.0
        w = (1 - gamma) * w + g * most * y[i] * X[i]
    np.testing.assert_allclose(state.scale * state.v, w, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "loss"),
    [
        ("sgd", {"schedule": "constant", "step": 0.3}, "squared_hinge"),
        ("gradient_descent", {"rate": "constant"}, "squared_hinge"),
        ("adaptive", {"method": "momentum", "step": 1e200}, "logistic"),
    ],
)
def test_steps_that_are_too_large_end_as_diverged_with_a_finite_model(name, options, loss):
    problem = posed(*overlapping(n=100), loss=loss, C=100.0)
    outcome = solve(problem, find_solver(name, options), Limits())
    assert outcome.status is Status.DIVERGED
    assert "smaller steps" in outcome.status.advice
    assert np.all(np.isfinite(outcome.w))
    assert np.isfinite(outcome.b)
    nothing = certify(problem, SOLVERS["newton"].point(problem, SOLVERS["newton"].start(problem))).certificate.primal
    assert outcome.certificate.primal <= nothing


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_sgd_finds_a_free_bias_as_well_as_a_regularised_one(loss):
    X, y = overlapping(n=2000, d=8)
    free, inside = (
        solve(posed(X, y, loss=loss, bias=bias), SOLVERS["sgd"], Limits(tol=1e-9, max_epochs=60)).certificate
        for bias in ("free", "regularised")
    )
    assert free.primal <= 1.05 * inside.primal


def test_a_shuffle_is_a_permutation_and_every_one_is_as_likely():
    seen = {}
    for seed in range(6000):
        order = np.arange(3)
        sweeps.shuffle(order, seed)
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    assert len(seen) == 6
    assert all(850 < count < 1150 for count in seen.values())
    order = np.arange(1000)
    sweeps.shuffle(order, 2**62)
    assert sorted(order) == list(range(1000))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_single_coordinates_reach_the_free_bias_that_pairs_reach(loss, C):
    problem = posed(*overlapping(n=300, d=20), loss=loss, C=C)
    single, paired = (solve(problem, SOLVERS[name], Limits(tol=1e-8)) for name in ("dual_coordinate", "dual_pairs"))
    assert single.certificate.relative_gap <= 1e-8
    assert single.certificate.primal == pytest.approx(paired.certificate.primal, rel=2e-8)


def test_examples_that_are_nearly_alike_settle_without_a_thousand_sweeps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2000)) * (rng.random((400, 2000)) < 0.02)
    X[200:210] = X[:10] + 0.03 * rng.normal(size=(10, 2000))
    y = np.where(np.arange(400) < 200, 1.0, -1.0)
    outcome = solve(posed(X, y, C=1000.0, bias="none"), SOLVERS["dual_coordinate"], Limits(tol=1e-6))
    assert outcome.status is Status.CONVERGED
    assert outcome.epochs < 200
