"""The public contract checks, over the tables of the library, and on solvers that break the contract."""

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from maxmargin.errors import ParameterError
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Certificate, Point, certify
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers import KERNEL_SOLVERS, SOLVERS, register
from maxmargin.solvers.dual.dual_coordinate import DualCoordinate
from maxmargin.solvers.takes import Takes
from maxmargin.testing import check_certificate, check_solver
from maxmargin.testing.problems import every_problem, overlapping, posed

ROUGH = {"sgd", "pegasos", "implicit", "adaptive"}  # steps that shrink: a gap of 1e-2
EXACT = sorted(
    set(SOLVERS) - ROUGH - {"gradient_descent", "perceptron", "smo_simple"}
)  # the perceptron minimises nothing


@pytest.mark.parametrize("name", EXACT)
def test_every_solver_keeps_the_contract(name):
    check_solver(SOLVERS[name])


@pytest.mark.parametrize("name", sorted({"gradient_descent", "smo_simple"} | ROUGH))
def test_every_rough_solver_keeps_the_contract(name):
    check_solver(SOLVERS[name], Limits(tol=1e-6 if name == "smo_simple" else 1e-2, max_epochs=10**6))


@pytest.mark.parametrize("name", KERNEL_SOLVERS)
def test_every_solver_of_kernels_keeps_the_contract(name):
    check_solver(KERNEL_SOLVERS[name], Limits(tol=2e-2, max_epochs=10**5) if name == "pegasos" else None)


def test_a_problem_of_every_kind_is_tried():
    kinds = {problem.kind for problem in every_problem()}
    assert kinds == {*LOSSES, "hard_margin", "unregularised_logistic", "C-SVC"}


@dataclass(frozen=True)
class Lazy(DualCoordinate):
    name = "lazy"
    takes = Takes(("hinge",), ("none",))

    def advance(self, problem, state, rng):
        state.visited += problem.n


@dataclass(frozen=True)
class Moody(Lazy):
    name = "moody"

    def advance(self, problem, state, rng):
        DualCoordinate.advance(self, problem, state, np.random.default_rng())


@dataclass(frozen=True)
class Greedy(Lazy):
    name = "greedy"

    def advance(self, problem, state, rng):
        problem.C[0] += 1e-9
        DualCoordinate.advance(self, problem, state, rng)


@pytest.mark.parametrize(
    ("solver", "words"),
    [(Lazy(), "ends at a gap of"), (Moody(), "same seed differ"), (Greedy(), "changes the problem|resumed|same seed")],
)
def test_a_solver_that_breaks_the_contract_does_not_pass(solver, words):
    with pytest.raises(AssertionError, match="not registered"):
        check_solver(solver)
    register(solver)
    with pytest.raises(AssertionError, match=words):
        check_solver(solver, Limits(tol=1e-3, max_epochs=100))


@pytest.mark.parametrize("piece", ["takes", "point", "visited"])
def test_a_solver_that_lacks_a_piece_is_refused_by_the_name_of_the_piece(piece):
    @dataclass
    class Place:
        alpha: np.ndarray

    pieces = {"name": "new", "state_type": Place, "takes": Takes(("hinge",), ("none",))}
    pieces |= {method: getattr(DualCoordinate, method) for method in ("start", "advance", "point")}
    pieces.pop(piece, None)
    with pytest.raises(ParameterError, match=f"lacks {piece}"):
        register(type("New", (), pieces)())


def test_a_name_that_is_taken_is_refused():
    @dataclass(frozen=True)
    class Other(DualCoordinate):
        name = "smo"
        takes = Takes(("hinge",), ("none",))

    with pytest.raises(ParameterError, match="smo is taken"):
        register(Other())
    assert "C-SVC" in KERNEL_SOLVERS["smo"].takes.kinds


def test_a_certificate_that_is_no_theorem_is_found_out():
    problem = posed(*overlapping())
    found = certify(problem, Point(alpha=np.zeros(problem.n)))
    check_certificate(problem, found)
    with pytest.raises(AssertionError, match="weak duality"):
        check_certificate(problem, replace(found, certificate=Certificate(1.0, 2.0)))
    with pytest.raises(AssertionError, match="above its box"):
        check_certificate(problem, replace(found, alpha=found.alpha + 2.0))
    with pytest.raises(AssertionError, match="below 0"):
        check_certificate(problem, replace(found, alpha=found.alpha - 2.0))
    with pytest.raises(AssertionError, match="Σ αy"):
        check_certificate(problem, replace(found, alpha=np.where(problem.y > 0, 0.5, 0.0)))
    kernel = next(one for one in every_problem() if isinstance(one, KernelProblem))
    with pytest.raises(AssertionError, match="outside its box"):
        check_certificate(kernel, replace(found, alpha=np.full(kernel.n, 9.0)))
    with pytest.raises(AssertionError, match="group 0"):
        check_certificate(kernel, replace(found, alpha=np.maximum(kernel.formulation.lo, 0.5 * kernel.formulation.hi)))


def test_the_checks_need_no_test_framework():
    code = "import maxmargin.testing, sys; print({'pytest', 'hypothesis'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
