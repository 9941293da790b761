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
from maxmargin.solvers.primal.gradient_descent import GradientDescent
from maxmargin.solvers.primal.lbfgs import Lbfgs
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.primal.second_order import SecondOrder
from maxmargin.solvers.stochastic.adaptive import Adaptive
from maxmargin.solvers.stochastic.implicit import Implicit
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.perceptron import Perceptron
from maxmargin.solvers.stochastic.sgd import Sgd
from maxmargin.solvers.streaming.base import StreamingSolver
from maxmargin.solvers.streaming.block_minimization import BlockMinimization
from maxmargin.solvers.streaming.cached_loops import CachedLoops
from maxmargin.solvers.streaming.selective_blocks import SelectiveBlocks

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
METHODS: tuple[StreamingSolver, ...] = (CachedLoops(), BlockMinimization(), SelectiveBlocks())
PASSING: dict[str, StreamingSolver] = {method.name: method for method in METHODS}  # the rows of files pass by
WITH_KERNELS: dict[str, Solver] = {solver.name: solver for solver in KERNEL_SOLVERS}


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
