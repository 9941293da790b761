"""`tune`: choose C, and γ of a kernel, by cross-validation, and train the chosen model on all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from maxmargin.data.examples import Examples
from maxmargin.errors import ParameterError
from maxmargin.loop.interrupts import noticed
from maxmargin.regularisation_path import checked
from maxmargin.results import Result
from maxmargin.settings.settings import Settings, settings_of
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.values import is_number
from maxmargin.training.train import fit, fit_examples
from maxmargin.tuning.grid import grid
from maxmargin.tuning.plan import Plan, Searched, searched
from maxmargin.tuning.scoring import scorer_of
from maxmargin.tuning.table import RULES, Candidate
from maxmargin.tuning.tuning import Tuning

NEITHER = ("lam", "warm", "checkpoint", "resume", "force")  # parameters of `train` alone
NOT_TAKEN = {"tune": ("C", "nu", *NEITHER), "cross_validate": NEITHER}
REFIT_PART = 0.2  # of the time limit, which is kept for training on all rows
LEAST_SECONDS = 1.0  # for training on all rows, if the search has taken longer


@memory_errors()
def tune(
    X: Any,
    y: Any = None,
    *,
    Cs: Iterable[float] | None = None,
    gammas: Iterable[float] | None = None,
    folds: Any = 5,
    groups: Any = None,
    order: str = "random",
    scoring: Any = None,
    rule: str = "one_standard_error",
    refit: bool = True,
    every_fold: bool = False,
    max_seconds: float | None = None,
    callback: Callable[[Tuning], Any] | None = None,
    **options: Any,
) -> Tuning:
    """Choose C, and γ of a kernel, by cross-validation; then train with the chosen values on all rows.

    Parameters
    ----------
    X, y : as for `train`
    Cs : the values of C; by default nine from 0.01 to 100, with a kernel five from 0.1 to 1000
    gammas : the values of γ; by default five around 1/(d var X) for a Gaussian kernel
    folds : the number of folds, a splitter of scikit-learn, or a list of pairs (train, test) of row numbers
    groups : one value for each row, or the name of a column of the table, which is then no feature; rows with the same
        value are in the same fold
    order : "random" folds, stratified by class, or "time": rows are in time order, and each fold is later than the rows
        that it is trained on
    scoring : the name of a scorer of scikit-learn or a scorer; by default the accuracy, or R² of a regression
    rule : "one_standard_error" chooses the smallest γ and C whose mean score is within one standard error of the best;
        "best" chooses the best
    refit : whether to train the chosen model on all rows
    every_fold : whether every pair is scored on all folds. By default a pair is dropped when its first folds show that
        it will not be chosen: a simpler one is at least as good as it can become, or it is further behind the best than
        chance explains (three standard deviations)
    max_seconds : time limit; the choice is then among what has been tried
    callback : called with the `Tuning` after each fit; a true return value ends the search
    **options : parameters of `train`, except C, lam, nu, warm, checkpoint, resume and force. Fits of folds reach 10
        times `tol`, the chosen model `tol`

    Files that do not fit in memory, and rows on a cluster, are searched in passes over the rows, for all folds and
    several C at once. Then the folds are random.

    Returns
    -------
    Tuning
        with `C`, `gamma`, `candidates` (mean score, standard error and scores of each pair), `result` and `model`.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0], [0.5], [1.0], [3.0], [3.5], [4.0]], [0, 0, 0, 1, 1, 1]
    >>> tuned = maxmargin.tune(X, y, Cs=[0.001, 10.0], folds=3, rule="best")
    >>> tuned.C, tuned.chosen.mean, tuned.model.predict([[1.2]]).tolist()
    (10.0, 1.0, [0])
    """
    if rule not in RULES:
        raise ParameterError(f"rule={rule!r} is not known: choose one of {', '.join(RULES)}")
    settings, began = settings_for("tune", X, y, options, max_seconds), time.perf_counter()
    scorer, limit = scorer_of(scoring, settings.task), np.inf if max_seconds is None else max_seconds
    with noticed() as interrupt:
        until = began + ((1.0 - REFIT_PART) if refit else 1.0) * limit
        table, times = partial(grid, Cs, gammas), (began, until)
        tuning, found = searched(
            Plan(settings, folds, groups, order, scorer, rule, table, times, interrupt, callback, every_fold)
        )
        if refit and tuning.chosen is not None:
            interrupt.clear()  # a first Ctrl-C ends the search, a second one the training on all rows
            tuning.result = refitted(found, tuning.chosen, limit - (time.perf_counter() - began))
            tuning.result.model.training["tuning"] = tuning.saved()
        tuning.seconds = time.perf_counter() - began
    return tuning


@memory_errors()
def cross_validate(
    X: Any,
    y: Any = None,
    *,
    C: float = 1.0,
    folds: Any = 5,
    groups: Any = None,
    order: str = "random",
    scoring: Any = None,
    max_seconds: float | None = None,
    **options: Any,
) -> Candidate:
    """Score one choice of parameters by cross-validation: train without each fold in turn, and score the fold.

    Parameters
    ----------
    X, y, C : as for `train`
    folds, groups, order, scoring, max_seconds : as for `tune`
    **options : parameters of `train`, except lam, warm, checkpoint, resume and force

    Returns
    -------
    Candidate
        with `scores` of the folds, their `mean` and its standard `error`, the largest `gap` of the fits, and `seconds`.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0], [0.5], [1.0], [3.0], [3.5], [4.0]], [0, 0, 0, 1, 1, 1]
    >>> maxmargin.cross_validate(X, y, folds=3).scores
    [1.0, 1.0, 1.0]
    """
    settings, began = settings_for("cross_validate", X, y, {**options, "C": C}, max_seconds), time.perf_counter()
    C, scorer = checked(C)[0], scorer_of(scoring, settings.task)

    def table(settings: Settings, data: Examples | None, folds: int) -> list[Candidate]:
        return [Candidate(C, None, [None] * folds)]

    with noticed() as interrupt:
        until = began + (np.inf if max_seconds is None else max_seconds)
        tuning, _ = searched(Plan(settings, folds, groups, order, scorer, "best", table, (began, until), interrupt))
    return tuning.candidates[0]


def settings_for(function: str, X: Any, y: Any, options: dict[str, Any], max_seconds: float | None) -> Settings:
    """Return the checked settings of the fits."""
    for name in NOT_TAKEN[function]:
        if name in options:
            raise ParameterError(f"{function} takes no {name}: train takes it")
    if max_seconds is not None and not (is_number(max_seconds) and max_seconds > 0):
        raise ParameterError(f"max_seconds={max_seconds!r} must be a number above 0, or None for no limit")
    settings = settings_of(function, X, options).changed(y=y)
    if settings.task == "novelty":
        raise ParameterError(f"{function} needs labels to score: task='novelty' has none, and its nu is your choice")
    return settings


def refitted(found: Searched, chosen: Candidate, left: float) -> Result:
    """Train with the chosen values on all rows."""
    values: dict[str, Any] = {"C": chosen.C}
    if chosen.gamma is not None:
        values |= {"gamma": chosen.gamma, "sigma": None}
    if np.isfinite(left):
        values["max_seconds"] = max(left, LEAST_SECONDS)
    settings = found.settings.changed(**values)
    if found.data is None:
        return fit(settings)
    result = fit_examples(found.data, settings)
    result.model.training.update(found.facts)
    return result
