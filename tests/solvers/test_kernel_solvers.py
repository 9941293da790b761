"""The solvers of the lectures with a kernel: the taught SMO and Pegasos."""

import numpy as np
import pytest
from problems import overlapping
from sklearn import svm

import maxmargin
from maxmargin import ParameterError, RefusedError
from maxmargin.data.take import take
from maxmargin.kernels.functions import Gaussian
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.formulations import c_svc
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers import KERNEL_SOLVERS, find_solver

X, y = overlapping(n=80, d=3)
GAUSSIAN = {"kernel": "gaussian", "gamma": 0.5}


def test_the_taught_smo_agrees_with_libsvm_on_a_gaussian():
    result = maxmargin.train(X, y, C=2.0, solver="smo_simple", tol=1e-7, **GAUSSIAN)
    reference = svm.SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X, y)
    assert result.solver == "smo_simple"
    assert result.certificate.relative_gap <= 1e-7
    assert result.model.decide(X) == pytest.approx(reference.decision_function(X), abs=1e-3)


@pytest.mark.parametrize(("solver", "bias"), [("smo_simple", "free"), ("pegasos", "none")])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_kernel_takes_the_steps_of_the_linear_solver(solver, bias, weighted):
    """The same seed visits the same examples: after three epochs the dual variables are the same."""
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    settings = {"C": 0.7, "bias": bias, "solver": solver, "weights": weights, "tol": 1e-12, "max_epochs": 3, "seed": 4}
    linear, kernel = (maxmargin.train(X, y, kernel=k, **settings) for k in (None, "linear"))
    assert kernel.certificate.primal == pytest.approx(linear.certificate.primal, rel=1e-9)
    assert kernel.certificate.dual == pytest.approx(linear.certificate.dual, rel=1e-9)


@pytest.mark.parametrize("batch", [1, 7, 80])
def test_pegasos_gets_near_to_smo(batch):
    settings = {"C": 1.0, "bias": "none", **GAUSSIAN}
    ours = maxmargin.train(X, y, solver="pegasos", options={"batch": batch}, tol=2e-2, max_epochs=2000, **settings)
    best = maxmargin.train(X, y, tol=1e-8, **settings)
    assert ours.certificate.relative_gap <= 2e-2
    assert ours.certificate.dual <= best.certificate.primal * (1 + 1e-9)
    assert ours.certificate.primal >= best.certificate.dual * (1 - 1e-9)


@pytest.mark.parametrize(("name", "bias"), [("smo_simple", "free"), ("pegasos", "none")])
def test_the_scores_that_a_solver_keeps_are_those_of_its_point(name, bias):
    problem = KernelProblem(take(X), Gaussian(0.5), c_svc(y, np.full(len(y), 2.0), bias))
    solver, rng = KERNEL_SOLVERS[name], np.random.default_rng(0)
    state = solver.start(problem)
    for _ in range(5):
        solver.advance(problem, state, rng)
    scale = 1.0 if name == "smo_simple" else state.t
    assert state.f == pytest.approx(scale * problem.scores(solver.point(problem, state).alpha), abs=1e-9)


@pytest.mark.parametrize(("name", "bias"), [("smo_simple", "free"), ("pegasos", "none")])
def test_the_same_seed_gives_the_same_bits_also_after_a_pause(name, bias, tmp_path):
    settings = {"C": 1.0, "bias": bias, "solver": name, "tol": 1e-12, **GAUSSIAN}
    whole, again = (maxmargin.train(X, y, max_epochs=9, **settings) for _ in range(2))
    assert np.array_equal(whole.alpha, again.alpha)
    kept = tmp_path / "run"
    maxmargin.train(X, y, max_epochs=4, checkpoint=kept, **settings)
    resumed = maxmargin.train(X, y, max_epochs=9, checkpoint=kept, resume=True, **settings)
    assert np.array_equal(whole.alpha, resumed.alpha)


def test_what_they_cannot_do_is_said():
    with pytest.raises(RefusedError, match=r"pegasos has no step for a free bias \(bias='none' it can do\): use .*smo"):
        maxmargin.train(X, y, solver="pegasos", **GAUSSIAN)
    with pytest.raises(RefusedError, match="smo_simple keeps Σ αy at 0"):
        maxmargin.train(X, y, solver="smo_simple", bias="none", **GAUSSIAN)
    with pytest.raises(RefusedError, match="dual_coordinate has no step for kernels: use solver='smo'"):
        maxmargin.train(X, y, solver="dual_coordinate", **GAUSSIAN)
    with pytest.raises(RefusedError, match="smo_simple needs a kernel that is positive semidefinite, and Sigmoid"):
        maxmargin.train(X, y, solver="smo_simple", kernel="sigmoid")
    with pytest.raises(ParameterError, match="pegasos has no option 'project': its options are batch"):
        maxmargin.train(X, y, solver="pegasos", options={"project": True}, bias="none", **GAUSSIAN)
    with pytest.raises(ParameterError, match="batch=81 must be from 1 to 80"):
        maxmargin.train(X, y, solver="pegasos", options={"batch": 81}, bias="none", **GAUSSIAN)
    with pytest.raises(ParameterError, match="batch=0 must be"):
        find_solver("pegasos", {"batch": 0}, kernel=True)


def test_few_rows_of_the_kernel_are_enough(monkeypatch):
    """Rows are computed again when no more can be held, and nothing else changes."""
    rows, formulation = take(X), c_svc(y, np.full(len(y), 2.0))
    monkeypatch.setattr("maxmargin.kernels.held_rows.FEWEST", 4)
    many, few = (
        solve(
            KernelProblem(rows, Gaussian(0.5), formulation, cache), KERNEL_SOLVERS["smo_simple"], Limits(max_epochs=5)
        )
        for cache in (None, 1.0)
    )
    assert np.array_equal(few.alpha, many.alpha)
