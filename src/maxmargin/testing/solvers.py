"""The contract of a solver, checked on small problems with every loss and bias, and with a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Certified, Point
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.solvers import KERNEL_SOLVERS, SOLVERS, find_solver, refusal
from maxmargin.solvers.base import Solver
from maxmargin.testing.certificates import check_certificate
from maxmargin.testing.checks import check
from maxmargin.testing.problems import every_problem

AnyProblem = Problem | KernelProblem


def check_solver(solver: Solver, limits: Limits | Callable[[AnyProblem], Limits] | None = None) -> None:
    """Check a registered solver on every problem that it accepts, and its refusals of the others.

    `limits` has the tolerance that the solver must reach, by default a relative gap of 1e-6; it may be a function of
    the problem. If it limits the epochs, the solver counts as approximate, and its warm starts are not checked.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> check_solver(SOLVERS["interior_point"])
    """
    check(
        solver.name in {**SOLVERS, **KERNEL_SOLVERS},
        f"{solver.name} is not registered: maxmargin.solvers.register({solver!r})",
    )
    taken = 0
    for problem in every_problem():
        if not made_for(solver, problem):
            continue
        if refusal(solver, problem):
            check_refusal(solver, problem)
            continue
        taken += 1
        own = limits(problem) if callable(limits) else limits or Limits(tol=1e-6)
        check_reaches(solver, problem, own)
        check_same_bits(solver, problem, own)
        check_untouched(solver, problem, own)
        check_resumed(solver, problem)
        if own.max_epochs is None and isinstance(problem, Problem) and problem.ridge:  # else α does not determine w
            check_warm_start(solver, problem, own.tol)
    check(taken, f"{solver.name} takes no problem")


def made_for(solver: Solver, problem: AnyProblem) -> bool:
    """Whether this solver is for such problems: a name may have one solver for linear and one for kernel problems."""
    table = KERNEL_SOLVERS if isinstance(problem, KernelProblem) else SOLVERS
    other = SOLVERS if isinstance(problem, KernelProblem) else KERNEL_SOLVERS
    return solver.name not in other or table.get(solver.name) == solver


def check_refusal(solver: Solver, problem: AnyProblem) -> None:
    """Check that a refusal is one line that names the solver and another one that accepts the problem."""
    reason = refusal(solver, problem) or ""
    way_out = re.fullmatch(rf"{solver.name} [^\n]*: use solver='(\w+)'", reason)
    check(way_out, f"{solver.name} refuses {problem.kind} without naming another solver: {reason!r}")
    assert way_out is not None
    other = find_solver(way_out[1], kernel=isinstance(problem, KernelProblem))
    check(refusal(other, problem) is None, f"{solver.name} names {other.name}, which refuses {problem.kind} too")


def check_reaches(solver: Solver, problem: AnyProblem, limits: Limits, seed: int = 0) -> Outcome:
    """Check that the tolerance is reached, and that weak duality holds at every certificate on the way."""

    def watch(_: Any, found: Certified) -> None:
        check_certificate(problem, found)

    outcome = solve(problem, solver, limits, seed=seed, watch=watch)
    gap = outcome.certificate.relative_gap
    check(gap <= limits.tol, f"{told(solver, problem)} ends at a gap of {gap:.2e}, {outcome.status.value}")
    return outcome


def check_same_bits(solver: Solver, problem: AnyProblem, limits: Limits, seed: int = 3) -> None:
    """Check that the same seed gives the same bits."""
    one, two = (solve(problem, solver, limits, seed=seed) for _ in range(2))
    check(same(one, two), f"{told(solver, problem)}: two runs with the same seed differ")


def check_untouched(solver: Solver, problem: AnyProblem, limits: Limits) -> None:
    """Check that the solver does not write to rows, labels or weights."""
    arrays = [*(array for array in problem.rows if isinstance(array, np.ndarray)), *problem.arrays]
    before = [array.copy() for array in arrays]
    solve(problem, solver, limits)
    unchanged = all(np.array_equal(one, other) for one, other in zip(before, arrays, strict=True))
    check(unchanged, f"{told(solver, problem)}: it changes the problem")


def check_warm_start(solver: Solver, problem: Problem, tol: float) -> None:
    """Check that a warm start at the solution reaches the tolerance in no more epochs than a cold start."""
    cold = solve(problem, solver, Limits(tol=tol))
    warm = solve(problem, solver, Limits(tol=tol), warm=Point(alpha=cold.alpha))
    gap = warm.certificate.relative_gap
    check(gap <= tol, f"{told(solver, problem)}: from a warm start the gap is {gap:.2e}")
    check(warm.epochs <= cold.epochs, f"{told(solver, problem)}: a warm start takes {warm.epochs} epochs")


def check_resumed(
    solver: Solver, problem: AnyProblem, stops: tuple[float, ...] = (3, 10, 24), folder: Path | None = None
) -> None:
    """Check that an interrupted and resumed run equals an uninterrupted one, bit for bit."""
    whole = solve(problem, solver, Limits(tol=1e-30, max_epochs=stops[-1]))
    with TemporaryDirectory() as own:
        keeping = Keeping((folder or Path(own)) / "run", resume=True)
        for epochs in stops:
            resumed = solve(problem, solver, Limits(tol=1e-30, max_epochs=epochs), keeping=keeping)
    check(same(whole, resumed), f"{told(solver, problem)}: a resumed run differs from an uninterrupted one")


def same(one: Outcome, two: Outcome) -> bool:
    """Whether two runs ended with the same bits."""
    equal = np.array_equal(one.w, two.w) and np.array_equal(one.alpha, two.alpha)
    return equal and (one.b, one.epochs, one.certificate) == (two.b, two.epochs, two.certificate)


def told(solver: Solver, problem: AnyProblem) -> str:
    """Describe the solver and the problem, for a message."""
    return f"{solver.name} on {problem.kind} with bias {problem.bias!r}"
