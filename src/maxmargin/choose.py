"""solver="auto": which solver for which problem, and the sentence that says why."""

from __future__ import annotations

from maxmargin.problem import Problem
from maxmargin.solvers.newton import small_enough
from maxmargin.solvers.newton_system import FEW

MANY = 200  # examples for each feature
SOME = 10
LARGE = 50.0  # C ‖x‖²: beyond, single dual variables are long on the way


def suits_second_order(problem: Problem) -> bool:
    """Whether there are few features, and either many more examples or a C that makes dual steps crawl."""
    size = problem.d + 1
    if size > FEW // 2 or problem.n < SOME * size:
        return False
    square = problem.mean_square + (1.0 if problem.bias == "free" else problem.bias_square)
    return problem.n >= MANY * size or problem.mean_C * square > LARGE


def choose(problem: Problem) -> tuple[str, str]:
    """The name of the solver, and why it."""
    if not problem.ridge:
        return "newton", "without regularisation the dual has no box to move in, so the primal is solved"
    if problem.loss.smooth and problem.d <= problem.n and small_enough(problem):
        return "newton", "a smooth loss and few features: second derivatives take a handful of steps"
    if problem.kind == "hinge" and suits_second_order(problem):
        return "second_order", "many examples for each feature, or a large C: a few Newton steps on ever fewer of them"
    if problem.bias == "free":
        return "dual_pairs", "a free bias ties the dual variables together, so they move in pairs"
    return "dual_coordinate", f"with bias {problem.bias} each dual variable can be solved for on its own"
