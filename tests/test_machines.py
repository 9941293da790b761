"""The kernel machines beside scikit-learn's, their certificates beside their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from maxmargin.certificate import Point
from maxmargin.errors import ParameterError
from maxmargin.kernel_certificate import certify_kernel
from maxmargin.kernel_problem import KernelProblem, best_offsets, bias_and_width
from maxmargin.kernels import Gaussian, Linear, Sigmoid
from maxmargin.machines import c_svc, epsilon_svr, nu_svc, nu_svr, one_class
from maxmargin.outcome import Status
from maxmargin.rows.take import take
from maxmargin.solve import Limits, solve
from maxmargin.solvers.smo import Smo

rng = np.random.default_rng(1)
n = 120
X = rng.normal(size=(n, 3))
y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
z = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
s = rng.uniform(0.5, 2.0, size=n)
same = {"gamma": 0.4, "tol": 1e-8}
MACHINES = {
    "C-SVC": (c_svc(y, 2.0 * s), SVC(C=2.0, **same).fit(X, y, s).decision_function),
    "epsilon-SVR": (epsilon_svr(z, 3.0 * s, 0.1), SVR(C=3.0, epsilon=0.1, **same).fit(X, z, s).predict),
    "one-class": (one_class(np.ones(n), 0.3), OneClassSVM(nu=0.3, **same).fit(X).decision_function),
    "nu-SVC": (nu_svc(y, np.ones(n), 0.5), NuSVC(nu=0.5, **same).fit(X, y).decision_function),
    "nu-SVR": (nu_svr(z, np.full(n, 3.0), 0.4), NuSVR(C=3.0, nu=0.4, **same).fit(X, z).predict),
}
WITHOUT_BIAS = {"C-SVC": c_svc(y, 2.0 * s, "none"), "epsilon-SVR": epsilon_svr(z, 3.0 * s, 0.1, "none")}
ALL = {
    **{name: machine for name, (machine, _) in MACHINES.items()},
    **{f"{k} none": v for k, v in WITHOUT_BIAS.items()},
}


def solved(machine, kernel=None, tol=1e-10, **options):
    problem = KernelProblem(take(X), kernel or Gaussian(0.4), machine)
    return problem, solve(problem, Smo(**options), Limits(tol=tol, max_epochs=2000))


@pytest.mark.parametrize("name", MACHINES)
def test_decisions_are_scikit_learns(name):
    machine, decide = MACHINES[name]
    problem, outcome = solved(machine)
    assert outcome.status is Status.CONVERGED
    values = problem.scores(outcome.alpha) + outcome.b
    if name == "nu-SVC":
        values /= -outcome.w[-1]  # LIBSVM divides by ρ
    assert values == pytest.approx(decide(X), abs=1e-5 * np.abs(decide(X)).max())


@pytest.mark.parametrize("name", ALL)
def test_the_gap_is_what_the_examples_lack(name):
    """P and D as sums over examples, with K written out."""
    machine = ALL[name]
    problem = KernelProblem(take(X), Gaussian(0.4), machine)
    found = certify_kernel(problem, Point(alpha=machine.start + 0.1 * (machine.hi - machine.start)))
    beta, certificate = found.alpha, found.certificate
    assert np.all((machine.lo <= beta) & (beta <= machine.hi))
    for g, c in enumerate(machine.sums):
        assert beta[machine.group == g].sum() == pytest.approx(c, abs=1e-9)
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))[np.ix_(machine.row, machine.row)] * np.outer(
        machine.t, machine.t
    )
    assert certificate.dual == pytest.approx(-0.5 * beta @ K @ beta - machine.q @ beta, rel=1e-9)
    F = -K @ beta - machine.q
    b = best_offsets(machine, F)
    R = F - b[machine.group] if len(b) else F
    lacks = (machine.hi - beta) * R.clip(0.0) + (beta - machine.lo) * (-R).clip(0.0)
    assert certificate.gap == pytest.approx(lacks.sum(), rel=1e-8, abs=1e-8)
    assert found.b == pytest.approx(bias_and_width(b)[0])


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_point_is_above_the_bound_of_another(name, seed):
    machine = ALL[name]
    problem = KernelProblem(take(X), Gaussian(0.4), machine)
    random = np.random.default_rng(seed)
    points = [random.uniform(machine.lo, machine.hi) * random.random() for _ in range(2)]
    one, other = (certify_kernel(problem, Point(alpha=point)).certificate for point in points)
    best = OPTIMA.setdefault(name, solved(machine)[1].certificate)
    for certificate in (one, other):
        assert certificate.dual <= best.primal + 1e-8 * abs(best.primal)
        assert certificate.primal >= best.dual - 1e-8 * abs(best.dual)


OPTIMA: dict = {}


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_best_offset_is_the_best_of_all_kinks(name, seed):
    machine = ALL[name]
    F = np.round(np.random.default_rng(seed).normal(size=len(machine.q)), 2)  # ties among them
    found = best_offsets(machine, F)
    for g, c in enumerate(machine.sums):
        own = machine.group == g

        def cost(b, own=own, c=c):
            R = F[own] - b
            return machine.hi[own] @ R.clip(0.0) - machine.lo[own] @ (-R).clip(0.0) + c * b

        assert cost(found[g]) <= min(map(cost, F[own])) + 1e-9


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("options", [{"batch": 4}, {"batch": 16}, {"batch": 16, "shrinking": False}])
def test_any_batch_leads_to_the_same_optimum(name, options):
    best = OPTIMA.setdefault(name, solved(ALL[name])[1].certificate)
    _, outcome = solved(ALL[name], tol=1e-6, **options)
    assert outcome.status is Status.CONVERGED
    assert outcome.certificate.primal == pytest.approx(best.primal, rel=2e-6)


def test_float32_rows_and_a_small_cache_lead_to_many_digits(monkeypatch):
    monkeypatch.setattr("maxmargin.kernel_problem.EXACT", 0)
    monkeypatch.setattr("maxmargin.kernel_rows.FEWEST", 20)
    monkeypatch.setattr("maxmargin.kernel_rows.AT_FIRST", 12)
    problem = KernelProblem(take(X), Gaussian(0.4), c_svc(y, np.full(n, 100.0)), cache=0)
    outcome = solve(problem, Smo(batch=8), Limits(tol=1e-9, max_epochs=5000))
    assert problem.held.dtype is np.float32
    assert outcome.status is Status.CONVERGED


def test_the_same_numbers_for_any_number_of_threads():
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
    w = X.T @ outcome.w[:n]
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
