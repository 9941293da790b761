"""A sweep shared by threads: nothing is lost between them, σ keeps their steps from adding up to too much."""

import multiprocessing

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping, posed

from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import primal_of
from maxmargin.solvers import SOLVERS, find_solver
from maxmargin.solvers.parts import cocoa as sharing
from maxmargin.system.threads import on_threads

SOLVER = SOLVERS["dual_coordinate"]


@pytest.fixture(autouse=True)
def share_everything(monkeypatch):
    monkeypatch.setattr(sharing, "ROUND", 40)
    monkeypatch.setattr(sharing, "MERGE", 0)


def after_sweeps(problem, sweeps=6, solver=SOLVER):
    state, rng = solver.start(problem), np.random.default_rng(0)
    for _ in range(sweeps):
        solver.advance(problem, state, rng)
    return state


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_nothing_is_lost_between_threads(threads, loss, bias):
    problem = posed(*overlapping(n=200, d=4), loss=loss, bias=bias, threads=threads)
    state = after_sweeps(problem)
    w, _ = primal_of(problem, state.alpha)
    np.testing.assert_allclose(state.w, w, atol=1e-9)
    np.testing.assert_allclose(state.balance, np.sum(state.alpha * problem.y), atol=1e-9)
    kept = state.order[: state.kept]
    assert len(set(kept)) == len(kept)
    assert set(np.flatnonzero((state.alpha > 0) & (state.alpha < problem.dual_term.U))) <= set(kept)


def test_every_example_is_visited_once():
    edges = sharing.edges_of_parts(5, 105, 3, 4)
    visited = [i for part in edges for r in range(4) for i in range(part[r], part[r + 1])]
    assert sorted(visited) == list(range(5, 105))


def test_the_same_threads_give_the_same_bits():
    problem = posed(*overlapping(n=300, d=4), threads=2)
    first, second = after_sweeps(problem), after_sweeps(problem)
    np.testing.assert_array_equal(first.alpha, second.alpha)
    np.testing.assert_array_equal(first.w, second.w)


def test_draws_are_not_shared_since_two_threads_could_meet_at_one_example():
    X, y = overlapping(n=300, d=4)
    solver = find_solver("dual_coordinate", {"sampling": "uniform"})
    one, two = (after_sweeps(posed(X, y, threads=threads), solver=solver) for threads in (1, 2))
    np.testing.assert_array_equal(one.alpha, two.alpha)
    np.testing.assert_array_equal(one.w, two.w)


@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_examples_all_alike_are_certified_too(bias):
    """Steps of all threads in one direction: added without σ they would overshoot for ever."""
    X = np.ones((400, 3)) + 1e-3 * np.random.default_rng(0).normal(size=(400, 3))
    y = np.where(np.arange(400) % 3 > 0, 1.0, -1.0)
    problem = posed(X, y, bias=bias, threads=4, C=0.1)
    assert after_sweeps(problem).sigma > 1.5
    assert solve(problem, SOLVER, Limits(tol=1e-4, max_epochs=3000)).certificate.relative_gap <= 1e-4


def test_rows_at_right_angles_leave_sigma_at_1():
    X = np.kron(np.eye(40), np.ones((5, 1)))
    problem = posed(X, np.where(np.arange(200) % 5 > 1, 1.0, -1.0), bias="none", threads=2)
    state, rng = SOLVER.start(problem), np.random.default_rng(0)
    state.order, state.full = np.arange(200), True
    SOLVER.advance(problem, state, rng)
    assert state.sigma < 1.5


def add_up(queue):
    total = np.zeros(4)
    on_threads(2, lambda k: total.__setitem__(k, 1.0), range(4))
    queue.put(float(total.sum()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_work_in_a_child_that_was_forked():
    on_threads(2, lambda k: None, range(4))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=add_up, args=(queue,))
    child.start()
    assert queue.get(timeout=30) == 4.0
    child.join()
