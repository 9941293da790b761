"""Passes that are stopped, fail or go on from other solvers lose nothing and claim nothing that is false."""

import threading

import numpy as np
import pytest
from problems import overlapping

import maxmargin
from maxmargin.data.file_rows import FileRows
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.open_source import open_source
from maxmargin.data.take import take
from maxmargin.errors import MaxmarginError, StoppedWhileReadingError
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import TwoClasses
from maxmargin.problems.losses import find_loss
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.solvers.passes.interior_point import names_of
from maxmargin.solvers.passes.interior_rows import MoveInside, Step
from maxmargin.status import Status
from maxmargin.system.budget import Budget
from maxmargin.training import streamed

FROM_DISK = {"memory": "6MB", "threads": 1}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6)) * np.array([1.0, 30.0, 1000.0, 0.1, 5.0, 200.0])
    path = tmp_path_factory.mktemp("stopped") / "raw.svm"
    maxmargin.write(path, X, np.where(X @ (1.0 / X.std(axis=0)) + rng.normal(size=len(X)) > 0, 1, -1))
    return path


def problem_on(X, y, bias="free", loss="hinge"):
    return PassProblem(MemoryRows(take(X), y), TwoClasses(find_loss(loss), 0.7, 1), bias)


def test_rows_that_are_placed_in_mid_step_stay_inside_their_box():
    """The vectors of a partition that is made again on another worker are 0; the step was found without it."""
    X, y = overlapping(n=60, d=3)
    problem = problem_on(X, y)
    size, others = 4, names_of(problem, 1)
    step = Step(np.full(size, 50.0), np.full(size, 80.0), 0.1)
    problem.run(
        MoveInside(
            problem.problem,
            np.ones(size),
            multipliers=others.alpha,
            epsilon=np.inf,
            names=names_of(problem, 0),
            others=others,
            moved=step,
            before=np.zeros(size),
            length=1.0,
        )
    )
    alpha = problem.rows.vector(others.alpha) * y
    assert np.all((alpha > 0.0) & (alpha < 0.7))
    assert np.all(problem.rows.vector(others.room) > 0.0)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "second_order", "cocoa"])
def test_a_warm_start_with_a_bias_gives_none_to_a_problem_without(raw, solver):
    first = maxmargin.train(raw, loss="squared_hinge", bias="free", solver="newton", **FROM_DISK)
    assert first.parts[0].b != 0.0
    given = {"loss": "squared_hinge", "bias": "none", "solver": solver, "max_epochs": 60, **FROM_DISK}
    warm = maxmargin.train(raw, warm=first, **given)
    assert warm.parts[0].b == 0.0
    best = maxmargin.train(raw, loss="squared_hinge", bias="none", solver="newton", tol=1e-8, **FROM_DISK)
    assert warm.certificate.primal >= best.certificate.dual
    assert warm.certificate.dual <= best.certificate.primal


def test_the_model_of_dual_steps_is_kept_if_passes_are_stopped_while_reading(raw, monkeypatch):
    def stopped(*_, **__):
        raise StoppedWhileReadingError("stopped", interrupted=True)

    monkeypatch.setattr(streamed, "fit_files_by_passes", stopped)
    result = maxmargin.train(raw, solver="cached_loops", **FROM_DISK)
    assert result.status is Status.INTERRUPTED
    assert np.any(result.model.w)
    assert result.certificate.relative_gap < 1.0


def test_dual_steps_do_not_replace_the_checkpoint_of_another_run_by_passes(raw, tmp_path):
    kept = tmp_path / "kept"
    maxmargin.train(raw, solver="second_order", C=1.0, checkpoint=kept, **FROM_DISK)
    before = kept.read_bytes()
    with pytest.raises(MaxmarginError, match="another run"):
        maxmargin.train(raw, solver="cached_loops", C=0.01, checkpoint=kept, **FROM_DISK)
    assert kept.read_bytes() == before


def test_an_error_of_one_class_ends_the_passes_of_all(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 300))
    maxmargin.write(tmp_path / "classes.svm", X, np.argmax(X[:, :5], axis=1))
    found = []

    def failing(record):
        raise ZeroDivisionError("the callback fails")

    def train():
        try:
            maxmargin.train(
                tmp_path / "classes.svm", loss="squared_hinge", solver="newton", memory="8MB", callback=failing
            )
        except ZeroDivisionError as error:
            found.append(error)

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    thread.join(60.0)
    assert not thread.is_alive()
    assert found


def test_a_run_that_its_solver_has_ended_can_be_resumed(raw, tmp_path):
    given = {"loss": "squared_hinge", "solver": "lbfgs", "checkpoint": tmp_path / "kept", **FROM_DISK}
    first = maxmargin.train(raw, tol=1e-15, **given)
    assert first.status in (Status.STALLED, Status.ROUNDING)
    again = maxmargin.train(raw, tol=1e-15, resume=True, **given)
    assert again.status is first.status
    assert again.certificate.primal == pytest.approx(first.certificate.primal, rel=1e-12)
    met = maxmargin.train(raw, tol=10.0 * first.certificate.relative_gap, resume=True, **given)
    assert met.status in (Status.CONVERGED, first.status)


def test_the_dual_variables_are_none_if_a_worker_took_them_with_it():
    X, y = overlapping(n=80, d=3)
    problem, solver = problem_on(X, y), PASS_SOLVERS["interior_point"]
    state, rng = solver.start(problem), np.random.default_rng(0)
    for _ in range(12):
        solver.advance(problem, state, rng)
        problem.certificate(state.at)
    assert np.any(problem.best_dual())
    problem.rows.restored = [0]
    assert not np.any(problem.best_dual())
    assert problem.rows.restored == []


def test_a_sample_is_no_larger_than_asked(raw):
    rows = FileRows(open_source(raw), Budget(6_000_000))
    assert len(rows.sample(100, np.random.default_rng(0)).labels) == 100
    assert len(rows.sample(10**9, np.random.default_rng(0)).labels) > 1000


def test_hinge_with_weights_on_a_wide_file_is_trained_by_cocoa(tmp_path):
    rng = np.random.default_rng(0)
    columns, values = rng.integers(0, 5000, (20_000, 30)), rng.normal(size=(20_000, 30))
    y = np.where(values[:, 0] + rng.normal(size=20_000) > 0, 1, -1)
    lines = (
        " ".join([str(label), *(f"{c + 1}:{v:.3f}" for c, v in sorted(dict(zip(row, own, strict=True)).items()))])
        for label, row, own in zip(y, columns, values, strict=True)
    )
    (tmp_path / "wide.svm").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "weights.npy", rng.uniform(0.5, 1.5, 20_000))
    result = maxmargin.train(
        tmp_path / "wide.svm", C=0.01, weights=tmp_path / "weights.npy", tol=1e-2, memory="8MB", threads=1
    )
    assert (result.solver, result.status) == ("cocoa", Status.CONVERGED)
