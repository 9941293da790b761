"""Contract checks for new losses, kernels and solvers.

    check_loss(loss)        slope and dual term are correct, and compiled code agrees with both
    check_kernel(kernel)    symmetric, positive semidefinite if declared, and within its error bound
    check_solver(solver)    reaches its tolerance, keeps weak duality, can be resumed, and refuses with a way out

Each raises an AssertionError that names the violated property and the values. The library's own tests run them over
its tables of losses, kernels and solvers. docs/extending.md shows how to use them.

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
