"""The solvers of a run by passes: interior_point goes on where second_order is slow, and the other way round.

Augmented Lagrangians (second_order) need 10 to 25 passes where there are many rows for each feature, and hundreds where
there are few. An interior-point step takes three passes whatever the rows, each at about twice the time, and 10 to 70
steps are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.solvers import PASS_SOLVERS
from maxmargin.solvers.base import Solver
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.training.pass_costs import interior_passes

STEEP = 1e3  # C ‖x‖² for which the passes of interior_point are estimated
PASS_OF_INTERIOR_POINT = 2.0  # the time of one of them, as a multiple of that of second_order
LEAST_PART = 0.5  # part of the cost of interior_point that second_order takes before it is judged
MANY_ROWS = 200.0  # rows per feature up to which interior_point takes fewer passes: kddcup99 has 4,000, madelon 5
HOPELESS = 10.0  # a run ends if it needs this many times the passes so far, and no other solver is left
LEAST_BEFORE_END = 300.0  # passes before a run may end for that reason
BY_MATRIX = {True: ("newton",), False: ("second_order", "interior_point")}  # solvers that sum matrices: smooth or not


@dataclass(frozen=True)
class PassSuccession:
    """For hinge, the other one of second_order and interior_point goes on if the first one stalls or is too slow."""

    def follower(self, problem: Any, tried: Sequence[str]) -> Solver | None:
        """Return the solver that goes on after those tried; None if there is none."""
        if problem.loss.smooth or problem.d > LARGEST_MATRIX:
            return None
        other = next((name for name in BY_MATRIX[False] if name not in tried), None)
        return None if other is None else PASS_SOLVERS[other]

    def too_slow(self, problem: Any, tried: Sequence[str], epochs: float, left: float, gap: float) -> bool:
        """Whether another solver would need fewer passes, or none is left and the run will not end."""
        if self.follower(problem, tried) is None:
            return epochs >= LEAST_BEFORE_END and left > HOPELESS * epochs
        few = problem.n <= MANY_ROWS * problem.d
        as_many = PASS_OF_INTERIOR_POINT * interior_passes(problem.n, STEEP)
        return few and tried[-1] == "second_order" and epochs >= LEAST_PART * as_many and left > as_many
