"""solver="auto": which solver for which problem, and the sentence that says why."""

from __future__ import annotations

from maxmargin.problem import Problem
from maxmargin.solvers.newton import small_enough


def choose(problem: Problem) -> tuple[str, str]:
    """The name of the solver, and why it."""
    if not problem.ridge:
        return "newton", "without regularisation the dual has no box to move in, so the primal is solved"
    if problem.loss.smooth and problem.d <= problem.n and small_enough(problem):
        return "newton", "a smooth loss and few features: second derivatives take a handful of steps"
    if problem.bias == "free":
        return "dual_pairs", "a free bias ties the dual variables together, so they move in pairs"
    return "dual_coordinate", f"with bias {problem.bias} each dual variable can be solved for on its own"
