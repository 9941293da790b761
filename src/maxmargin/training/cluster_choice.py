"""solver="auto" on a cluster: the solver that begins, and the one that goes on if it is too slow.

What counts is the number of rounds and the size of their messages. With a matrix of the features a round sends d²
numbers, and 10 to 25 rounds are enough. Otherwise it sends O(d). Rounds to a gap of 1e-3 in 4 partitions, for C = 0.1,
1 and 10 (the choice was made on the first two data sets):

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
from typing import Any

from maxmargin.problems.losses import Loss
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.solvers.base import Solver
from maxmargin.solvers.passes.cocoa import sweeps_of
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.training.pass_succession import PassSuccession, by_newton_steps

LARGE_MATRIX = 1000  # features above which dual steps are tried before a matrix: it takes 8 MB in each message
ROUNDS = {"second_order": 25.0, "interior_point": 60.0, "newton": 60.0}  # usual number of rounds of a follower
PROBE_ROUNDS = 10.0  # rounds before the slope of the gap counts
MUCH_SLOWER = 1.5  # the running solver must have at least this many times the rounds of the follower left

SMOOTH = "rows on a cluster, a smooth loss: Newton steps, one for each round"
WIDE = "rows on a cluster, a smooth loss and many features: Newton steps by conjugate gradients, a product a round"
HINGE = "rows on a cluster: Newton steps on the hinge loss, by rounds over all rows"
DUAL = "rows on a cluster and many features: dual coordinate descent on all partitions at once"


def choose_by_sizes(loss: Loss, n: int, d: int) -> tuple[str, str]:
    """Return the name of the solver that begins, and the reason."""
    if suits_cocoa(loss, d):
        return "cocoa", DUAL
    if not loss.smooth:
        return by_newton_steps(n, d, smooth=False), HINGE
    return "newton", SMOOTH if d <= LARGEST_MATRIX else WIDE


def suits_cocoa(loss: Loss, d: int) -> bool:
    """Whether dual steps are tried: for hinge, and for squared hinge if no matrix is possible."""
    return d > LARGE_MATRIX if not loss.smooth else d > LARGEST_MATRIX and loss.name == "squared_hinge"


@dataclass(frozen=True)
class OnCluster(PassSuccession):
    """The succession of solvers under solver="auto" (see loop/succession.py): Newton steps go on after cocoa."""

    def follower(self, problem: Any, tried: Sequence[str]) -> Solver | None:
        """Return the solver by Newton steps after cocoa; None for hinge with too many features for a matrix."""
        if tried[-1] != "cocoa":
            return super().follower(problem, tried)
        if not problem.loss.smooth and problem.d > LARGEST_MATRIX:
            return None
        return PASS_SOLVERS[by_newton_steps(problem.n, problem.d, problem.loss.smooth)]

    def too_slow(self, problem: Any, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """Whether cocoa has far more rounds left than the follower usually takes."""
        if tried[-1] != "cocoa":
            return super().too_slow(problem, tried, epochs, left, gap)
        follower = self.follower(problem, tried)
        if follower is None:
            return False
        visits = 1.0 + sweeps_of(problem)  # of each row in a round
        return epochs >= PROBE_ROUNDS * visits and left > MUCH_SLOWER * ROUNDS[follower.name] * visits
