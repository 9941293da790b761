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

from maxmargin.data.in_step import InStep
from maxmargin.data.labels import show, sides
from maxmargin.data.reduction import Executor, PassStoppedError
from maxmargin.loop.outcome import Outcome
from maxmargin.models.probabilities import FOLDS, fit_sigmoid_in_parts
from maxmargin.multiclass import Run, solve_all
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.held_out import CLASS_NUMBERS, CountFolds, ScoreHeldOut
from maxmargin.results import Result, worst
from maxmargin.status import Status
from maxmargin.system.buffers import forget
from maxmargin.training.calibration import calibration_limits, has_both, never_began

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
    rows, classes = problem.rows, problem.rows.facts.classes
    places, v = sides(classes), np.zeros((len(sides(classes)), FOLDS, problem.d + 1))
    [(counts,)] = rows.reduce([CountFolds(classes, FOLDS)], problem.stop)
    fits = list[tuple[int, int]]()
    for fold, own in enumerate(counts):
        present = np.flatnonzero(np.sum(counts, axis=0) > own)
        for k, side in enumerate(places):
            v[k, fold, -1] = 1.0 if side in present else -1.0  # the fit knows only one of the two classes
            fits += [(k, fold)] * has_both(present, side)
    outcomes = solved(problem, [(places[k], fold) for k, fold in fits], run, at_once)
    if never_began(outcomes):
        return None, outcomes
    for (k, fold), outcome in zip(fits, outcomes, strict=True):
        v[k, fold, :-1], v[k, fold, -1] = outcome.w, outcome.b
    problem.forget_lost()
    while True:
        rows.reduce([ScoreHeldOut(classes, v[k], f"held out {k}") for k in range(len(places))], problem.stop)
        numbers = rows.vector(CLASS_NUMBERS)
        found = [fitted(rows, numbers, f"held out {k}", side) for k, side in enumerate(places)]
        if not problem.forget_lost():  # else a worker was lost meanwhile, with its decision values
            return np.array(found), outcomes


def solved(problem: PassProblem, fits: list[tuple[int, int]], run: Run, at_once: int) -> list[Outcome]:
    """Solve the problem of each class without each fold, all in the same passes."""
    rows: Any = problem.rows
    if (survey := getattr(rows, "survey", None)) is not None:
        survey(np.random.default_rng([run.seed, 3]), problem.stop)  # a new sample: the first one has been released
    workers = max(min(len(fits), at_once), 1)
    shared: Any = InStep(rows, len(fits), workers)
    problems = [replace(without(problem, *fit), rows=shared, slot=str(k)) for k, fit in enumerate(fits)]
    outcomes: list[Outcome] = solve_all(problems, len(fits), run, workers=workers)
    return outcomes


def without(problem: PassProblem, side: int, fold: int, folds: int = FOLDS) -> PassProblem:
    """Return the problem of a class against the rest without a fold."""
    classes = problem.rows.facts.classes
    name = "" if len(classes) == 2 else f"{show(classes[side])} against the rest "
    two = replace(problem.problem, positive=classes[side], fold=fold, folds=folds)
    return replace(problem, problem=two, name=f"{name}without fold {fold + 1} of {folds}", keeps_dual=False)


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
