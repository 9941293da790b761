"""Checks of a certificate: properties that every certificate has, with any solver."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.certificate import Certified
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.testing.checks import check

SMALLEST = 1e-300
BALANCE = 1e-9  # tolerance of the equality constraints, relative to Σ|α|


def check_certificate(problem: Problem | KernelProblem, found: Certified) -> None:
    """Check weak duality, and that the dual point satisfies its box and equality constraints."""
    check(not found.certificate.gap < 0.0, f"weak duality fails: {found.certificate}")  # NaN if a run diverges
    if isinstance(problem, KernelProblem):
        check_kernel_point(problem, found.alpha)
    else:
        check_linear_point(problem, found.alpha)


def check_linear_point(problem: Problem, alpha: np.ndarray) -> None:
    """Check 0 ≤ α ≤ U, and Σ αy = 0 if the bias is free. Without a ridge, the dual bound covers the residual."""
    check(np.all(alpha >= 0), f"α is below 0: {alpha.min()}")
    check(np.all(alpha <= problem.loss.upper(problem.C)), "α is above its box")
    if problem.bias == "free" and problem.ridge:
        balance = abs(alpha @ problem.y)
        check(balance <= BALANCE * max(alpha.sum(), SMALLEST), f"Σ αy is {balance}, not 0")


def check_kernel_point(problem: KernelProblem, beta: np.ndarray) -> None:
    """Check lo ≤ β ≤ hi, and that the sum of each group is that of the formulation."""
    formulation = problem.formulation
    check(np.all((beta >= formulation.lo) & (beta <= formulation.hi)), "β is outside its box")
    for group, expected in enumerate(formulation.sums):
        own = beta[formulation.group == group]
        off = abs(float(np.sum(own)) - float(expected))
        size = max(float(np.sum(np.abs(own))), abs(float(expected)), SMALLEST)
        check(off <= BALANCE * size, f"Σ β of group {group} is off by {off}")
