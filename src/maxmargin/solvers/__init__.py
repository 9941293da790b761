"""The solvers, one algorithm a file; `SOLVERS` is the table by which they are found."""

from __future__ import annotations

from maxmargin.errors import ParameterError
from maxmargin.solvers.base import Solver
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.dual_pairs import DualPairs

SOLVERS: dict[str, Solver] = {solver.name: solver for solver in (DualCoordinate(), DualPairs())}


def find_solver(name: str) -> Solver:
    """The solver of that name."""
    if name not in SOLVERS:
        raise ParameterError(f"solver={name!r} is not known: choose auto or one of {', '.join(SOLVERS)}")
    return SOLVERS[name]
