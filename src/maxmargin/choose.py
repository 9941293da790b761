"""solver="auto": which solver for which problem, and the sentence that says why."""

from __future__ import annotations

import numpy as np

from maxmargin.losses import HARD_MARGIN
from maxmargin.passes import combination
from maxmargin.problem import Problem
from maxmargin.solvers.newton import small_enough
from maxmargin.solvers.newton_system import FEW

MANY = 200  # examples for each feature
SOME = 10
FAR = 0.9  # ‖mean x‖² as a part of the mean ‖x‖²
LONG = 5_000_000  # values
SOME_STEEPNESS = 3.0
LARGE = 50.0  # C ‖x‖²: beyond, single dual variables are long on the way,
VERY_LARGE = 1e4  # and beyond this, for ever


def suits_second_order(problem: Problem) -> bool:
    """Whether there are few features, and either many more examples or a C that makes dual steps crawl."""
    size = problem.d + 1
    if size > FEW // 2 or problem.n < SOME * size:
        return False
    if problem.n >= MANY * size:
        return problem.nnz >= LONG or steepness(problem) > SOME_STEEPNESS
    return steepness(problem) > LARGE


def steepness(problem: Problem) -> float:
    """C ‖x‖², in the mean."""
    return problem.mean_C * (problem.mean_square + (1.0 if problem.bias == "free" else problem.bias_square))


def crawls(problem: Problem) -> bool:
    """Whether dual steps would take for ever, and the matrix of a Newton step can be written out instead."""
    return problem.bounded and steepness(problem) > VERY_LARGE and min(problem.n, problem.d + 1) <= FEW


def far_from_origin(problem: Problem) -> bool:
    """Whether the examples have most of their length in common."""
    mean = combination(problem.rows, problem.d, np.full(problem.n, 1.0 / problem.n), problem.threads)
    return float(np.sum(np.square(mean))) > FAR * problem.mean_square


def choose(problem: Problem) -> tuple[str, str]:
    """The name of the solver, and why it."""
    if not problem.ridge:
        return "newton", "without regularisation the dual has no box to move in, so the primal is solved"
    if problem.loss.smooth and problem.d <= problem.n and small_enough(problem):
        return "newton", "a smooth loss and few features: second derivatives take a handful of steps"
    if problem.kind == "hinge" and suits_second_order(problem):
        return "second_order", "many examples for each feature, or a large C: a few Newton steps on ever fewer of them"
    if crawls(problem):
        return "second_order", "values so large for this C that dual variables would crawl: Newton steps"
    if problem.bias == "free" and (problem.loss is HARD_MARGIN or far_from_origin(problem)):
        return "dual_pairs", "only differences of examples count where the bias is free, so they move in pairs"
    return "dual_coordinate", "small or wide data: one dual variable at a time, each at the cost of its row"
