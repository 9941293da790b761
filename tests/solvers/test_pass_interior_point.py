"""The interior-point method by passes: three passes for each step, its point in vectors of the executor."""

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
from maxmargin.errors import RefusedError
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import TwoClasses
from maxmargin.problems.losses import find_loss
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.solvers.passes.interior_point import PassInteriorPoint, names_of
from maxmargin.solvers.passes.interior_rows import LONGEST, count, histogram, least_length
from maxmargin.status import Status
from maxmargin.system.budget import Budget

BIASES = ("none", "regularised", "free")
SOLVER = PASS_SOLVERS["interior_point"]


def few_rows(n=200, d=40, seed=0):
    """Raw columns and few rows for each feature, where augmented Lagrangians need many passes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    return X, np.where(rng.normal(size=n) + X[:, 0] / X[:, 0].std() > 0, 1, -1)


def problem_on(rows, C=0.7, bias="free", **more):
    return PassProblem(rows, TwoClasses(find_loss("hinge"), C, 1), bias, **more)


def advanced(problem, tol, most=40):
    """Advance until the gap is small; return the state and the number of steps."""
    state, rng = SOLVER.start(problem), np.random.default_rng(0)
    for steps in range(1, most + 1):
        assert SOLVER.advance(problem, state, rng) is None
        if problem.certificate(state.at).relative_gap <= tol:
            return state, steps
    raise AssertionError(f"{most} steps were not enough")


@pytest.mark.parametrize("bias", BIASES)
def test_the_optimum_is_that_of_an_independent_reference(tmp_path, bias):
    X, y = overlapping(n=300)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    problem = problem_on(FileRows(open_source(tmp_path / "rows.svm"), Budget(6_000_000)), bias=bias)
    state, _ = advanced(problem, 1e-7)
    best = reference_optimum(posed(X, y, loss="hinge", C=0.7, bias=bias), X)
    found = problem.certificate(state.at)
    assert problem.value(state.at) == pytest.approx(best, rel=1e-5)
    assert found.dual <= best * (1 + 1e-6)
    assert found.primal >= best * (1 - 1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("bias", BIASES)
def test_few_rows_for_each_feature_and_raw_columns_need_few_steps(bias, C):
    X, y = few_rows()
    _, steps = advanced(problem_on(MemoryRows(take(X), y), C, bias), 1e-6)
    assert steps <= 25


@pytest.mark.parametrize("bias", BIASES)
def test_certificates_of_all_steps_are_true_in_exact_arithmetic(bias):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.uniform(-3, 3, 3)
    y = np.where(rng.normal(size=40) > 0, 1, -1)
    weights = rng.uniform(0.1, 3.0, 40) * (rng.random(40) > 0.1)
    problem = problem_on(MemoryRows(take(X), y, weights), 0.3, bias)
    state, C = SOLVER.start(problem), 0.3 * weights
    for _ in range(10):
        SOLVER.advance(problem, state, rng)
        problem.dual_point = None
        found = problem.certificate(state.at)
        model = type("Model", (), {"w": state.v[None, :3], "b": state.v[3:], "centre": None, "d": 3})
        assert linear_primal(model, X, y, C, "hinge", bias) <= Fraction(found.primal)
        if found.dual > 0:
            signed = problem.best_dual()
            assert np.all(signed * y >= 0)
            assert np.all(np.abs(signed) <= C)
            assert linear_dual(np.abs(signed), X, y, C, "hinge", bias) >= Fraction(found.dual)
    assert found.relative_gap <= 1e-4


def test_weights_count_like_repeated_rows():
    X, y = overlapping(n=120)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    some, _ = advanced(problem_on(MemoryRows(take(X), y, weights.astype(float))), 1e-7)
    repeated, _ = advanced(problem_on(MemoryRows(take(np.repeat(X, weights, axis=0)), np.repeat(y, weights))), 1e-7)
    assert some.v == pytest.approx(repeated.v, rel=1e-2, abs=1e-3)


def test_rows_whose_vectors_are_lost_are_placed_inside_again():
    X, y = overlapping(n=200)
    rows = MemoryRows(take(X), y)
    problem = problem_on(rows)
    state, rng = SOLVER.start(problem), np.random.default_rng(0)
    for _ in range(5):
        SOLVER.advance(problem, state, rng)
    for name in names_of(problem, state.turn):  # as after the loss of a worker
        values = rows.vector(name).copy()
        values[50:90] = 0.0
        rows.put(name, values)
    for _ in range(30):
        assert SOLVER.advance(problem, state, rng) is None
        if problem.certificate(state.at).relative_gap <= 1e-6:
            return
    raise AssertionError("30 steps were not enough")


@pytest.mark.parametrize(
    "lengths", [(3.0, 0.4, 1.2), (1.0,), (LONGEST, LONGEST), (1e-3, 0.9), (np.nan, 0.5), (0.0, 1.0)]
)
def test_the_least_length_is_never_too_long(lengths):
    counts = histogram()
    for length in lengths:
        count(length, counts)
    least, found = min(LONGEST, *np.nan_to_num(lengths)), least_length(counts)
    assert 0.98 * least <= found <= least * (1.0 + 1e-9)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file that does not fit into 6 MB."""
    path = tmp_path_factory.mktemp("interior") / "rows.svm"
    maxmargin.write(path, *few_rows(4000))
    return path


def test_a_stopped_and_resumed_run_gives_the_same_bits(file, tmp_path):
    given = {"solver": "interior_point", "tol": 1e-7, "memory": "6MB", "threads": 1}
    whole = maxmargin.train(file, **given)
    kept = {**given, "checkpoint": tmp_path / "kept"}
    stopped = maxmargin.train(file, callback=lambda record: record.epochs >= 8, **kept)
    assert stopped.status is Status.INTERRUPTED
    resumed = maxmargin.train(file, resume=True, **kept)
    assert whole.status is resumed.status is Status.CONVERGED
    assert np.array_equal(resumed.model.w, whole.model.w)
    assert resumed.certificate == whole.certificate


def test_a_damaged_checkpoint_is_refused():
    X, y = overlapping(n=60)
    problem = problem_on(MemoryRows(take(X), y))
    state, _ = advanced(problem, 1e-2)
    arrays, numbers = SOLVER.saved(problem, state)
    for piece, wrong in (("alpha", np.ones(3)), ("room", -np.ones(60)), ("surplus", np.full(60, np.nan))):
        with pytest.raises(ValueError, match=piece):
            SOLVER.restored(problem, {**arrays, piece: wrong}, numbers)


def test_too_many_features_and_other_losses_are_refused(monkeypatch, file):
    X, y = few_rows()
    with pytest.raises(RefusedError, match="interior_point"):
        maxmargin.train(file, solver="interior_point", loss="logistic", memory="6MB")
    monkeypatch.setattr("maxmargin.solvers.passes.second_order.LARGEST_MATRIX", 3)
    problem = problem_on(MemoryRows(take(X), y))
    with pytest.raises(RefusedError, match="interior_point builds a matrix"):
        PassInteriorPoint().advance(problem, SOLVER.start(problem), np.random.default_rng(0))
