"""The solvers, one algorithm a file; `SOLVERS` is the table by which they are found."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from maxmargin.errors import ParameterError
from maxmargin.solvers.adaptive import Adaptive
from maxmargin.solvers.base import Solver
from maxmargin.solvers.block_minimization import BlockMinimization
from maxmargin.solvers.cached_loops import CachedLoops
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.dual_pairs import DualPairs
from maxmargin.solvers.gradient_descent import GradientDescent
from maxmargin.solvers.implicit import Implicit
from maxmargin.solvers.interior_point import InteriorPoint
from maxmargin.solvers.lbfgs import Lbfgs
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.passing import Method
from maxmargin.solvers.pegasos import Pegasos
from maxmargin.solvers.pegasos_kernel import PegasosKernel
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.solvers.second_order import SecondOrder
from maxmargin.solvers.selective_blocks import SelectiveBlocks
from maxmargin.solvers.sgd import Sgd
from maxmargin.solvers.smo import Smo
from maxmargin.solvers.smo_simple import SmoSimple
from maxmargin.solvers.smo_simple_kernel import SmoSimpleKernel

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
