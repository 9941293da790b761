"""Probabilities: a sigmoid for each pair of classes, or for each class against the rest, of held-out decision values.

Each problem is solved five times, each time without one fold of the examples. The examples of a fold get their decision
values from the fit without them. If a fold holds all examples of a class, its decision values are those of a fit that
knows only the other class: +1 or −1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from maxmargin.data.examples import Examples
from maxmargin.data.labels import show, sides, signs
from maxmargin.data.passes import scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import count_columns
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.loop.stopping import Limits
from maxmargin.models.kernel_function import kernel_function_of
from maxmargin.models.probabilities import FOLDS, fit_sigmoid, folds_of
from maxmargin.multiclass import Pair, Run, pairs_of, solve_all, time_shares
from maxmargin.problems.linear import Problem
from maxmargin.status import Status
from maxmargin.training.kernel_task import KernelTask

CALIBRATION_TOL = 1e-3  # tightest tolerance of fits that only serve probabilities


def calibrated(data: Examples, task: KernelTask, run: Run) -> tuple[np.ndarray | None, list[Outcome]]:
    """Return A and B of each pair, and the outcomes of the fits behind them; None for A and B if a fit never began."""
    limits = calibration_limits(run)
    shares = time_shares(limits, len(data.classes) * (len(data.classes) - 1) // 2)
    found, outcomes = [], list[Outcome]()
    for pair in pairs_of(data.classes, data.codes, task.weights):
        values, own = held_out(pair, task, replace(run, limits=next(shares), keeping=Keeping()))
        outcomes += own
        if never_began(own):
            return None, outcomes
        counted = task.weights[pair.members] > 0.0
        found.append(fit_sigmoid(values[counted], pair.y[counted] > 0.0))
    return np.array(found), outcomes


def held_out(pair: Pair, task: KernelTask, run: Run) -> tuple[np.ndarray, list[Outcome]]:
    """Return the decision value of each example of a pair from a fit without its fold, and the outcomes of the fits."""
    weights, values = task.weights[pair.members], np.empty(len(pair.y))
    folds = folds_of(np.where(weights > 0.0, pair.y, 0.0))
    shares, outcomes = time_shares(run.limits, FOLDS), []
    for fold in range(FOLDS):
        own, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        present = np.unique(pair.y[rest[weights[rest] > 0.0]])
        if len(present) < 2:
            values[own] = np.sum(present)
            continue
        name = f"{pair.name} without fold {fold + 1} of {FOLDS}".strip()
        outcome = replace(run, limits=next(shares)).solve(task.problem(pair, rest, name))
        outcomes.append(outcome)
        whole = task.placed(outcome, pair.members[rest])
        function = kernel_function_of(task.rows, task.kernel, whole, {"d": count_columns(task.rows)})
        values[own] = function.decide(pick(task.rows, pair.members[own]), task.threads)
    return values, outcomes


def calibrated_linear(data: Examples, problem: Problem, run: Run) -> tuple[np.ndarray | None, list[Outcome]]:
    """Like `calibrated`, for one problem of two classes or one for each class against the rest.

    The examples of a fold get the weight 0, so that no row is copied.
    """
    counted, places = problem.C > 0.0, sides(data.classes)
    folds = folds_of(np.where(counted, data.codes, -1))
    values, outcomes = np.empty((data.n, len(places))), list[Outcome]()
    shares = time_shares(calibration_limits(run), FOLDS)
    for fold in range(FOLDS):
        own = folds == fold
        part = replace(problem, C=np.where(own, 0.0, problem.C))
        part.__dict__["squared_norms"] = problem.squared_norms
        present = np.unique(data.codes[part.C > 0.0])
        apart = [k for k, side in enumerate(places) if has_both(present, side)]
        values[own] = [1.0 if side in present else -1.0 for side in places]
        limited = replace(run, limits=next(shares), keeping=Keeping())
        found = solve_all(without_fold(part, data, [places[k] for k in apart], fold), len(apart), limited)
        outcomes += found
        if never_began(found):
            return None, outcomes
        for k, outcome in zip(apart, found, strict=True):
            values[own, k] = scores(problem.rows, outcome.w, problem.threads)[own] + outcome.b
    sigmoids = [fit_sigmoid(values[counted, k], data.codes[counted] == side) for k, side in enumerate(places)]
    return np.array(sigmoids), outcomes


def without_fold(part: Problem, data: Examples, places: list[int], fold: int) -> Iterator[Problem]:
    """Yield the problem of each class against the rest, without a fold."""
    for side in places:
        name = "" if len(data.classes) == 2 else f"{show(data.classes[side])} against the rest "
        yield part.relabelled(signs(data.codes, side), f"{name}without fold {fold + 1} of {FOLDS}")


def has_both(present: np.ndarray, side: int) -> bool:
    """Whether a class and at least one other are among those present."""
    return side in present and len(present) > 1


def calibration_limits(run: Run) -> Limits:
    """Return the limits of fits that only serve probabilities."""
    return replace(run.limits, tol=max(run.limits.tol, CALIBRATION_TOL))


def never_began(outcomes: list[Outcome]) -> bool:
    """Whether the time or an interrupt left one of the fits without a single step."""
    return any(outcome.epochs == 0 and outcome.status is not Status.CONVERGED for outcome in outcomes)
