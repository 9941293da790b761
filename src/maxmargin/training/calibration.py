"""Probabilities for a kernel model: a sigmoid for each pair of classes, fitted to held-out decision values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.data.examples import Examples
from maxmargin.data.pick import pick
from maxmargin.data.rows import count_columns
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.models.kernel_function import kernel_function_of
from maxmargin.models.probabilities import FOLDS, fit_sigmoid, folds_of
from maxmargin.multiclass import Pair, Run, pairs_of, time_shares
from maxmargin.status import Status
from maxmargin.training.kernel_task import KernelTask

CALIBRATION_TOL = 1e-3  # tightest tolerance of fits that only serve probabilities


def calibrated(data: Examples, task: KernelTask, run: Run) -> tuple[np.ndarray | None, list[Outcome]]:
    """Return A and B of each pair, and the outcomes of the fits behind them; None for A and B if a fit never began."""
    limits = replace(run.limits, tol=max(run.limits.tol, CALIBRATION_TOL))
    shares = time_shares(limits, len(data.classes) * (len(data.classes) - 1) // 2)
    found, outcomes = [], list[Outcome]()
    for pair in pairs_of(data.classes, data.codes, task.weights):
        values, own = held_out(pair, task, replace(run, limits=next(shares), keeping=Keeping()))
        outcomes += own
        if any(outcome.epochs == 0 and outcome.status is not Status.CONVERGED for outcome in own):
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
