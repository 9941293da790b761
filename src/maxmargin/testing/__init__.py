"""Contract checks for whoever adds a loss, a kernel or a solver.

    check_loss(loss)        its slope, its dual term, and that compiled code agrees with both
    check_kernel(kernel)    symmetric, definite where it says so, and within its error bound
    check_solver(solver)    reaches its tolerance, keeps weak duality, can be resumed, and refuses with a way out

Each raises an AssertionError that says what does not hold, and for which numbers. The library's own tests run them
over its tables of losses, kernels and solvers. docs/extending.md shows them at work.

Examples
--------
>>> from maxmargin.problems.losses import Hinge
>>> from maxmargin.testing import check_loss
>>> check_loss(Hinge())
"""

from maxmargin.testing.certificates import check_certificate
from maxmargin.testing.kernels import check_kernel
from maxmargin.testing.losses import check_loss
from maxmargin.testing.solvers import check_solver

__all__ = ["check_certificate", "check_kernel", "check_loss", "check_solver"]
