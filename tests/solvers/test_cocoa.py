"""CoCoA+ over the partitions of an executor: the optimum, true certificates, and partitions that are lost."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from exact import linear_dual, linear_primal
from problems import overlapping, posed, reference_optimum

import maxmargin
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.reduction import PassStoppedError, in_a_tree, together
from maxmargin.data.take import take
from maxmargin.errors import RefusedError
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Point
from maxmargin.problems.evaluation import TwoClasses
from maxmargin.problems.losses import find_loss
from maxmargin.solvers import PASS_SOLVERS

LOSSES = ("hinge", "squared_hinge", "logistic")
BIASES = ("none", "regularised", "free")


class Partitions:
    """Several executors as one, each of which is a local problem."""

    threads = 1

    def __init__(self, X, y, count, weights=None):
        ends = np.linspace(0, len(y), count + 1).astype(int)
        some = [slice(start, stop) for start, stop in pairwise(ends)]
        self.parts = [MemoryRows(take(X[own]), y[own], None if weights is None else weights[own]) for own in some]
        self.facts = together([one.facts for one in self.parts])
        self.ends = ends

    def reduce(self, passes, stop=None):
        found = []
        for one in self.parts:
            if stop is not None and stop():
                raise PassStoppedError
            found.append(one.reduce(passes))
        return [in_a_tree([totals[k] for totals in found]) for k in range(len(passes))]

    def keep(self, name, copy):
        for one in self.parts:
            one.keep(name, copy)

    def vector(self, name):
        return np.concatenate([one.vector(name) for one in self.parts])

    def put(self, name, values):
        for one, (start, stop) in zip(self.parts, pairwise(self.ends), strict=True):
            one.put(name, values[start:stop])


def problem_on(rows, loss="hinge", C=1.0, bias="free", **more):
    return PassProblem(rows, TwoClasses(find_loss(loss), C, 1), bias, **more)


def sparse(n=300, d=400, seed=0):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random(n, d, 0.05, format="csr", random_state=seed)
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1, -1)


def rounds_to(tol, problem, state, rng, most=300):
    """Make rounds until the best primal and the best dual value so far, as the loop keeps them, are close enough."""
    solver, primal, dual = PASS_SOLVERS["cocoa"], np.inf, 0.0
    for number in range(1, most):
        solver.advance(problem, state, rng)
        found = problem.certificate(state.at)
        primal, dual = min(primal, found.primal), max(dual, found.dual)
        if primal - dual <= tol * primal:
            return number, primal, dual
    raise AssertionError(f"the gap is {1 - dual / primal:.1e} after {most} rounds")


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_that_of_an_independent_reference(loss, bias, count):
    X, y = overlapping(n=200)
    problem = problem_on(Partitions(X, y, count), loss, 0.7, bias)
    state = PASS_SOLVERS["cocoa"].start(problem)
    _, primal, dual = rounds_to(1e-3, problem, state, np.random.default_rng(0))
    best = reference_optimum(posed(X, y, loss=loss, C=0.7, bias=bias), X)
    assert dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= primal <= best * (1 + 2e-3)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_wide_sparse_rows_take_few_rounds(loss, bias):
    problem = problem_on(Partitions(*sparse(), 4), loss, 1.0, bias)
    state = PASS_SOLVERS["cocoa"].start(problem)
    assert rounds_to(1e-3, problem, state, np.random.default_rng(0))[0] <= 60


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_certificate_is_true_in_exact_arithmetic_also_after_losses(loss, bias):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.uniform(-1, 1, 3)
    y = np.where(rng.normal(size=40) > 0, 1, -1)
    weights = rng.uniform(0.1, 3.0, 40) * (np.arange(40) != 7)
    rows = Partitions(X, y, 3, weights)
    problem, solver = problem_on(rows, loss, 0.3, bias), PASS_SOLVERS["cocoa"]
    state = solver.start(problem)
    for number in range(12):
        if number in (4, 7):  # lost, and an older alpha comes back with no step
            older = rows.parts[1].vector("alpha ").copy()
        if number in (5, 9):
            rows.parts[1].vectors.clear()
            rows.parts[1].put("alpha ", older)
        solver.advance(problem, state, rng)
        problem.dual_point = None
        found = problem.certificate(state.at)
        v = state.at.v
        model = type("Model", (), {"w": v[None, :3], "b": v[3:], "centre": None, "d": 3})
        C = 0.3 * weights
        assert linear_primal(model, X, y, C, loss, bias) <= Fraction(found.primal)
        if found.dual > 0:
            signed = problem.best_dual()
            assert np.all(signed * y >= 0)
            counted = C > 0  # the dual terms of rows without weight are 0
            alpha = np.abs(signed)[counted]
            assert linear_dual(alpha, X[counted], y[counted], C[counted], loss, bias) >= Fraction(found.dual)


def test_a_lost_partition_costs_rounds_and_no_certificate():
    X, y = sparse()
    rows = Partitions(X, y, 3)
    problem, rng = problem_on(rows), np.random.default_rng(0)
    state = PASS_SOLVERS["cocoa"].start(problem)
    for _ in range(5):
        PASS_SOLVERS["cocoa"].advance(problem, state, rng)
    before = problem.certificate(state.at).dual
    rows.parts[2].vectors.clear()
    PASS_SOLVERS["cocoa"].advance(problem, state, rng)
    assert problem.certificate(state.at).dual < before
    rounds_to(1e-3, problem, state, rng)


def test_the_same_partitions_and_seed_give_the_same_bits():
    points = []
    for _ in range(2):
        problem, rng = problem_on(Partitions(*sparse(), 3)), np.random.default_rng(5)
        state = PASS_SOLVERS["cocoa"].start(problem)
        rounds_to(1e-2, problem, state, rng)
        points.append(state.v)
    assert points[0].tobytes() == points[1].tobytes()


def test_a_restored_state_goes_on_with_the_same_bits():
    solver, rng = PASS_SOLVERS["cocoa"], np.random.default_rng(5)
    problem = problem_on(Partitions(*sparse(), 3))
    state = solver.start(problem)
    for _ in range(6):
        solver.advance(problem, state, rng)
    arrays, numbers = solver.saved(problem, state)
    arrays = {name: values.copy() for name, values in arrays.items()}
    other = problem_on(Partitions(*sparse(), 3))
    again = solver.restored(other, arrays, numbers)
    seed = rng.bit_generator.state
    solver.advance(problem, state, rng)
    rng.bit_generator.state = seed
    solver.advance(other, again, rng)
    assert state.v.tobytes() == again.v.tobytes()
    with pytest.raises(ValueError, match="alpha has the type"):
        solver.restored(other, {**arrays, "alpha": arrays["alpha"][:-1]}, numbers)
    with pytest.raises(ValueError, match="sigma 0"):
        solver.restored(other, arrays, {**numbers, "sigma": 0.0})


def test_a_round_that_is_stopped_leaves_a_feasible_alpha():
    rows, rng, asked = Partitions(*sparse(), 3), np.random.default_rng(0), []
    problem = problem_on(rows, stop=lambda: asked.append(1) or len(asked) == 12)
    state = PASS_SOLVERS["cocoa"].start(problem)
    with pytest.raises(PassStoppedError):
        rounds_to(1e-9, problem, state, rng)
    rounds_to(1e-3, problem, state, rng)
    assert np.max(np.abs(rows.vector("alpha "))) <= 1.0


def test_a_second_problem_on_the_same_rows_begins_anew():
    rows = Partitions(*sparse(), 2)
    for C in (10.0, 0.01):
        problem = problem_on(rows, C=C)
        state = PASS_SOLVERS["cocoa"].start(problem)
        rounds_to(1e-3, problem, state, np.random.default_rng(0))
        assert np.max(np.abs(rows.vector("alpha "))) <= C


def test_a_warm_start_is_evaluated_first():
    problem = problem_on(Partitions(*sparse(), 2))
    state = PASS_SOLVERS["cocoa"].start(problem)
    rounds_to(1e-3, problem, state, np.random.default_rng(0))
    primal, point = problem.certificate(state.at).primal, Point(state.at.v[:-1], float(state.at.v[-1]))
    warm = PASS_SOLVERS["cocoa"].start(problem, point)
    PASS_SOLVERS["cocoa"].advance(problem, warm, np.random.default_rng(0))
    assert problem.certificate(warm.at).primal == primal
    rounds_to(1e-3, problem, warm, np.random.default_rng(0))


def test_rows_in_memory_are_refused_with_a_way_out():
    with pytest.raises(RefusedError, match="cocoa is for rows on a cluster: give client, or use solver='dual_coord"):
        maxmargin.train(*sparse(), solver="cocoa")
