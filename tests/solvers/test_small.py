"""The solvers for small problems: exact at the end, and quick to end where float64 leaves nothing to gain."""

import numba
import numpy as np
import pytest
from problems import overlapping, posed
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import scale

import maxmargin
from maxmargin.choose import choose
from maxmargin.data.take import take
from maxmargin.kernels.functions import Gaussian
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Point
from maxmargin.problems.formulations import c_svc, nu_svc, nu_svr
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.small.shrinking import moved_in_parts
from maxmargin.solvers.small.smo import Arrays, PairState, SmallSmo, arrays_of, moved
from maxmargin.system.extremes import larger, smaller

rng = np.random.default_rng(3)
iris = load_iris(return_X_y=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [nu_svr, nu_svc])
def test_newton_steps_keep_the_sums_of_both_groups(make, seed):
    """Sums that drift make β infeasible, and a run that asks for a smaller gap would never end.

    20,000 steps may each add the rounding of one β of 180, at most 1.5e-14.
    """
    own = np.random.default_rng(seed)
    X, C = own.normal(size=(9, 1)), np.full(9, 180.0)
    y = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    formulation = nu_svr(own.normal(size=9), C, 0.9) if make is nu_svr else nu_svc(y, C, 0.5)
    problem = KernelProblem(take(X), Gaussian(3.0), formulation)
    state = SmallSmo().start(problem)
    state.target = 0.0
    moved(arrays_of(problem), state, 20_000)
    for g, wanted in enumerate(formulation.sums):
        assert np.sum(state.beta[formulation.group == g]) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("C", [0.5, 100.0, 1e6])
@pytest.mark.parametrize("exact", [False, True])
def test_conjugate_pair_steps_keep_the_gradient_the_box_and_the_sum_and_raise_the_dual(C, exact):
    X, y = overlapping(n=300, d=3)
    problem = KernelProblem(take(X), Gaussian(0.5), c_svc(y, np.full(len(y), C)))
    state, arrays = SmallSmo(exact=exact).start(problem), arrays_of(problem)
    state.target, before = 0.0, 0.0
    for most in (1, 7, 30, 300, 3000):
        moved(arrays, state, most)
        beta, F = state.beta, -arrays.q - arrays.K @ state.beta
        dual = 0.5 * beta @ (F - arrays.q)
        assert np.abs(state.F - F).max() <= 1e-12 * (1.0 + np.abs(arrays.K @ np.abs(beta)).max())
        assert np.all((beta >= arrays.lo) & (beta <= arrays.hi))
        assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
        assert dual >= before * (1.0 - 1e-12)
        before = dual


@pytest.mark.parametrize("d", [10, 60])
def test_a_warm_start_can_be_limited_and_resumed(d, tmp_path):
    X, y = overlapping(n=300, d=d)
    options = {"solver": "small_smo", "loss": "hinge"}
    first = maxmargin.train(X, y, C=0.01, **options)
    given = {"C": 1.0, "warm": first, **options}
    for epochs in (0.5, 3.0):
        short = maxmargin.train(X, y, checkpoint=tmp_path / "run", resume=True, max_epochs=epochs, **given)
        assert short.epochs <= epochs
    whole, resumed = (
        maxmargin.train(X, y, **given),
        maxmargin.train(X, y, checkpoint=tmp_path / "run", resume=True, **given),
    )
    assert whole.status is resumed.status is maxmargin.Status.CONVERGED
    assert whole.certificate == resumed.certificate
    assert short.certificate.dual <= whole.certificate.primal


@pytest.mark.parametrize("exact", [False, True])
def test_a_warm_start_with_a_kernel_learns_its_gradient_from_its_certificate(exact):
    X, y = overlapping(n=120, d=4)
    problem = KernelProblem(take(X), Gaussian(0.5), c_svc(y, np.full(len(y), 2.0)))
    cold = solve(problem, SmallSmo(exact=exact), Limits(tol=1e-8))
    warm = solve(problem, SmallSmo(exact=exact), Limits(tol=1e-8), warm=Point(alpha=0.5 * cold.alpha))
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-8)
    state = SmallSmo().start(problem, Point(alpha=0.5 * cold.alpha))
    moved(arrays_of(problem), state, 3)  # without a certificate
    assert np.abs(state.F - (-arrays_of(problem).q - arrays_of(problem).K @ state.beta)).max() <= 1e-12


@pytest.mark.parametrize("gamma", [1e-9, 1e-5, 1e-1, 1e3])
@pytest.mark.parametrize("C", [1e6, 1e8, 1e10])
def test_a_huge_C_ends_after_a_few_certificates(C, gamma):
    X, y = scale(iris[0]), iris[1]
    with np.errstate(all="ignore"):
        result = maxmargin.train(X, y, kernel="gaussian", C=C, gamma=gamma)
    assert all(len(part.history) < 30 for part in result.parts)
    assert result.status.name in ("CONVERGED", "ROUNDING")
    separable = result.parts[0]  # setosa against versicolor
    assert separable.certificate.relative_gap < 1e-3 if gamma < 1e-8 else separable.status.name == "CONVERGED"


@pytest.mark.parametrize("task", ["classify", "regress", "novelty"])
def test_both_kernel_solvers_find_the_same_objective(task):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16.0, y[:300]
    found = [
        maxmargin.train(X, None if task == "novelty" else y, task=task, kernel="gaussian", solver=solver, tol=1e-6)
        for solver in ("small_smo", "smo")
    ]
    small, large = (result.certificate for result in found)
    assert small.dual <= large.primal
    assert large.dual <= small.primal
    assert [result.solver for result in found] == ["small_smo", "smo"]


def test_pairs_of_shuffled_classes_are_those_of_scikit_learn():
    """The shared kernel matrix is sorted by class; support vectors and decisions are in the order of the rows."""
    from sklearn.svm import SVC

    order = rng.permutation(len(iris[1]))
    X, y = iris[0][order], np.array(["c", "a", "b"])[iris[1][order]]
    ours, theirs = maxmargin.SVC(tol=1e-8).fit(X, y), SVC(tol=1e-8).fit(X, y)
    assert ours.support_.tolist() == theirs.support_.tolist()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept_scaling", [None, 2.0])
def test_several_threads_give_the_same_bits(loss, intercept_scaling):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    one, two = (
        maxmargin.LinearSVC(loss=loss, intercept_scaling=intercept_scaling, n_jobs=jobs).fit(X, y) for jobs in (1, 2)
    )
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize(
    ("n", "d", "C", "solver"),
    [(100, 5, 1e-2, "small_smo"), (1500, 150, 1e-2, "dual_coordinate"), (1500, 10, 1e2, "small_smo")],
)
def test_auto_leaves_small_problems_to_dual_steps_where_these_are_far_cheaper(n, d, C, solver):
    X, y = overlapping(n=n, d=d)
    assert choose(posed(X / np.sqrt(d), y, C=C))[0] == solver


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_steps_on_a_part_of_the_variables_reach_the_optimum_of_all(C):
    X, y = overlapping(n=900, d=5)
    options = {"kernel": "gaussian", "gamma": 0.2, "C": C}
    parts = maxmargin.train(X, y, solver="small_smo", **options)
    whole = maxmargin.train(X, y, solver="smo", tol=1e-8, **options)
    assert parts.status is maxmargin.Status.CONVERGED
    assert parts.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-4)
    assert parts.certificate.dual <= whole.certificate.primal


def test_steps_on_a_part_keep_the_sum_the_box_and_the_gradient():
    rng = np.random.default_rng(0)
    n = 1200
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + rng.normal(size=n))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    arrays = Arrays(K, np.minimum(5.0 * y, 0.0), np.maximum(5.0 * y, 0.0), -y, np.zeros(n, np.intp), 1, 0.0)
    state = PairState(np.zeros(n), y.copy(), np.zeros(0), 1e-6)
    gap, steps = moved_in_parts(arrays, state, 10**7, moved)
    assert gap <= 1e-6
    assert steps > n
    assert np.all((arrays.lo <= state.beta) & (state.beta <= arrays.hi))
    assert abs(state.beta.sum()) <= 1e-9
    assert pytest.approx(y - K @ state.beta, abs=1e-8) == state.F


def test_larger_and_smaller_are_those_of_numpy():
    @numba.njit
    def ends(values):
        top, bottom = -np.inf, np.inf
        for value in values:
            top, bottom = larger(top, value), smaller(bottom, value)
        return top, bottom

    for values in (np.random.default_rng(0).normal(size=1001), np.array([3.0]), np.array([-np.inf, 1.0, np.inf])):
        assert ends(values) == (values.max(), values.min())
