"""Batch solvers over passes: rows on disk, read again for each step, with the certificate of the same pass."""

import os
import signal
from fractions import Fraction

import numpy as np
import pytest
from exact import linear_dual, linear_primal
from problems import overlapping, posed, reference_optimum

import maxmargin
from maxmargin.data.file_rows import FileRows
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.open_source import open_source
from maxmargin.data.take import take
from maxmargin.errors import DataError, ParameterError, RefusedError
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import LENGTHS, TwoClasses
from maxmargin.problems.losses import find_loss
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.status import Status
from maxmargin.system.budget import Budget
from maxmargin.training import streamed
from maxmargin.training.pass_succession import BY_MATRIX

LOSSES = ("hinge", "squared_hinge", "logistic")
BIASES = ("none", "regularised", "free")
SMALL = Budget(6_000_000)


def raw(n=4000, d=6, seed=0):
    """Rows whose columns have the scales of a table that nobody has scaled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 30.0, 1000.0, 0.1, 5.0, 200.0])[:d] + 2.0
    score = X @ (rng.normal(size=d) / X.std(axis=0)) + rng.normal(size=n)
    return X, np.where(score > np.median(score), 1, -1)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("passes") / "raw.svm"
    maxmargin.write(path, *raw(40_000))
    return path


def problem_on(rows, loss="squared_hinge", C=0.5, bias="free", **more):
    return PassProblem(rows, TwoClasses(find_loss(loss), C, 1), bias, **more)


def streamed_by(file, **options):
    """Train by passes even though the file would fit in memory."""
    return maxmargin.train(file, memory="6MB", threads=options.pop("threads", 1), **options)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_from_disk_is_that_of_an_independent_reference(tmp_path, loss, bias):
    X, y = overlapping(n=300)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    rows = FileRows(open_source(tmp_path / "rows.svm"), SMALL)
    problem, solver = problem_on(rows, loss, 0.7, bias), PASS_SOLVERS["second_order"]
    state, rng = solver.start(problem), np.random.default_rng(0)
    gaps = []
    while not gaps or gaps[-1] > 1e-7:
        assert solver.advance(problem, state, rng) is None
        gaps.append(problem.certificate(state.at).relative_gap)
        assert len(gaps) < 60
    best = reference_optimum(posed(X, y, loss=loss, C=0.7, bias=bias), X)
    assert problem.value(state.at) == pytest.approx(best, rel=1e-5)
    found = problem.certificate(state.at)
    assert found.dual <= best * (1 + 1e-6)
    assert found.primal >= best * (1 - 1e-6)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_certificates_of_a_pass_are_true_in_exact_arithmetic(loss, bias):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.uniform(-3, 3, 3)
    y = np.where(rng.normal(size=40) > 0, 1, -1)
    weights = rng.uniform(0.1, 3.0, 40)
    C = 0.3 * weights
    rows = MemoryRows(take(X), y, weights)
    for seed in range(10):
        v = np.random.default_rng(seed).normal(size=4) / np.append(np.abs(X).max(axis=0), 1.0)
        if bias == "none":
            v[-1] = 0.0
        problem = problem_on(rows, loss, 0.3, bias)
        what = {"epsilon": 0.5, "forces": "q"} if loss == "hinge" else {"forces": "q"}
        at = problem.evaluate(v, **what)._replace(q_vector="q")
        found = problem.certificate(at)
        model = type("Model", (), {"w": v[None, :3], "b": v[3:], "centre": None, "d": 3})
        assert linear_primal(model, X, y, C, loss, bias) <= Fraction(found.primal)
        signed = problem.best_dual() if found.dual > 0 else np.zeros(40)
        assert np.all(signed * y >= 0)
        if found.dual > 0:
            assert linear_dual(np.abs(signed), X, y, C, loss, bias) >= Fraction(found.dual)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_gradient_and_matrix_of_a_pass_are_derivatives(loss):
    X, y = overlapping(n=60)
    problem = problem_on(MemoryRows(take(X), y), loss)
    v, h = 0.1 * np.ones(X.shape[1] + 1), 1e-5
    at = problem.evaluate(v, matrix=True)
    for k in range(len(v)):
        step = h * np.eye(len(v))[k]
        above, below = problem.evaluate(v + step), problem.evaluate(v - step)
        slope = (problem.value(above) - problem.value(below)) / (2 * h)
        assert problem.gradient(at)[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        bend = (problem.gradient(above) - problem.gradient(below)) / (2 * h)
        whole = np.tril(at.matrix) + np.tril(at.matrix, -1).T + np.diag(problem.regulariser.r)
        assert whole[k] == pytest.approx(bend, rel=1e-3, abs=1e-3)


def test_a_pass_sums_the_slope_along_its_step():
    X, y = overlapping(n=60)
    problem = problem_on(MemoryRows(take(X), y))
    v, step = np.zeros(X.shape[1] + 1), 0.01 * np.ones(X.shape[1] + 1)
    there = problem.evaluate(v + step, step=step)
    for t, force in zip(LENGTHS, there.along, strict=True):
        at = problem.evaluate(v + t * step)
        assert force == pytest.approx(float(at.force @ step), rel=1e-9)


def test_rows_on_disk_and_in_memory_give_the_same_sums(file):
    X, y = maxmargin.read(file)
    on_disk = FileRows(open_source(file, capacity=1 << 16), Budget(20_000_000), threads=2)
    in_memory = MemoryRows(take(X), y, threads=2)
    assert on_disk.facts.n == in_memory.facts.n == len(y)
    assert on_disk.facts.squares == pytest.approx(in_memory.facts.squares, rel=1e-12)
    v = np.full(7, 0.01)
    first, second = (problem_on(rows).evaluate(v, matrix=True) for rows in (on_disk, in_memory))
    assert first.forces == pytest.approx(second.forces, rel=1e-10)
    assert first.matrix == pytest.approx(second.matrix, rel=1e-10)
    again = problem_on(on_disk).evaluate(v, matrix=True)
    assert np.array_equal(first.matrix, again.matrix)


def test_the_number_of_threads_does_not_change_sums_in_memory():
    X, y = raw(3000)
    found = [
        problem_on(MemoryRows(take(X), y, threads=threads)).evaluate(np.ones(7), matrix=True) for threads in (1, 2)
    ]
    assert np.array_equal(found[0].matrix, found[1].matrix)
    assert np.array_equal(found[0].forces, found[1].forces)


@pytest.mark.parametrize("loss", LOSSES)
def test_auto_takes_newton_steps_for_raw_columns(file, loss):
    result = streamed_by(file, loss=loss, tol=1e-6)
    assert result.solver == ("second_order" if loss == "hinge" else "newton")
    assert "Newton steps by passes" in result.why
    assert result.status is Status.CONVERGED
    assert result.model.training["passes"] <= 40
    whole = maxmargin.train(file, loss=loss, tol=1e-7)
    assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-6)
    assert result.certificate.dual <= whole.certificate.primal
    assert np.mean(result.model.predict(maxmargin.read(file)[0]) == maxmargin.read(file)[1]) > 0.8


def test_alpha_of_the_result_has_the_certified_bound(file):
    X, y = maxmargin.read(file)
    for loss in ("hinge", "logistic"):
        result = streamed_by(file, loss=loss, C=0.1, bias="none", tol=1e-5)
        problem = posed(X.toarray(), y, loss=loss, C=0.1, bias="none")
        w = X.T @ (result.alpha * y)
        assert problem.dual(result.alpha, w, 0.0) == pytest.approx(result.certificate.dual, rel=1e-9)
        assert np.array_equal(result.model.support, np.flatnonzero(result.alpha))


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("name", ["lbfgs", "gradient_descent"])
def test_solvers_without_a_matrix_from_disk(tmp_path, name, loss, bias):
    X, y = overlapping(n=500)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    rows = FileRows(open_source(tmp_path / "rows.svm"), SMALL)
    problem, solver = problem_on(rows, loss, bias=bias), PASS_SOLVERS[name]
    state, rng = solver.start(problem), np.random.default_rng(0)
    for _ in range(60):
        solver.advance(problem, state, rng)
        if problem.certificate(state.at).relative_gap <= 1e-4:
            return
    raise AssertionError("60 steps were not enough")


def test_many_features_need_no_matrix(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.passes.newton.LARGEST_MATRIX", 3)
    X, y = overlapping(n=400)
    problem, solver = problem_on(MemoryRows(take(X), y), "logistic", 0.1), PASS_SOLVERS["newton"]
    state, rng = solver.start(problem), np.random.default_rng(0)
    for _ in range(30):
        assert solver.advance(problem, state, rng) is None
        if problem.certificate(state.at).relative_gap <= 1e-6:
            break
    assert not state.at.matrix.size
    assert problem.certificate(state.at).relative_gap <= 1e-6


def test_several_classes_share_the_passes(tmp_path):
    X, _ = raw(30_000)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 3], [1.0, 2.5])
    maxmargin.write(tmp_path / "rows.svm", X, y)
    result = streamed_by(tmp_path / "rows.svm", loss="squared_hinge", tol=1e-5, threads=2)
    assert result.status is Status.CONVERGED
    assert len(result.parts) == 3
    longest = max(len(part.history) for part in result.parts)
    assert result.model.training["passes"] <= 2 * longest + 4  # not the sum over the classes
    whole = maxmargin.train(tmp_path / "rows.svm", loss="squared_hinge", tol=1e-6)
    assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-5)


def test_weights_and_class_weights_from_disk(file):
    X, y = maxmargin.read(file)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    given = {"loss": "logistic", "class_weight": "balanced", "weights": weights, "tol": 1e-6}
    result = streamed_by(file, **given)
    whole = maxmargin.train(X, y, **given)
    assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=3e-6)
    named = streamed_by(file, loss="logistic", class_weight={1: 3.0}, tol=1e-6)
    assert named.certificate.primal == pytest.approx(
        maxmargin.train(X, y, loss="logistic", class_weight={1: 3.0}, tol=1e-6).certificate.primal, rel=3e-6
    )


@pytest.mark.parametrize("wrong", [np.ones(5), -np.ones(40_000), "text", np.ones((40_000, 2))])
def test_wrong_weights_are_refused(file, wrong):
    with pytest.raises((DataError, ParameterError), match="weight"):
        streamed_by(file, weights=wrong)


def test_a_warm_start_needs_fewer_passes(file):
    cold = streamed_by(file, loss="squared_hinge", tol=1e-6)
    warm = streamed_by(file, loss="squared_hinge", tol=1e-6, warm=cold)
    assert warm.model.training["passes"] < cold.model.training["passes"]
    with pytest.raises(ParameterError, match="they must agree"):
        streamed_by(file, loss="squared_hinge", warm=maxmargin.train([[0.0], [1.0]], [0, 1]))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_that_is_stopped_and_resumed_gives_the_same_model(file, tmp_path, loss):
    given = {"loss": loss, "tol": 1e-7, "checkpoint": tmp_path / "kept"}
    whole = streamed_by(file, loss=loss, tol=1e-7)
    stopped = streamed_by(file, callback=lambda record: record.epochs >= 3, **given)
    assert stopped.status is Status.INTERRUPTED
    resumed = streamed_by(file, resume=True, **given)
    assert resumed.status is Status.CONVERGED
    assert np.array_equal(resumed.model.w, whole.model.w)
    assert resumed.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-6)


def test_gradient_descent_that_is_stopped_and_resumed_gives_the_same_bits(file, tmp_path):
    given = {"loss": "logistic", "solver": "gradient_descent", "tol": 1e-12, "max_epochs": 12}
    whole = streamed_by(file, **given)
    kept = {**given, "checkpoint": tmp_path / "kept"}
    stopped = streamed_by(file, callback=lambda record: record.epochs >= 4, **kept)
    assert stopped.status is Status.INTERRUPTED
    assert np.array_equal(streamed_by(file, resume=True, **kept).model.w, whole.model.w)


@pytest.mark.parametrize("name", ["second_order", "interior_point"])
def test_every_step_after_a_checkpoint_has_the_bits_of_an_uninterrupted_run(tmp_path, name):
    maxmargin.write(tmp_path / "rows.svm", *raw(1500))
    solver = PASS_SOLVERS[name]

    def begun():
        return problem_on(FileRows(open_source(tmp_path / "rows.svm"), SMALL), "hinge", 2.0)

    for steps in range(1, 7):
        whole, rng = begun(), np.random.default_rng(0)
        state = solver.start(whole)
        for _ in range(steps):
            solver.advance(whole, state, rng)
        other = begun()
        arrays, numbers = solver.saved(whole, state)
        resumed = solver.restored(other, {key: value.copy() for key, value in arrays.items()}, numbers)
        for _ in range(3):
            assert whole.certificate(state.at) == other.certificate(resumed.at)
            assert np.array_equal(state.v, resumed.v)
            solver.advance(whole, state, rng)
            solver.advance(other, resumed, rng)


def test_ctrl_c_in_the_middle_of_a_pass_returns_the_best_model(file, monkeypatch):
    asked = []
    block_at = FileRows.parts

    def interrupting(self, block, names):
        asked.append(block.first)
        if len(asked) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return block_at(self, block, names)

    monkeypatch.setattr(FileRows, "parts", interrupting)
    result = streamed_by(file, loss="logistic", tol=1e-12)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.relative_gap < np.inf


def test_limits_end_a_run_with_a_model(file):
    short = streamed_by(file, loss="logistic", tol=1e-12, max_epochs=2)
    assert short.status is Status.EPOCH_LIMIT
    assert short.epochs <= 2
    assert np.isfinite(short.certificate.primal)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": np.inf}, r"C=inf \(lam=0\) is not for files that do not fit in memory"),
        ({"lam": 0.0}, r"C=inf \(lam=0\) is not for files that do not fit in memory"),
        ({"kernel": "gaussian"}, "kernel is not for files"),
        ({"solver": "newton", "loss": "hinge"}, "newton needs a smooth loss"),
        ({"solver": "newton", "loss": "logistic", "options": {"speed": 1}}, "no option 'speed'"),
    ],
)
def test_what_passes_cannot_do_is_refused(file, options, message):
    with pytest.raises((RefusedError, ParameterError), match=message):
        streamed_by(file, **options)


def test_dual_steps_that_are_too_slow_go_on_by_passes(tmp_path):
    X, y = raw(400)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    result = maxmargin.train(tmp_path / "rows.svm", solver="cached_loops", memory="8MB", threads=1)
    assert result.status is Status.CONVERGED
    assert result.solver in BY_MATRIX[False]
    assert "began with cached_loops" in result.why
    alone = maxmargin.train(
        tmp_path / "rows.svm", solver="cached_loops", memory="8MB", threads=1, max_epochs=200, options={"go_on": False}
    )
    assert alone.solver == "cached_loops"


def test_a_resumed_run_remembers_that_passes_went_on(tmp_path):
    X, y = raw(400)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    same = {"solver": "cached_loops", "memory": "8MB", "threads": 1, "checkpoint": tmp_path / "kept"}
    first = maxmargin.train(tmp_path / "rows.svm", **same)
    again = maxmargin.train(tmp_path / "rows.svm", resume=True, **same)
    assert again.solver == first.solver
    assert first.solver in BY_MATRIX[False]
    assert again.status is Status.CONVERGED
    assert again.epochs <= first.epochs
    third = maxmargin.train(tmp_path / "rows.svm", **same)  # from the start: its own checkpoint is replaced
    assert third.status is Status.CONVERGED


def test_a_file_that_changes_between_passes_is_refused(file, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(file.read_bytes())
    rows = FileRows(open_source(path), SMALL)
    problem_on(rows).evaluate(np.zeros(7))
    maxmargin.write(path, *raw(30_000, seed=1), force=True)
    with pytest.raises(maxmargin.errors.MaxmarginError, match="changed"):
        problem_on(rows).evaluate(np.zeros(7))


def test_too_little_memory_for_the_matrix_names_what_is_needed(tmp_path):
    rng = np.random.default_rng(0)
    X = 1000.0 * rng.normal(size=(700, 400))
    maxmargin.write(tmp_path / "wide.svm", X, np.where(X[:, 0] > 0, 1, -1))
    with pytest.raises(ParameterError, match=r"too little for the matrices of newton with 400 features: give at least"):
        maxmargin.train(tmp_path / "wide.svm", solver="newton", loss="logistic", memory="5MB")


def test_the_choice_is_made_once_by_the_first_rows(file, monkeypatch):
    chosen = []
    monkeypatch.setattr(
        streamed, "choose_for_files", lambda *given: chosen.append(given) or ("newton", "as the test says")
    )
    assert streamed_by(file, loss="logistic").why == "as the test says"
    assert len(chosen) == 1
