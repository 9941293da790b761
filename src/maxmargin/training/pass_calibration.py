"""Probabilities of rows on disk or on a cluster: sigmoids of held-out decision values.

Each problem is solved five times without one fold of the rows, which has the weight 0, all in the same passes. One more
pass computes the decision value of each row by the model without its fold. The folds are a hash of the row number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np

from maxmargin.data.reduction import Executor, PassStoppedError
from maxmargin.loop.outcome import Outcome
from maxmargin.models.probabilities import FOLDS, fit_sigmoid_in_parts
from maxmargin.multiclass import Run
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.held_out import CLASS_NUMBERS
from maxmargin.results import Result, worst
from maxmargin.status import Status
from maxmargin.system.buffers import forget
from maxmargin.training.calibration import calibration_limits, never_began
from maxmargin.training.held_out import draw_again, held_out, scores_of, solve_in_step

AT_ONCE = 1 << 20  # decision values in memory at once: they may be in a file


def calibrate(result: Result, problem: PassProblem, run: Run, at_once: int, interrupt: Event) -> None:
    """Give the model of a result its sigmoids, unless time or an interrupt ends the fits for them."""
    model: Any = result.model
    try:
        model.sigmoids, outcomes = calibrated(problem, replace(run, limits=calibration_limits(run)), at_once)
    except PassStoppedError:
        result.status = Status.INTERRUPTED if interrupt.is_set() else Status.TIME_LIMIT
    else:
        result.status = worst([*result.parts, *outcomes])
        result.seconds += sum(outcome.seconds for outcome in outcomes)
    model.training["status"] = result.status.value


def calibrated(problem: PassProblem, run: Run, at_once: int) -> tuple[np.ndarray | None, list[Outcome]]:
    """Return A and B of each problem, and the outcomes of the fits behind them; None if a fit never began."""
    rows, left_out = problem.rows, held_out(problem, FOLDS)
    draw_again(problem, run.seed)
    outcomes = solve_in_step(left_out.problems(problem), run, at_once)
    if never_began(outcomes):
        return None, outcomes

    def sigmoids() -> np.ndarray:
        numbers = rows.vector(CLASS_NUMBERS)
        return np.array([fitted(rows, numbers, scores_of(k), side) for k, side in enumerate(left_out.places)])

    return left_out.scored(left_out.models(outcomes), sigmoids), outcomes


def fitted(rows: Executor, numbers: np.ndarray, scores: str, side: int) -> tuple[float, float]:
    """Return A and B of one problem."""
    return fit_sigmoid_in_parts(partial(parts_of, rows.vector(scores), numbers, side))


def parts_of(scores: np.ndarray, numbers: np.ndarray, side: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield decision values in parts, and whether they are of the class; rows without weight are left out."""
    for start in range(0, len(scores), AT_ONCE):
        own = numbers[start : start + AT_ONCE]
        yield scores[start : start + AT_ONCE][own >= 0], own[own >= 0] == side
        forget(scores)
        forget(numbers)
