"""A run whose solver stalls or is too slow goes on with another, in the same way whether interrupted or not."""

from dataclasses import dataclass

import numpy as np
import pytest
from problems import overlapping, posed, timestamps
from scipy import sparse

import maxmargin
from maxmargin.choose import Auto, choose
from maxmargin.errors import FileError
from maxmargin.loop.saving import Keeping
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.loop.succession import Fallback
from maxmargin.solvers import SOLVERS
from maxmargin.status import Status

SLOW = SOLVERS["dual_coordinate"]


@dataclass(frozen=True)
class AfterEpochs:
    """Go on with second_order after 20 epochs of the first solver."""

    def follower(self, problem, tried):
        return SOLVERS["second_order"] if len(tried) == 1 else None

    def too_slow(self, problem, tried, epochs, left, gap):
        return len(tried) == 1 and epochs >= 20.0


def crawling(bias="none"):
    return posed(*overlapping(n=2500, d=8), C=1e4, bias=bias)


@pytest.mark.parametrize("bias", ["none", "free"])
def test_a_slow_solver_is_replaced_and_the_run_converges(bias):
    problem = crawling(bias)
    seen = []
    outcome = solve(problem, SLOW, Limits(tol=1e-6), succession=AfterEpochs(), callback=seen.append)
    assert outcome.status is Status.CONVERGED
    assert outcome.solvers == ("dual_coordinate", "second_order")
    epochs = [record.epochs for record in outcome.history]
    assert epochs == sorted(epochs)
    assert outcome.epochs == epochs[-1] > 20.0
    seconds = [record.seconds for record in outcome.history]
    assert seconds == sorted(seconds)
    assert outcome.seconds >= seconds[-1]
    assert set(seen) <= set(outcome.history)


@pytest.mark.parametrize("limit", [5, 21, 24, 30, 35])
def test_stopped_and_resumed_across_a_change_is_uninterrupted(tmp_path, limit):
    problem, keeping = crawling(), Keeping(tmp_path / "run.checkpoint", resume=True)
    whole = solve(problem, SLOW, Limits(tol=1e-7), succession=AfterEpochs())
    part = solve(problem, SLOW, Limits(tol=1e-7, max_epochs=limit), succession=AfterEpochs(), keeping=keeping)
    assert part.status is Status.EPOCH_LIMIT
    assert part.epochs <= limit
    resumed = solve(problem, SLOW, Limits(tol=1e-7), succession=AfterEpochs(), keeping=keeping)
    assert np.array_equal(whole.w, resumed.w)
    assert np.array_equal(whole.alpha, resumed.alpha)
    assert (whole.epochs, whole.certificate, whole.solvers) == (resumed.epochs, resumed.certificate, resumed.solvers)
    assert [record.epochs for record in whole.history] == [record.epochs for record in resumed.history]


def test_a_checkpoint_after_a_change_is_refused_without_the_succession(tmp_path):
    problem, keeping = crawling(), Keeping(tmp_path / "run.checkpoint", resume=True)
    solve(problem, SLOW, Limits(tol=1e-7), succession=AfterEpochs(), keeping=keeping)
    with pytest.raises(FileError, match="went on with 'second_order': resume with solver='auto'"):
        solve(problem, SLOW, Limits(tol=1e-7), keeping=keeping)


def test_auto_says_that_it_changed_the_solver(monkeypatch):
    monkeypatch.setattr("maxmargin.training.linear.choose", lambda problem: ("dual_coordinate", "for the test"))
    X, y = overlapping(n=6000, d=10)
    result = maxmargin.train(X, y, C=1e4, bias="none")
    assert result.status is Status.CONVERGED
    assert result.why.startswith("for the test; began with dual_coordinate; its gap shrank too slowly, went on with ")


def test_a_named_solver_is_kept():
    X, y = overlapping(n=3000, d=10)
    result = maxmargin.train(X, y, C=1e4, bias="none", solver="dual_coordinate", max_epochs=100)
    assert result.parts[0].solvers == ("dual_coordinate",)


def test_a_run_that_no_solver_can_finish_ends_early():
    assert not Auto().too_slow(crawling(), ("interior_point",), 1.0, 1e9, 0.5)
    tried = ("dual_coordinate", "second_order", "interior_point", "dual_coordinate")
    assert Auto().follower(crawling(), tried) is None
    assert Auto().too_slow(crawling(), tried, 300.0, 1e9, 0.5)

    class Crawls(Fallback):
        def too_slow(self, problem, tried, epochs, left, gap):
            return True

    outcome = solve(crawling(), SLOW, Limits(tol=1e-9), succession=Crawls(SLOW))
    assert outcome.status is Status.STALLED
    assert outcome.advice


@pytest.mark.parametrize(
    ("n", "d", "loss", "C", "solver"),
    [(20_000, 10, "squared_hinge", 100.0, "newton"), (20_000, 10, "hinge", 100.0, "second_order"),
     (2500, 3000, "hinge", 1.0, "dual_coordinate"), (2500, 3000, "logistic", 100.0, "dual_coordinate"),
     (20_000, 10, "hinge", 1e-3, "dual_coordinate")],
)  # fmt: skip
def test_the_choice_goes_by_the_estimated_cost(n, d, loss, C, solver):
    assert choose(posed(*overlapping(n=n, d=d), loss=loss, C=C, bias="none"))[0] == solver


def test_dual_steps_go_on_where_newton_takes_more_steps_than_usual():
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 180)) < 0.25).astype(float)
    scores = X @ rng.normal(size=180)
    separable = np.where(scores > np.median(scores), 1, -1)
    result = maxmargin.train(sparse.csr_matrix(X), separable, loss="squared_hinge", C=100.0, bias="none")
    assert result.status is Status.CONVERGED
    assert result.parts[0].solvers == ("newton", "dual_coordinate")
    flipped = np.where(rng.random(2000) < 0.2, -separable, separable)
    result = maxmargin.train(sparse.csr_matrix(X), flipped, loss="squared_hinge", C=100.0, bias="none")
    assert result.status is Status.CONVERGED
    assert result.parts[0].solvers in ((), ("newton",))


def test_another_solver_goes_on_where_rounding_ends_the_first():
    X, y = timestamps(25)  # rounding depends on the BLAS of the machine: for seed 20 too much of it is left on some
    result = maxmargin.train(X, y, C=1e6, bias="none", threads=1)
    assert result.parts[0].solvers[-1] == "interior_point"
    assert result.status is Status.CONVERGED
