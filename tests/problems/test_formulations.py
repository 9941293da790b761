"""The kernel machines beside scikit-learn's, their certificates beside their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from maxmargin.data.take import take
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels import tiles as kernel_blocks
from maxmargin.kernels.functions import Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Point
from maxmargin.problems.formulations import c_svc, epsilon_svr, nu_svc, nu_svr, one_class
from maxmargin.problems.kernel import KernelProblem, best_offsets, bias_and_width
from maxmargin.problems.kernel_certificate import certify_kernel
from maxmargin.solvers.kernel.smo import Smo
from maxmargin.status import Status
from maxmargin.training.train import train

rng = np.random.default_rng(1)
n = 120
X = rng.normal(size=(n, 3))
y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
z = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
s = rng.uniform(0.5, 2.0, size=n)
same = {"gamma": 0.4, "tol": 1e-8}
FORMULATIONS = {
    "C-SVC": (c_svc(y, 2.0 * s), SVC(C=2.0, **same).fit(X, y, s).decision_function),
    "epsilon-SVR": (epsilon_svr(z, 3.0 * s, 0.1), SVR(C=3.0, epsilon=0.1, **same).fit(X, z, s).predict),
    "one-class": (one_class(np.ones(n), 0.3), OneClassSVM(nu=0.3, **same).fit(X).decision_function),
    "nu-SVC": (nu_svc(y, np.ones(n), 0.5), NuSVC(nu=0.5, **same).fit(X, y).decision_function),
    "nu-SVR": (nu_svr(z, np.full(n, 3.0), 0.4), NuSVR(C=3.0, nu=0.4, **same).fit(X, z).predict),
}
WITHOUT_BIAS = {"C-SVC": c_svc(y, 2.0 * s, "none"), "epsilon-SVR": epsilon_svr(z, 3.0 * s, 0.1, "none")}
ALL = {
    **{name: formulation for name, (formulation, _) in FORMULATIONS.items()},
    **{f"{k} none": v for k, v in WITHOUT_BIAS.items()},
}


def solved(formulation, kernel=None, tol=1e-10, **options):
    problem = KernelProblem(take(X), kernel or Gaussian(0.4), formulation)
    return problem, solve(problem, Smo(**options), Limits(tol=tol, max_epochs=2000))


@pytest.mark.parametrize("name", FORMULATIONS)
def test_decisions_are_scikit_learns(name):
    formulation, decide = FORMULATIONS[name]
    problem, outcome = solved(formulation)
    assert outcome.status is Status.CONVERGED
    values = problem.scores(outcome.alpha) + outcome.b
    if name == "nu-SVC":
        values /= -outcome.width  # LIBSVM divides by ρ
    assert values == pytest.approx(decide(X), abs=1e-5 * np.abs(decide(X)).max())


@pytest.mark.parametrize("name", ALL)
def test_the_gap_is_what_the_examples_lack(name):
    """P and D as sums over examples, with K written out."""
    formulation = ALL[name]
    problem = KernelProblem(take(X), Gaussian(0.4), formulation)
    found = certify_kernel(problem, Point(alpha=formulation.start + 0.1 * (formulation.hi - formulation.start)))
    beta, certificate = found.alpha, found.certificate
    assert np.all((formulation.lo <= beta) & (beta <= formulation.hi))
    for g, c in enumerate(formulation.sums):
        assert beta[formulation.group == g].sum() == pytest.approx(c, abs=1e-9)
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))[np.ix_(formulation.row, formulation.row)] * np.outer(
        formulation.t, formulation.t
    )
    assert certificate.dual == pytest.approx(-0.5 * beta @ K @ beta - formulation.q @ beta, rel=1e-9, abs=1e-11)
    F = -K @ beta - formulation.q
    b = best_offsets(formulation, F)
    R = F - b[formulation.group] if len(b) else F
    lacks = (formulation.hi - beta) * R.clip(0.0) + (beta - formulation.lo) * (-R).clip(0.0)
    assert certificate.gap == pytest.approx(lacks.sum(), rel=1e-8, abs=1e-8)
    assert found.b == pytest.approx(bias_and_width(b)[0])


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_point_is_above_the_bound_of_another(name, seed):
    formulation = ALL[name]
    problem = KernelProblem(take(X), Gaussian(0.4), formulation)
    random = np.random.default_rng(seed)
    points = [random.uniform(formulation.lo, formulation.hi) * random.random() for _ in range(2)]
    one, other = (certify_kernel(problem, Point(alpha=point)).certificate for point in points)
    best = OPTIMA.setdefault(name, solved(formulation)[1].certificate)
    for certificate in (one, other):
        assert certificate.dual <= best.primal + 1e-8 * abs(best.primal)
        assert certificate.primal >= best.dual - 1e-8 * abs(best.dual)


OPTIMA: dict = {}


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_best_offset_is_the_best_of_all_kinks(name, seed):
    formulation = ALL[name]
    F = np.round(np.random.default_rng(seed).normal(size=len(formulation.q)), 2)  # ties among them
    found = best_offsets(formulation, F)
    for g, c in enumerate(formulation.sums):
        own = formulation.group == g

        def cost(b, own=own, c=c):
            R = F[own] - b
            return formulation.hi[own] @ R.clip(0.0) - formulation.lo[own] @ (-R).clip(0.0) + c * b

        assert cost(found[g]) <= min(map(cost, F[own])) + 1e-9


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("options", [{"batch": 4}, {"batch": 16}, {"batch": 16, "shrinking": False}])
def test_any_batch_leads_to_the_same_optimum(name, options):
    best = OPTIMA.setdefault(name, solved(ALL[name])[1].certificate)
    _, outcome = solved(ALL[name], tol=1e-8, **options)
    assert outcome.status is Status.CONVERGED
    assert outcome.certificate.primal == pytest.approx(best.primal, rel=2e-6)


def test_float32_rows_and_a_small_cache_lead_to_many_digits(monkeypatch):
    monkeypatch.setattr("maxmargin.problems.kernel.EXACT", 0)
    monkeypatch.setattr("maxmargin.kernels.held_rows.FEWEST", 20)
    monkeypatch.setattr("maxmargin.kernels.held_rows.AT_FIRST", 12)
    problem = KernelProblem(take(X), Gaussian(0.4), c_svc(y, np.full(n, 100.0)), cache=0)
    outcome = solve(problem, Smo(batch=8), Limits(tol=1e-9, max_epochs=5000))
    assert problem.held.dtype is np.float32
    assert outcome.status is Status.CONVERGED


def test_the_same_numbers_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(kernel_blocks, "ONE_THREAD_WORK", 0)
    monkeypatch.setattr(kernel_blocks, "MANY_PER_TILE", 32)
    found = []
    for threads in (1, 3):
        problem = KernelProblem(take(X), Gaussian(0.4), c_svc(y, np.ones(n)), threads=threads)
        found.append(solve(problem, Smo(batch=16), Limits(tol=1e-6)))
    assert np.array_equal(found[0].alpha, found[1].alpha)
    assert found[0].certificate == found[1].certificate


def test_an_indefinite_kernel_ends_and_claims_nothing():
    outcome = solved(c_svc(y, np.full(n, 5.0)), Sigmoid(1.0, -0.5), tol=1e-4)[1]
    assert outcome.status is Status.SETTLED
    assert outcome.certificate.dual == -np.inf
    assert not outcome.certificate.meets(1.0)


def test_a_linear_kernel_without_bias():
    outcome = solved(c_svc(y, np.ones(n), "none"), Linear())[1]
    w = X.T @ outcome.w
    assert outcome.certificate.primal == pytest.approx(0.5 * w @ w + np.maximum(0.0, 1.0 - y * (X @ w)).sum())


def test_nu_that_cannot_be_is_refused_with_the_largest_that_can():
    rare = np.where(np.arange(n) < 12, 1.0, -1.0)
    with pytest.raises(ParameterError, match=r"class yes.*largest feasible nu is 0\.2"):
        nu_svc(rare, np.ones(n), 0.5, ("no", "yes"))
    for nu in (0.0, 1.5, np.nan, "a", True):
        with pytest.raises(ParameterError, match="nu="):
            one_class(np.ones(n), nu)


@pytest.mark.parametrize("options", [{"batch": 2}, {"batch": 8.0}, {"shrinking": 1}])
def test_options_that_are_none_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        Smo(**options)


def test_a_matrix_that_is_not_definite_is_found_out():
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))
    formulation = c_svc(y, np.full(n, 5.0))
    assert KernelProblem(take(K), Precomputed(), formulation).bounded
    K[np.diag_indices(n)] = 0.5
    problem = KernelProblem(take(K), Precomputed(), formulation)
    assert not problem.bounded
    outcome = solve(problem, Smo(), Limits(tol=1e-4, max_epochs=500))
    assert outcome.status is not Status.CONVERGED
    assert outcome.certificate.dual == -np.inf


def test_values_beyond_float32_are_held_in_float64_and_beyond_float64_refused(monkeypatch):
    monkeypatch.setattr("maxmargin.problems.kernel.EXACT", 0)
    formulation = c_svc(y, np.ones(n))
    assert KernelProblem(take(X), Polynomial(8, 1.0, 1.0), formulation).dtype is np.float32
    assert KernelProblem(take(1e3 * X), Polynomial(8, 1.0, 1.0), formulation).dtype is np.float64
    with pytest.raises(DataError, match="scale the features"):
        solve(KernelProblem(take(1e20 * X), Polynomial(9, 1.0, 1.0), formulation), Smo(), Limits())


def test_a_kernel_that_shows_itself_indefinite_claims_nothing(monkeypatch):
    monkeypatch.setattr(
        "maxmargin.problems.kernel.seems_definite", lambda problem: True
    )  # as for examples not looked at
    problem = KernelProblem(
        take(np.array([[0.0, 1.0], [1.0, 0.0]])), Precomputed(), c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    )
    outcome = solve(problem, Smo(), Limits(max_epochs=100))
    assert outcome.certificate.dual == -np.inf
    assert outcome.status is Status.SETTLED


def test_a_sigmoid_ends_where_libsvms_does():
    formulation = SVC(kernel="sigmoid", gamma=0.05, coef0=-0.2, C=5.0, tol=1e-8).fit(X, y)
    outcome = solved(c_svc(y, np.full(n, 5.0)), Sigmoid(0.05, -0.2))[1]
    found = np.tanh(0.05 * X @ X.T - 0.2) @ outcome.w + outcome.b
    assert found == pytest.approx(formulation.decision_function(X), abs=1e-3)


def test_the_bias_is_in_the_middle_where_nothing_decides_it():
    few = np.array([[-1.0], [1.0]])
    outcome = solve(KernelProblem(take(few), Linear(), c_svc(np.array([-1.0, 1.0]), np.full(2, 0.01))), Smo(), Limits())
    assert outcome.b == pytest.approx(0.0, abs=1e-12)
    flat = solve(KernelProblem(take(few), Linear(), epsilon_svr(np.full(2, 5.0), np.ones(2), 0.1)), Smo(), Limits())
    assert flat.b == pytest.approx(5.0)


def test_a_batch_may_be_larger_than_what_is_held_at_first(monkeypatch):
    monkeypatch.setattr("maxmargin.kernels.held_rows.FEWEST", 12)
    monkeypatch.setattr("maxmargin.kernels.held_rows.AT_FIRST", 4)
    for cache in (0, None):
        problem = KernelProblem(take(X), Gaussian(0.4), c_svc(y, np.full(n, 100.0)), cache)
        outcome = solve(problem, Smo(batch=64), Limits(tol=1e-7, max_epochs=3000))
        assert outcome.status is Status.CONVERGED


def test_examples_far_from_the_origin_are_seen_around_their_mean(monkeypatch):
    monkeypatch.setattr("maxmargin.problems.kernel.EXACT", 0)
    formulation = c_svc(y, np.ones(n))
    far = KernelProblem(take(X + 1e4), Gaussian(0.4), formulation)
    assert far.dtype is np.float32
    found = [train(X + shift, y, kernel="gaussian", gamma=0.4, tol=1e-7) for shift in (0.0, 1e4, 1e7)]
    for result in found:
        assert result.status is Status.CONVERGED
        assert result.certificate.primal == pytest.approx(found[0].certificate.primal, rel=1e-5)
    spread = KernelProblem(take(1e4 * X), Gaussian(0.4), formulation)
    assert spread.dtype is np.float64
    assert solve(spread, Smo(), Limits(tol=1e-4)).status is Status.CONVERGED


def test_what_needs_no_step_ends_at_once():
    problem = KernelProblem(
        take(np.ones((3000, 2))), Gaussian(1.0), epsilon_svr(np.full(3000, 1.0), np.ones(3000), 0.1)
    )
    outcome = solve(problem, Smo(), Limits())
    assert outcome.status is Status.CONVERGED
    assert outcome.epochs < 0.1
    assert outcome.b == pytest.approx(1.0)


def test_short_rows_take_steps_as_long_as_they_need():
    """One-class has no scale of its own: K 1e16 times smaller leaves β as it is, and P as much smaller."""
    scaled, plain = (
        KernelProblem(take(size * X), Polynomial(2, 1.0, 0.0), one_class(np.ones(n), 0.3)) for size in (1e-4, 1.0)
    )
    one, other = (solve(problem, Smo(), Limits(tol=1e-8, max_epochs=3000)) for problem in (scaled, plain))
    assert one.status is other.status is Status.CONVERGED
    assert one.certificate.primal * 1e16 == pytest.approx(other.certificate.primal, rel=1e-6)
