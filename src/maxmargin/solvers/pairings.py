"""Which solver takes which problem: one table, and the sentence that refuses the rest and names a solver that can.

Every problem is taken by the first, or by newton where nothing is regularised.
"""

from __future__ import annotations

from typing import NamedTuple

from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem

SOFT = ("hinge", "squared_hinge", "logistic")
SMOOTH = ("squared_hinge", "logistic")
HARD = ("hard_margin",)
BARE = ("unregularised_logistic",)
FORMULATIONS = ("C-SVC", "epsilon-SVR", "one-class", "nu-SVC", "nu-SVR")

TAUGHT = ("smo_simple", "pegasos")

ANY = ("none", "regularised", "free")
INSIDE = ("none", "regularised")
FREE = ("free",)


class Takes(NamedTuple):
    """The kinds of problem and the biases that a solver takes, in every combination."""

    kinds: tuple[str, ...]
    biases: tuple[str, ...]


PAIRINGS = {
    "dual_coordinate": Takes(SOFT + HARD, ANY),
    "dual_pairs": Takes(SOFT + HARD, FREE),
    "second_order": Takes(SOFT, ANY),
    "interior_point": Takes(("hinge",), ANY),
    "newton": Takes(SMOOTH + BARE, ANY),
    "lbfgs": Takes(SMOOTH + BARE, ANY),
    "gradient_descent": Takes(SOFT, ANY),
    "sgd": Takes(SOFT, ANY),
    "adaptive": Takes(SOFT, ANY),
    "pegasos": Takes(("hinge", "C-SVC"), INSIDE),
    "implicit": Takes(("hinge",), INSIDE),
    "smo_simple": Takes(("hinge", "C-SVC"), FREE),
    "perceptron": Takes(("hinge", *HARD), ANY),
    "smo": Takes(FORMULATIONS, ("none", "free")),
}


def refusal(name: str, problem: Problem | KernelProblem) -> str | None:
    """Why that solver cannot solve the problem, and which can; None if it can."""
    takes = PAIRINGS[name]
    if not takes_kind(takes, problem):
        return f"{name} {kind_reason(takes, problem.kind)}: use {able(problem)}"
    if name in TAUGHT and isinstance(problem, KernelProblem) and not problem.bounded:
        return f"{name} needs a kernel that is positive semidefinite, and {problem.kernel} is not: use {able(problem)}"
    if problem.bias not in takes.biases:
        return f"{name} {bias_reason(takes, problem)}: use {able(problem)}"
    return None


def takes_kind(takes: Takes, problem: Problem | KernelProblem) -> bool:
    """Whether the kind is named, or is a loss from outside and all losses of its sort are taken."""
    if problem.kind in takes.kinds or isinstance(problem, KernelProblem) or not problem.bounded:
        return problem.kind in takes.kinds
    of_its_sort = SMOOTH if problem.loss.smooth else SOFT
    return problem.kind not in SOFT and set(of_its_sort) <= set(takes.kinds)


def kind_reason(takes: Takes, kind: str) -> str:
    """What is wrong with the kind of problem."""
    if kind in FORMULATIONS:
        return "has no step for kernels"
    if takes.kinds == FORMULATIONS:
        return "is made for kernels, and none was given"
    if kind in HARD:
        return "needs a finite C, and C=inf is a hard margin"
    if kind in BARE:
        return "needs a finite C, and C=inf (lam=0) leaves logistic without regularisation"
    if takes.kinds[: len(SMOOTH)] == SMOOTH:
        return f"needs a smooth loss, and {kind} is not (loss='squared_hinge' is)"
    return f"is made for hinge, not for {kind}"


def bias_reason(takes: Takes, problem: Problem | KernelProblem) -> str:
    """What is wrong with the bias."""
    if problem.bias == "free":
        other = "none" if problem.kind in FORMULATIONS else "regularised"
        return f"has no step for a free bias (bias={other!r} it can do)"
    return f"keeps Σ αy at 0, which bias={problem.bias!r} does not ask"


def able(problem: Problem | KernelProblem) -> str:
    """A solver that takes the problem."""
    if problem.kind in FORMULATIONS:
        return "solver='smo'"
    if problem.kind in BARE:
        return "solver='newton'"
    return "solver='dual_coordinate'"
