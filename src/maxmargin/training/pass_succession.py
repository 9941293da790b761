"""The solvers of a run by passes: interior_point goes on where second_order is slow, and the other way round.

Augmented Lagrangians (second_order) need 10 to 25 passes where there are many rows for each feature, and hundreds where
there are few. An interior-point step takes three passes whatever the rows, and 10 to 25 steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.solvers import PASS_SOLVERS
from maxmargin.solvers.base import Solver
from maxmargin.solvers.passes.newton import LARGEST_MATRIX

INTERIOR_PASSES = 75.0  # passes of interior_point: three a step, at most 25 steps to 1e-6 in tests/solvers
LEAST_PASSES = 30.0  # passes of second_order before it is judged: 10 to 25 are enough on most data
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
        return few and tried[-1] == "second_order" and epochs >= LEAST_PASSES and left > INTERIOR_PASSES
