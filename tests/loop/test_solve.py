import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from problems import EVERY_LOSS, overlapping, posed

from maxmargin.errors import FileError
from maxmargin.loop import saving
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.saving import Keeping
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.solvers import SOLVERS
from maxmargin.status import ADVICE, SEVERITY, Status
from maxmargin.training.train import train


def slow_problem(bias="free", loss="hinge", n=3000, C=1e4):
    return posed(*overlapping(n=n, d=20, flip=0.3), C=C, bias=bias, loss=loss)


def run(problem, limits, **options):
    return solve(problem, SOLVERS["dual_pairs" if problem.bias == "free" else "dual_coordinate"], limits, **options)


def test_an_epoch_limit_returns_the_best_so_far_with_its_true_gap():
    problem = slow_problem()
    outcome = run(problem, Limits(tol=1e-9, max_epochs=3))
    assert outcome.status is Status.EPOCH_LIMIT
    assert 3 <= outcome.epochs < 4
    assert outcome.certificate.relative_gap > 1e-9
    margins = problem.y * (problem.rows.values @ outcome.w + outcome.b)
    assert outcome.certificate.primal == pytest.approx(problem.primal(outcome.w, outcome.b, margins), rel=1e-12)


def test_a_time_limit_returns_the_best_so_far():
    problem = slow_problem()
    run(problem, Limits(max_epochs=1))
    began = time.perf_counter()
    outcome = run(problem, Limits(tol=1e-15, max_seconds=0.2))
    assert outcome.status is Status.TIME_LIMIT
    assert time.perf_counter() - began < 5.0
    assert outcome.epochs > 0


def test_ctrl_c_returns_the_best_so_far():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    problem = slow_problem()
    run(problem, Limits(max_epochs=1))
    timer.start()
    with noticed() as interrupt:
        outcome = run(problem, Limits(tol=1e-15, max_seconds=60), interrupt=interrupt)
    timer.join()
    assert outcome.status is Status.INTERRUPTED
    assert outcome.certificate.relative_gap < 1.0


def test_a_second_ctrl_c_is_obeyed_at_once():
    def twice():
        with noticed():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)

    with pytest.raises(KeyboardInterrupt):
        twice()


def test_ctrl_c_works_as_before_after_training():
    before = signal.getsignal(signal.SIGINT)
    train(*overlapping())
    assert signal.getsignal(signal.SIGINT) is before


def test_training_outside_the_main_thread_works():
    found = []
    thread = threading.Thread(target=lambda: found.append(train(*overlapping())))
    thread.start()
    thread.join()
    assert found[0].status is Status.CONVERGED


def test_the_callback_sees_every_record_and_can_stop():
    seen = []
    outcome = run(slow_problem(), Limits(tol=1e-15), callback=lambda record: seen.append(record) or len(seen) == 4)
    assert outcome.status is Status.INTERRUPTED
    assert outcome.history[:4] == seen


def test_history_tells_of_a_best_that_never_gets_worse():
    history = run(slow_problem(C=10.0), Limits(tol=1e-3)).history
    gaps = [record.best.relative_gap for record in history]
    assert len(history) > 3
    assert all(later <= earlier for earlier, later in pairwise(gaps))
    assert all(record.best.primal <= record.certificate.primal for record in history)
    assert all(later.epochs > earlier.epochs for earlier, later in pairwise(history))


def test_a_tolerance_finer_than_rounding_ends_as_such_instead_of_running_for_ever():
    outcomes = [run(posed(*overlapping(n=1000, d=3, seed=seed)), Limits(tol=1e-30)) for seed in range(5)]
    assert {outcome.status for outcome in outcomes} == {Status.ROUNDING}
    assert all(outcome.certificate.relative_gap < 1e-9 for outcome in outcomes)


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", ["regularised", "free"])
def test_interrupted_and_resumed_is_uninterrupted(tmp_path, loss, bias, monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.base.WORK", 70 * 1111)  # stop in the middle of a sweep
    problem = slow_problem(bias, loss, C=1.0)
    keeping = Keeping(tmp_path / "run.checkpoint", resume=True)
    whole = run(problem, Limits(tol=1e-5))
    stops = 0
    for limit in (1.2, 2.5, 4.1, 7.7):
        stops += run(problem, Limits(tol=1e-5, max_epochs=limit), keeping=keeping).status is Status.EPOCH_LIMIT
    resumed = run(problem, Limits(tol=1e-5), keeping=keeping)
    assert stops >= 2
    assert np.array_equal(whole.w, resumed.w)
    assert np.array_equal(whole.alpha, resumed.alpha)
    assert (whole.b, whole.epochs, whole.certificate) == (resumed.b, resumed.epochs, resumed.certificate)


def test_resuming_a_finished_run_is_instant_and_a_finer_tolerance_goes_on(tmp_path):
    problem = slow_problem(C=1.0)
    keeping = Keeping(tmp_path / "run.checkpoint", resume=True)
    first = run(problem, Limits(tol=1e-2), keeping=keeping)
    again = run(problem, Limits(tol=1e-2), keeping=keeping)
    finer = run(problem, Limits(tol=1e-4), keeping=keeping)
    assert again.epochs == first.epochs
    assert np.array_equal(again.w, first.w)
    assert finer.epochs > first.epochs
    assert finer.certificate.relative_gap <= 1e-4


def test_checkpoints_are_written_while_training_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(saving, "SHARE", 0.0)
    path = tmp_path / "run.checkpoint"
    found = []
    run(slow_problem(), Limits(tol=1e-15, max_epochs=5), callback=lambda r: found.append(path.exists()) or False,
        keeping=Keeping(path))  # fmt: skip
    assert found[-1]


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    keeping = Keeping(tmp_path / "run.checkpoint", resume=True)
    run(slow_problem(C=1.0), Limits(tol=1e-2), keeping=keeping)
    with pytest.raises(FileError, match="of another run: C was"):
        run(slow_problem(C=2.0), Limits(tol=1e-2), keeping=keeping)
    with pytest.raises(FileError, match="of another run: loss was 'hinge', now 'logistic'"):
        run(slow_problem(C=1.0, loss="logistic"), Limits(tol=1e-2), keeping=keeping)
    with pytest.raises(FileError, match="of another run: seed was 0, now 5"):
        run(slow_problem(C=1.0), Limits(tol=1e-2), seed=5, keeping=keeping)


def test_without_resume_a_checkpoint_is_begun_anew(tmp_path):
    path = tmp_path / "run.checkpoint"
    run(slow_problem(C=1.0), Limits(tol=1e-2), keeping=Keeping(path))
    outcome = run(slow_problem(C=1.0), Limits(tol=1e-2), keeping=Keeping(path))
    assert outcome.status is Status.CONVERGED
    with pytest.raises(FileError, match="of another run: C was"):
        run(slow_problem(C=2.0), Limits(tol=1e-2), keeping=Keeping(path))
    outcome = run(slow_problem(C=2.0), Limits(tol=1e-2), keeping=Keeping(path, force=True))
    assert outcome.status is Status.CONVERGED


def test_a_run_stops_at_the_tolerance_that_was_asked_for():
    loose, tight = (run(posed(*overlapping(n=30, d=3)), Limits(tol=tol)) for tol in (0.1, 1e-10))
    assert 1e-4 < loose.certificate.relative_gap <= 0.1
    assert tight.certificate.relative_gap <= 1e-10
    assert loose.epochs < tight.epochs / 2


def test_every_status_has_advice_and_a_severity():
    assert set(ADVICE) == set(Status) == set(SEVERITY)
    assert all(status.advice.endswith(".") for status in Status)


class Boaster(type(SOLVERS["dual_coordinate"])):
    """It always thinks that it has arrived."""

    def advance(self, problem, state, rng):
        super().advance(problem, state, rng)
        state.estimate = 0.0


def test_no_run_ends_on_what_a_solver_thinks_of_itself():
    problem = slow_problem(bias="none", C=1.0)
    outcome = solve(problem, Boaster(), Limits(tol=1e-6))
    assert outcome.status is Status.CONVERGED
    assert outcome.certificate.relative_gap <= 1e-6
    assert outcome.epochs > 3


def test_a_solver_that_can_tell_the_gap_is_certified_seldom_but_not_late():
    problem = slow_problem(bias="none", C=1.0, n=20_000)
    seldom, often = (
        solve(problem, SOLVERS["dual_coordinate"], Limits(tol=1e-6), watch=w) for w in (None, lambda *_: None)
    )
    assert len(seldom.history) < 0.5 * len(often.history)
    assert seldom.epochs < 1.3 * often.epochs
