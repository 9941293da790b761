"""The solvers, one algorithm a file; `SOLVERS` is the table by which they are found."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from maxmargin.errors import ParameterError
from maxmargin.solvers.base import Solver
from maxmargin.solvers.dual.dual_coordinate import DualCoordinate
from maxmargin.solvers.dual.dual_pairs import DualPairs
from maxmargin.solvers.dual.interior_point import InteriorPoint
from maxmargin.solvers.dual.smo_simple import SmoSimple
from maxmargin.solvers.kernel.pegasos import PegasosKernel
from maxmargin.solvers.kernel.smo import Smo
from maxmargin.solvers.kernel.smo_simple import SmoSimpleKernel
from maxmargin.solvers.pairings import FORMULATIONS, PAIRINGS, Takes
from maxmargin.solvers.primal.gradient_descent import GradientDescent
from maxmargin.solvers.primal.lbfgs import Lbfgs
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.primal.second_order import SecondOrder
from maxmargin.solvers.stochastic.adaptive import Adaptive
from maxmargin.solvers.stochastic.implicit import Implicit
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.perceptron import Perceptron
from maxmargin.solvers.stochastic.sgd import Sgd
from maxmargin.solvers.streaming.block_minimization import BlockMinimization
from maxmargin.solvers.streaming.cached_loops import CachedLoops
from maxmargin.solvers.streaming.selective_blocks import SelectiveBlocks
from maxmargin.solvers.streaming.state import Method

ALL: tuple[Solver, ...] = (
    DualCoordinate(),
    DualPairs(),
    SecondOrder(),
    InteriorPoint(),
    Newton(),
    Lbfgs(),
    GradientDescent(),
    Sgd(),
    Adaptive(),
    Pegasos(),
    Implicit(),
    SmoSimple(),
    Perceptron(),
)
SOLVERS: dict[str, Solver] = {solver.name: solver for solver in ALL}
KERNEL_SOLVERS: tuple[Solver, ...] = (Smo(), SmoSimpleKernel(), PegasosKernel())
METHODS: tuple[Method, ...] = (CachedLoops(), BlockMinimization(), SelectiveBlocks())
PASSING: dict[str, Method] = {method.name: method for method in METHODS}  # the rows of files pass by
WITH_KERNELS: dict[str, Solver] = {solver.name: solver for solver in KERNEL_SOLVERS}


def register(solver: Solver) -> Solver:
    """Make a solver known by its name, for the problems that its attribute `takes` names.

    It is checked for missing pieces. The same class again replaces what was registered.
    """
    for piece in ("name", "state_type", "takes", "start", "advance", "point"):
        if not hasattr(solver, piece):
            called = getattr(solver, "name", type(solver).__name__)
            raise ParameterError(f"solver {called} lacks {piece}: see maxmargin.solvers.base.Solver")
    if "visited" not in {state.name for state in fields(solver.state_type)}:
        raise ParameterError(f"solver {solver.name}: its state_type lacks visited, the number of rows it has visited")
    takes: Takes = solver.takes  # type: ignore[attr-defined]
    table = WITH_KERNELS if set(takes.kinds) & set(FORMULATIONS) else SOLVERS
    for known in (SOLVERS, WITH_KERNELS, PASSING):
        if solver.name in known and type(known[solver.name]).__qualname__ != type(solver).__qualname__:
            raise ParameterError(f"solver {solver.name} is taken: give yours another name")
    PAIRINGS[solver.name] = takes
    table[solver.name] = solver
    return solver


def find_solver(name: str, options: dict[str, Any] | None = None, *, kernel: bool = False) -> Solver:
    """The solver of that name, in its form for kernels if asked for, with these options instead of its own."""
    known_solvers: dict[str, Any] = {**SOLVERS, **WITH_KERNELS, **PASSING}
    if name not in known_solvers:
        raise ParameterError(f"solver={name!r} is not known: choose auto or one of {', '.join(known_solvers)}")
    return with_options(known_solvers[name] if kernel else SOLVERS.get(name, known_solvers[name]), options)  # type: ignore[no-any-return]


def with_options(solver: Any, options: dict[str, Any] | None) -> Any:
    """The solver with these options instead of its own."""
    name, known = solver.name, [option.name for option in fields(solver)]
    for option in options or {}:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise ParameterError(f"{name} has no option {option!r}: {has}")
    return replace(solver, **options) if options else solver
