"""`tune`: choose C, and γ of a kernel, by cross-validation, and train the chosen model on all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.examples import Examples, examples_in
from maxmargin.data.files import Files, is_file
from maxmargin.data.take import take
from maxmargin.errors import ParameterError
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.stopping import Limits
from maxmargin.multiclass import Run
from maxmargin.regularisation_path import checked
from maxmargin.results import Result
from maxmargin.settings.settings import Settings, settings_of
from maxmargin.solvers import find_solver
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.values import is_number
from maxmargin.training.approximate import features_of
from maxmargin.training.on_cluster import check_on_cluster
from maxmargin.training.train import (
    check_streamed,
    described,
    examples_for,
    files_for,
    fit,
    fit_examples,
    is_streamed,
    scaled_examples,
)
from maxmargin.tuning.fit import LOOSENED
from maxmargin.tuning.grid import grid, kernel_of
from maxmargin.tuning.groups import with_groups
from maxmargin.tuning.kernel_fits import KernelFits
from maxmargin.tuning.linear_fits import LinearFits
from maxmargin.tuning.pass_search import KIND, PassSearch, checked_folds, on_cluster, task_for
from maxmargin.tuning.scoring import Score, scorer_of
from maxmargin.tuning.search import Search
from maxmargin.tuning.splits import Fold, splits_of
from maxmargin.tuning.table import RULES, Candidate
from maxmargin.tuning.tuning import Tuning

NEITHER = ("lam", "warm", "checkpoint", "resume", "force")  # parameters of `train` alone
NOT_TAKEN = {"tune": ("C", "nu", *NEITHER), "cross_validate": NEITHER}
Table = Callable[[Settings, Examples | None, int], list[Candidate]]  # the candidates for this number of folds
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
    limit = np.inf if max_seconds is None else max_seconds
    with noticed() as interrupt:
        scheme = Scheme(folds, groups, order, scoring)
        until = began + ((1.0 - REFIT_PART) if refit else 1.0) * limit
        table = partial(grid, Cs, gammas)
        tuning, found = searched(settings, scheme, rule, table, (began, until), interrupt, callback)
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
    C = checked(C)[0]

    def table(settings: Settings, data: Examples | None, folds: int) -> list[Candidate]:
        return [Candidate(C, None, [None] * folds)]

    with noticed() as interrupt:
        until = began + (np.inf if max_seconds is None else max_seconds)
        scheme = Scheme(folds, groups, order, scoring)
        tuning, _ = searched(settings, scheme, "best", table, (began, until), interrupt, None)
    return tuning.candidates[0]


class Scheme(NamedTuple):
    """How rows are assigned to folds, and how the folds are scored: see `tune`."""

    folds: Any
    groups: Any
    order: str
    scoring: Any


class Searched(NamedTuple):
    """The rows of a search, if they are in memory, and the settings of its fits.

    `facts` is what the model says of the files of the rows.
    """

    data: Examples | None
    settings: Settings
    facts: dict[str, Any]


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


def searched(
    settings: Settings,
    scheme: Scheme,
    rule: str,
    table: Table,
    times: tuple[float, float],
    interrupt: Event,
    callback: Callable[[Tuning], Any] | None,
) -> tuple[Tuning, Searched]:
    """Search through the candidates that `table` returns; `times` are when the search began, and when it ends."""
    score, name = scorer_of(scheme.scoring, settings.task)
    if on_cluster(settings):
        check_on_cluster(settings)
        return searched_by_passes(settings, None, scheme, rule, table, times, interrupt, callback, (score, name))
    files = files_for(settings) if is_file(settings.X) else None
    if files is not None and is_streamed(settings, files):
        check_streamed(settings, files)
        return searched_by_passes(settings, files, scheme, rule, table, times, interrupt, callback, (score, name))
    settings, groups = with_groups(settings, scheme.groups)
    data, facts = rows_for(settings)
    splits = splits_of(data, scheme.folds, groups, scheme.order, int(settings.seed))
    rows, own = prepared(data, settings)
    candidates = table(own, rows, len(splits.folds))
    tuning = Tuning(candidates, name, rule, len(splits.folds), splits.kind, splits.note)
    limits = Limits(LOOSENED * settings.tol, None, settings.max_epochs)
    run = Run(find_solver("dual_coordinate"), limits, int(settings.seed), None, interrupt)
    each_gamma(Search(tuning, splits.folds, labels_of(data), score, run, times, interrupt, callback), rows, own)
    return tuning, Searched(data, settings, facts)


def searched_by_passes(
    settings: Settings,
    files: Files | None,
    scheme: Scheme,
    rule: str,
    table: Table,
    times: tuple[float, float],
    interrupt: Event,
    callback: Callable[[Tuning], Any] | None,
    scoring: tuple[Score, str],
) -> tuple[Tuning, Searched]:
    """Search on rows that do not fit in memory, or on a cluster."""
    folds = checked_folds(scheme.folds, scheme.groups, scheme.order)
    tuning = Tuning(table(settings, None, folds), scoring[1], rule, folds, KIND)
    with task_for(settings, files) as task:
        PassSearch(tuning, task, scoring[0], times, interrupt).go(callback)
    return tuning, Searched(None, settings, {})


def rows_for(settings: Settings) -> tuple[Examples, dict[str, Any]]:
    """Return the rows in memory, and what the model says of their files."""
    if not is_file(settings.X):
        return examples_for(settings), {}
    files = files_for(settings)
    return examples_in(files, settings.task), described(files)


def labels_of(data: Examples) -> np.ndarray:
    """Return the label of each row, or its number for a regression."""
    return data.classes[data.codes] if len(data.classes) else data.targets


def prepared(data: Examples, settings: Settings) -> tuple[Examples, Settings]:
    """Return the rows as they are trained on: scaled or expanded, once for all folds, with their weights."""
    if data.weights is not None:
        settings = settings.changed(weights=data.weights)
    if settings.scale:
        data, settings = scaled_examples(data, settings.thread_count)[0], settings.changed(scale=False)
    if settings.expansion is not None:
        data = data.on(take(settings.expansion.apply(data.rows)), settings.thread_count)
    return data, settings


def each_gamma(search: Search, data: Examples, settings: Settings) -> None:
    """Search over the C of each γ in turn."""
    for gamma in dict.fromkeys(one.gamma for one in search.tuning.candidates):
        if not search.tuning.ended:
            search.go(fits_for(data, settings, search.folds, gamma), gamma)


def fits_for(data: Examples, settings: Settings, folds: list[Fold], gamma: float | None) -> LinearFits | KernelFits:
    """Return what trains without each fold: linear models, or models with a kernel of this γ."""
    if settings.kernel is None and not settings.uses_kernel:
        return LinearFits(data, settings, folds)
    own = settings if gamma is None else settings.changed(gamma=gamma, sigma=None)
    kernel = kernel_of(own, data)
    if settings.approximation is None:
        return KernelFits(data, kernel, settings, folds)
    _, _, phi = features_of(data, kernel, settings.approximation, settings)
    return LinearFits(data.on(phi, settings.thread_count), settings, folds)


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
