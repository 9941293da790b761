"""solver="auto": the choice of a solver for a problem, with a sentence that explains it.

The solver with the least estimated time (`costs.py`) begins. Dual coordinate descent also begins if its epochs may be
so few that trying it costs little; the slope of its gap tells soon. If it will not arrive in time, the next solver goes
on from its point (`Auto`, which the loop asks). benchmarks/results/choices.md holds the times of all solvers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.costs import COSTS, FEWEST, OVERHEAD, Cost, small_newton, small_smo, steepness
from maxmargin.data.passes import combination
from maxmargin.problems.linear import Problem
from maxmargin.problems.losses import HARD_MARGIN
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.base import Solver
from maxmargin.solvers.small.design import has_few_columns, is_small

ASKED = "you asked for it"  # the reason, if the user names the solver
COMMON_LENGTH = 0.9  # ‖mean x‖² / mean ‖x‖²: above it dual_pairs, whose steps depend only on differences of examples
TRIAL = 0.3  # dual steps are tried if at best they take at most this part of the time of the fastest other solver
PROBE_EPOCHS = 14.0  # after these epochs the gap is below SLOPE_HOLDS on data where dual steps are fast: mushrooms
PROBE = 0.1  # dual steps are tried if these epochs take at most this part of the time of the fastest other solver

SMALL_AT_ONCE = 2e6  # a solver for small problems is taken if it needs at most so many nanoseconds
DOUBT = 3.0  # else another one is, if it seems to be this many times faster: on small overlapping data, estimates of
# dual and Newton-type solvers were up to ten times too low. With s below 1 they are right: the factor is then 1

# The change in mid-run. Costs are estimates in the same unit, so the rule depends on no clock.
SPENT_BEFORE_CHANGE = 0.25  # least cost so far, as a part of the cost of the follower
MUCH_SLOWER = 1.5  # the running solver must have at least this many times the cost of the follower left
SLOPE_HOLDS = 0.3  # relative gap from which on its slope predicts the epochs left; above, it predicts too many
FLAT_GAP = 0.9  # a relative gap above this after FLAT_EPOCHS says that the classes overlap: zero_one 0.5, usps 0.97
FLAT_EPOCHS = 40.0
OVERRUN = 3.0  # cost at which a solver without a steady slope is left, in units of its own and of the follower's cost
MANY_STEPS = 1.4  # Newton steps, in units of the expected ones, after which the classes seem separable: dna.scale
CHEAP_TRIAL = 0.3  # dual steps are then tried if PROBE_EPOCHS of them take at most this part of the time of these steps
HOPELESS = 1000.0  # a run without a follower ends if it would take this many times the epochs that it has taken
HOPELESS_EPOCHS = 200.0  # epochs before it may end for that reason

REASONS = {
    "dual_coordinate": "dual coordinate descent, whose step touches one row, has the least estimated cost",
    "dual_pairs": "a free bias, and a hard margin or examples far from the origin: dual variables move in pairs",
    "newton": "a smooth loss: Newton's method takes a handful of steps, and has the least estimated cost",
    "second_order": "Newton steps on a shrinking set of examples have the least estimated cost",
    "interior_point": "dual coordinate descent would be slow for this C: an interior-point method has the least cost",
}
WHY_NO_RIDGE = "without regularisation the dual has no simple feasible set: Newton's method solves the primal"
WHY_SMALL_NEWTON = "few examples and features, and a smooth loss: Newton's method in one compiled call"
WHY_SMALL_SMO = "few examples: pairs of dual variables on all inner products, in one compiled call"
WHY_TRIAL = "dual coordinate descent may need few epochs: it is tried first"


def choose(problem: Problem, small: bool = True) -> tuple[str, str]:
    """Return the name of the solver that begins, and the reason.

    Without `small`, the solvers for small problems are left out.
    """
    if not problem.ridge:
        return "newton", WHY_NO_RIDGE
    first = small_solver(problem) if small and is_small(problem) else None
    if first is not None and first[0].total <= SMALL_AT_ONCE:
        return first[1:]
    costs = costs_of(problem)
    if first is not None and not any(much_faster(problem, name, costs[name], first[0]) for name in costs):
        return first[1:]
    name = min(costs, key=lambda one: costs[one].total)
    dual = next(iter(costs))
    if name != dual and worth_trying(costs[dual], costs[name]):
        return dual, WHY_TRIAL if dual == "dual_coordinate" else REASONS[dual]
    return name, REASONS[name]


def small_solver(problem: Problem) -> tuple[Cost, str, str] | None:
    """Return the solver for small problems that takes this one, its cost and the reason; None if there is none."""
    if has_few_columns(problem) and takes(problem, "small_newton"):
        return small_newton(problem), "small_newton", WHY_SMALL_NEWTON
    if takes(problem, "small_smo"):
        return small_smo(problem), "small_smo", WHY_SMALL_SMO
    return None


def much_faster(problem: Problem, name: str, cost: Cost, small: Cost) -> bool:
    """Whether a solver is faster than the one for small problems, in doubt.

    For a smooth loss both take Newton steps, and newton takes as many: then there is no doubt.
    """
    certain = name == "newton" or steepness(problem) <= 1.0
    return (1.0 if certain else DOUBT) * (cost.total + OVERHEAD) < small.total


def worth_trying(dual: Cost, other: Cost) -> bool:
    """Whether trying dual steps costs little: for as few epochs as they may need, or until their gap tells."""
    return dual.steady and min(dual.total / FEWEST / TRIAL, PROBE_EPOCHS * dual.epoch / PROBE) <= other.total


def cheap_after_newton(problem: Problem, follower: Cost) -> bool:
    """Whether trying dual steps costs little beside the Newton steps after which they are tried: squared hinge only.

    For a strictly convex loss Newton steps are few on separable data too.
    """
    steps = MANY_STEPS * COSTS["newton"](problem).total
    return follower.steady and not problem.loss.strictly_convex and PROBE_EPOCHS * follower.epoch <= CHEAP_TRIAL * steps


def costs_of(problem: Problem, tried: Sequence[str] = ()) -> dict[str, Cost]:
    """Return the costs of the solvers that suit the problem, without those tried. A dual solver comes first."""
    dual = "dual_pairs" if suits_pairs(problem) else "dual_coordinate"
    names = [dual, *(("newton", "second_order", "interior_point") if problem.bounded else ())]
    return {name: COSTS[name](problem) for name in names if name not in tried and takes(problem, name)}


def takes(problem: Problem, name: str) -> bool:
    """Whether the solver takes the problem."""
    return SOLVERS[name].takes.objection(problem) is None


def suits_pairs(problem: Problem) -> bool:
    """Whether the bias is free, and steps on single dual variables would be too slow for it."""
    return problem.bias == "free" and (problem.loss is HARD_MARGIN or far_from_origin(problem))


def far_from_origin(problem: Problem) -> bool:
    """Whether the mean of the examples accounts for most of their squared length."""
    mean = combination(problem.rows, problem.d, np.full(problem.n, 1.0 / problem.n), problem.threads)
    return float(np.sum(np.square(mean))) > COMMON_LENGTH * problem.mean_square


@dataclass(frozen=True)
class Auto:
    """The succession of solvers under solver="auto" (see loop/succession.py): the cheapest that is not yet tried."""

    def follower(self, problem: Problem, tried: Sequence[str]) -> Solver | None:
        """Return the solver with the least estimated cost among those not tried; None if there is none.

        Dual steps follow newton if trying them costs little: second_order would take its steps again.
        """
        if not problem.ridge:
            return None
        costs = costs_of(problem, tried)
        if tried[-1] == "newton" and costs and cheap_after_newton(problem, next(iter(costs.values()))):
            return SOLVERS[next(iter(costs))]
        return SOLVERS[min(costs, key=lambda name: costs[name].total)] if costs else None

    def too_slow(self, problem: Problem, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """Whether the follower is likely to arrive earlier; without one, whether the run is hopeless."""
        running, follower = COSTS.get(tried[-1]), self.follower(problem, tried)
        if running is None:
            return False
        if follower is None:
            return epochs >= HOPELESS_EPOCHS and left > HOPELESS * epochs
        cost, other = running(problem), COSTS[follower.name](problem)
        if follower.name == "second_order" and "newton" in tried:  # the same steps, which were more than expected
            other = other._replace(epochs=OVERRUN * other.epochs)
        if tried[-1] == "newton" and cheap_after_newton(problem, other):
            return epochs > MANY_STEPS * cost.epochs
        return slower(cost, other.total, epochs, left, gap)


def slower(cost: Cost, other: float, epochs: float, left: float, gap: float) -> bool:
    """Whether a solver that has taken `epochs` to the relative gap `gap` is slower than one that takes `other`."""
    spent = cost.epoch * epochs
    if not cost.steady:
        return spent > OVERRUN * max(cost.total, other)
    if gap > FLAT_GAP and epochs >= FLAT_EPOCHS and cost.epoch * (cost.most - epochs) > MUCH_SLOWER * other:
        return True
    if gap > SLOPE_HOLDS:
        return spent > other if cost.total <= other else epochs >= PROBE_EPOCHS
    return spent > SPENT_BEFORE_CHANGE * other and cost.epoch * left > MUCH_SLOWER * other
