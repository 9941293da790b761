"""The registries of solvers. Each file of this folder implements one algorithm.

A solver is registered by one line below. Its class declares the problems it can solve (see `takes`); error messages
for unsupported problems are derived from that. Such a message recommends the first registered solver that can solve
the problem, so the order of the lines matters.
"""

from __future__ import annotations

from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from maxmargin.errors import ParameterError, RefusedError
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.solvers.base import Solver
from maxmargin.solvers.streaming.base import StreamingSolver
from maxmargin.system.values import same_class


def registered(*places: str) -> dict[str, Any]:
    """Return a dictionary from solver name to solver. Each class is given as `folder.module:Class`."""
    solvers = {}
    for place in places:
        module, solver = place.split(":")
        instance = getattr(import_module(f"{__name__}.{module}"), solver)()
        solvers[instance.name] = instance
    return solvers


SOLVERS: dict[str, Solver] = registered(
    "dual.dual_coordinate:DualCoordinate",
    "dual.dual_pairs:DualPairs",
    "primal.second_order:SecondOrder",
    "dual.interior_point:InteriorPoint",
    "primal.newton:Newton",
    "primal.lbfgs:Lbfgs",
    "primal.gradient_descent:GradientDescent",
    "stochastic.sgd:Sgd",
    "stochastic.adaptive:Adaptive",
    "stochastic.pegasos:Pegasos",
    "stochastic.implicit:Implicit",
    "dual.smo_simple:SmoSimple",
    "stochastic.perceptron:Perceptron",
    "small.newton:SmallNewton",
    "small.smo:SmallSmo",
)

KERNEL_SOLVERS: dict[str, Solver] = registered(
    "kernel.smo:Smo",
    "kernel.smo_simple:SmoSimpleKernel",
    "kernel.pegasos:PegasosKernel",
    "small.smo:SmallSmo",
)

STREAMING_SOLVERS: dict[str, StreamingSolver] = registered(
    "streaming.cached_loops:CachedLoops",
    "streaming.block_minimization:BlockMinimization",
    "streaming.selective_blocks:SelectiveBlocks",
)

PASS_SOLVERS: dict[str, Solver] = registered(  # the same methods for rows on disk or on a cluster
    "passes.second_order:PassSecondOrder",
    "passes.interior_point:PassInteriorPoint",
    "passes.newton:PassNewton",
    "passes.lbfgs:PassLbfgs",
    "passes.gradient_descent:PassGradientDescent",
    "passes.cocoa:PassCocoa",
)


def register(solver: Solver) -> Solver:
    """Register a solver under its name, for the problems that its attribute `takes` declares.

    Raises ParameterError if an attribute or method is missing. Registering the same class again replaces the old entry.
    """
    for piece in ("name", "state_type", "takes", "start", "advance", "point"):
        if not hasattr(solver, piece):
            called = getattr(solver, "name", type(solver).__name__)
            raise ParameterError(f"solver {called} lacks {piece}: see maxmargin.solvers.base.Solver")
    if "visited" not in {state.name for state in fields(solver.state_type)}:
        raise ParameterError(f"solver {solver.name}: its state_type lacks visited, the number of rows it has visited")
    for known in (SOLVERS, KERNEL_SOLVERS, STREAMING_SOLVERS):
        if solver.name in known and not same_class(type(known[solver.name]), type(solver)):
            raise ParameterError(f"solver {solver.name} is taken: give yours another name")
    table = KERNEL_SOLVERS if solver.takes.formulations else SOLVERS
    table[solver.name] = solver
    return solver


def find_solver(name: str, options: dict[str, Any] | None = None, *, kernel: bool = False) -> Solver:
    """Return the solver of that name with these options set; its kernel version if `kernel` is true."""
    only_passes = {key: solver for key, solver in PASS_SOLVERS.items() if key not in SOLVERS}
    known_solvers: dict[str, Any] = {**SOLVERS, **KERNEL_SOLVERS, **STREAMING_SOLVERS, **only_passes}
    if name not in known_solvers:
        raise ParameterError(f"solver={name!r} is not known: choose auto or one of {', '.join(known_solvers)}")
    return with_options(known_solvers[name] if kernel else SOLVERS.get(name, known_solvers[name]), options)  # type: ignore[no-any-return]


def find_pass_solver(name: str, options: dict[str, Any] | None = None) -> Solver:
    """Return the version of a solver for rows on disk or on a cluster, with these options set."""
    if name not in PASS_SOLVERS:
        raise RefusedError(f"{name} needs all rows in memory: take one of {', '.join(PASS_SOLVERS)}, or more memory")
    return with_options(PASS_SOLVERS[name], options)  # type: ignore[no-any-return]


def with_options(solver: Any, options: dict[str, Any] | None) -> Any:
    """Return a copy of the solver with these options set."""
    name, known = solver.name, [option.name for option in fields(solver)]
    for option in options or {}:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise ParameterError(f"{name} has no option {option!r}: {has}")
    return replace(solver, **options) if options else solver


def refusal(solver: Solver, problem: Problem | KernelProblem) -> str | None:
    """Return why a solver cannot solve the problem, and the name of one that can; None if it can."""
    if isinstance(problem, Problem) and solver.name in PASS_SOLVERS and solver.name not in SOLVERS:
        return f"{solver.name} is for rows on a cluster: give client, or use solver='dual_coordinate'"
    objection = solver.takes.objection(problem)
    if objection is None:
        return None
    candidates = KERNEL_SOLVERS if isinstance(problem, KernelProblem) else SOLVERS
    able = next((name for name, other in candidates.items() if other.takes.objection(problem) is None), None)
    return f"{solver.name} {objection}" + (f": use solver={able!r}" if able else "")
