"""A certificate is a theorem: what must hold at every one of them, whatever the solver did."""

from __future__ import annotations

import numpy as np

from maxmargin.problems.certificate import Certified
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.testing.checks import check

SMALLEST = 1e-300
BALANCE = 1e-9  # of Σ|α|: how far a sum of α may be from where it must be


def check_certificate(problem: Problem | KernelProblem, found: Certified) -> None:
    """Check weak duality, that the dual point is in its box, and that its sums are what they must be."""
    check(not found.certificate.gap < 0.0, f"weak duality fails: {found.certificate}")  # NaN where a run diverges
    if isinstance(problem, KernelProblem):
        check_kernel_point(problem, found.alpha)
    else:
        check_linear_point(problem, found.alpha)


def check_linear_point(problem: Problem, alpha: np.ndarray) -> None:
    """0 ≤ α ≤ U, and Σ αy = 0 where the bias is free; without a ridge the bound pays for what is left."""
    check(np.all(alpha >= 0), f"α is below 0: {alpha.min()}")
    check(np.all(alpha <= problem.loss.upper(problem.C)), "α is above its box")
    if problem.bias == "free" and problem.ridge:
        balance = abs(alpha @ problem.y)
        check(balance <= BALANCE * max(alpha.sum(), SMALLEST), f"Σ αy is {balance}, not 0")


def check_kernel_point(problem: KernelProblem, beta: np.ndarray) -> None:
    """Lo ≤ β ≤ hi, and the sum of each group is what the formulation asks for."""
    formulation = problem.formulation
    check(np.all((beta >= formulation.lo) & (beta <= formulation.hi)), "β is outside its box")
    for group, expected in enumerate(formulation.sums):
        own = beta[formulation.group == group]
        off = abs(float(np.sum(own)) - float(expected))
        size = max(float(np.sum(np.abs(own))), abs(float(expected)), SMALLEST)
        check(off <= BALANCE * size, f"Σ β of group {group} is off by {off}")
