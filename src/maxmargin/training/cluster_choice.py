"""solver="auto" on a cluster: the solver that begins, and the one that goes on if it is too slow.

What counts is the number of rounds and the size of their messages. With a matrix of the features a round sends d²
numbers, and 10 to 25 rounds are enough. Otherwise it sends O(d). Rounds to a gap of 1e-3 in 4 partitions, for C = 0.1,
1 and 10 (the estimates were fitted to the first two data sets):

                    squared hinge                              logistic
                    newton       lbfgs        cocoa            newton     lbfgs      cocoa
    rcv1_vw_1000    12 22  84     8 32 100     6 12  16         5 11 19    6  9 16   15 25  9
    20news.binary   14 32 116    23 66 253     6 13  32         6 14 25    6 19 45    7 19 11
    reuters         19 40 151    24 53 198    11 29 117        11 12 41    9 21 39   18 68 40
    url_2000       139          281           98               (C = 0.1 only)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from maxmargin.data.reduction import RowFacts
from maxmargin.problems.losses import Loss
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.solvers.base import Solver
from maxmargin.solvers.passes.cocoa import sweeps_of
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.training.pass_costs import PassCost, Place, Sizes, cost_of
from maxmargin.training.pass_succession import BY_MATRIX, PassSuccession

ROUND = 4e6  # nanoseconds of a round of actors: 2 to 5 ms with LocalCluster, four partitions
NUMBER = 10.0  # nanoseconds of sending one number, at each level of the tree that adds up totals
PROBE_ROUNDS = 10.0  # rounds before the slope of the gap counts
MUCH_SLOWER = 1.5  # the running solver must have at least this many times the cost of the follower left

REASONS = {
    "newton": "rows on a cluster, a smooth loss: Newton steps have the least estimated cost",
    "second_order": "rows on a cluster: Newton steps on the hinge loss have the least estimated cost",
    "interior_point": "rows on a cluster: an interior-point method has the least estimated cost",
    "lbfgs": "rows on a cluster, a smooth loss: quasi-Newton steps have the least estimated cost",
    "cocoa": "rows on a cluster: dual coordinate descent on all partitions at once has the least estimated cost",
}


def choose_by_cost(facts: RowFacts, C: float, loss: Loss, workers: int) -> tuple[str, str]:
    """Return the name of the solver that begins, and the reason."""
    name = min(candidates(facts.d, loss), key=lambda one: cost_on_cluster(one, facts, C, loss, workers).total)
    return name, REASONS[name]


def candidates(d: int, loss: Loss) -> list[str]:
    """Return the solvers that may begin."""
    if loss.smooth:
        return ["newton", "lbfgs", "cocoa"]
    return ["cocoa"] if d > LARGEST_MATRIX else ["second_order", "interior_point", "cocoa"]


def cost_on_cluster(name: str, facts: RowFacts, C: float, loss: Loss, workers: int) -> PassCost:
    """Return the estimated cost of a solver."""
    problems = len(facts.classes) if len(facts.classes) > 2 else 1
    sizes = Sizes(facts.n, facts.d, facts.nnz / max(facts.n, 1), facts.squares / max(facts.n, 1), problems)
    workers = max(workers, 1)  # none in a simulation
    number = NUMBER * (1.0 + log2(workers))
    return cost_of(name, sizes, Place(0.0, workers, workers, ROUND, number), C, loss)


@dataclass(frozen=True)
class OnCluster(PassSuccession):
    """The succession of solvers under solver="auto" (see loop/succession.py): Newton steps go on after cocoa."""

    workers: int = 1

    def follower(self, problem: Any, tried: Sequence[str]) -> Solver | None:
        """Return the solver by Newton steps after cocoa; None for hinge with too many features for a matrix."""
        if tried[-1] != "cocoa":
            return super().follower(problem, tried)
        if not problem.loss.smooth and problem.d > LARGEST_MATRIX:
            return None
        return PASS_SOLVERS[min(BY_MATRIX[problem.loss.smooth], key=lambda name: self.cost(problem, name).total)]

    def too_slow(self, problem: Any, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """Whether cocoa has far more cost left than the follower is likely to have."""
        if tried[-1] != "cocoa":
            return super().too_slow(problem, tried, epochs, left, gap)
        follower = self.follower(problem, tried)
        if follower is None:
            return False
        visits = 1.0 + sweeps_of(problem)  # of each row in a round
        own, other = self.cost(problem, "cocoa"), self.cost(problem, follower.name)
        return epochs >= PROBE_ROUNDS * visits and own.one * left / visits > MUCH_SLOWER * other.total

    def cost(self, problem: Any, name: str) -> PassCost:
        """Return the estimated cost of a solver."""
        return cost_on_cluster(name, problem.rows.facts, problem.problem.C, problem.loss, self.workers)
