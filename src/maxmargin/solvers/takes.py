"""Declare which problems a solver can solve, and explain why it cannot solve the others.

    class Newton:
        takes = Takes(SMOOTH_LOSSES, unregularised=True)

A solver supports every combination of the values it declares. The error message names the unsupported value;
`solvers.refusal` adds the name of a solver that can solve the problem.
"""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import BIASES, UNREGULARISED, Problem
from maxmargin.problems.losses import HARD_MARGIN, LOSSES

EVERY_LOSS = tuple(LOSSES)
SMOOTH_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.smooth)
EVERY_FORMULATION = ("C-SVC", "epsilon-SVR", "one-class", "nu-SVC", "nu-SVR")


@dataclass(frozen=True)
class Takes:
    """The problems that a solver can solve.

    Parameters
    ----------
    losses : tuple of str
        Supported losses of linear problems with a finite C.
    biases : tuple of str
        Supported treatments of the bias.
    hard_margin : bool
        Whether C = inf is supported for losses whose limit is a hard margin.
    unregularised : bool
        Whether C = inf, which means no regularisation, is supported for the other losses.
    formulations : tuple of str
        Supported formulations of kernel problems.
    indefinite : bool
        Whether kernels that are not positive semidefinite are supported.
    only_named : bool
        Whether the solver knows the formulas of its losses, so that it takes no other loss of the same sort.
    """

    losses: tuple[str, ...] = ()
    biases: tuple[str, ...] = BIASES
    hard_margin: bool = False
    unregularised: bool = False
    formulations: tuple[str, ...] = ()
    indefinite: bool = False
    only_named: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The supported kinds of problem, as named by `problem.kind`."""
        unregularised = tuple(f"{UNREGULARISED}{name}" for name in self.losses) * self.unregularised
        return self.losses + (HARD_MARGIN.name,) * self.hard_margin + unregularised + self.formulations

    def objection(self, problem: Problem | KernelProblem) -> str | None:
        """Return why the problem is not supported; None if it is."""
        if not self.takes_kind(problem):
            return self.objection_to_kind(problem.kind)
        if isinstance(problem, KernelProblem) and not (problem.bounded or self.indefinite):
            return f"needs a kernel that is positive semidefinite, and {problem.kernel} is not"
        if problem.bias not in self.biases:
            return self.objection_to_bias(problem)
        return None

    def takes_kind(self, problem: Problem | KernelProblem) -> bool:
        """Return whether the kind of problem is supported.

        A user-defined loss is supported if all built-in losses are, or for a smooth loss, all smooth ones.
        """
        if isinstance(problem, KernelProblem):
            return problem.kind in self.formulations
        if problem.loss is HARD_MARGIN:
            return self.hard_margin
        of_its_sort = SMOOTH_LOSSES if problem.loss.smooth else EVERY_LOSS
        named = problem.loss.name in self.losses or (not self.only_named and set(of_its_sort) <= set(self.losses))
        return named and (self.unregularised or problem.ridge > 0)

    def objection_to_kind(self, kind: str) -> str:
        """Return why that kind of problem is not supported."""
        if kind in EVERY_FORMULATION:
            return (
                f"is made for {self.formulations[0]}, not for {kind}"
                if self.formulations
                else "has no step for kernels"
            )
        if not self.losses:
            return "is made for kernels, and none was given"
        if kind == HARD_MARGIN.name:
            return "needs a finite C, and C=inf is a hard margin"
        if kind.startswith(UNREGULARISED):
            loss = kind.removeprefix(UNREGULARISED)
            return f"needs a finite C, and C=inf (lam=0) leaves {loss} without regularisation"
        if self.losses == SMOOTH_LOSSES and not self.only_named:
            return f"needs a smooth loss, and {kind} is not (loss={SMOOTH_LOSSES[0]!r} is)"
        return f"is made for {' and '.join(self.losses)}, not for {kind}"

    def objection_to_bias(self, problem: Problem | KernelProblem) -> str:
        """Return why the bias of the problem is not supported."""
        if problem.bias == "free":
            other = "none" if isinstance(problem, KernelProblem) else "regularised"
            return f"has no step for a free bias (bias={other!r} it can do)"
        return f"keeps Σ αy at 0, which bias={problem.bias!r} does not ask"
