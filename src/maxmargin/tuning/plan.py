"""One search: in memory, by passes over files that do not fit, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.examples import Examples, examples_in
from maxmargin.data.files import Files, is_file
from maxmargin.data.take import take
from maxmargin.loop.interrupts import sharing
from maxmargin.loop.stopping import Limits
from maxmargin.multiclass import Run
from maxmargin.settings.settings import Settings
from maxmargin.solvers import find_solver
from maxmargin.training.approximate import features_of
from maxmargin.training.on_cluster import check_on_cluster
from maxmargin.training.train import (
    check_streamed,
    described,
    examples_for,
    files_for,
    is_streamed,
    scaled_examples,
)
from maxmargin.tuning.fit import LOOSENED
from maxmargin.tuning.grid import kernel_of
from maxmargin.tuning.groups import with_groups
from maxmargin.tuning.kernel_fits import KernelFits
from maxmargin.tuning.linear_fits import LinearFits
from maxmargin.tuning.pass_search import KIND, PassSearch, checked_folds, on_cluster, task_for
from maxmargin.tuning.scoring import Score
from maxmargin.tuning.search import Search
from maxmargin.tuning.splits import Fold, splits_of
from maxmargin.tuning.table import Candidate
from maxmargin.tuning.tuning import Tuning

Table = Callable[[Settings, Examples | None, int], list[Candidate]]  # the candidates for this number of folds


class Plan(NamedTuple):
    """A search that is to be made; `folds` to `rule` are as for `tune`, with the scorer found.

    `table` returns the candidates. `times` are when the search began and when it ends at the latest.
    """

    settings: Settings
    folds: Any
    groups: Any
    order: str
    scoring: tuple[Score, str]
    rule: str
    table: Table
    times: tuple[float, float]
    interrupt: Event
    callback: Callable[[Tuning], Any] | None = None
    every_fold: bool = False


class Searched(NamedTuple):
    """The rows of a search, if they are in memory, and the settings of its fits.

    `facts` is what the model says of the files of the rows.
    """

    data: Examples | None
    settings: Settings
    facts: dict[str, Any]


def searched(plan: Plan) -> tuple[Tuning, Searched]:
    """Search through the candidates of a plan."""
    settings = plan.settings
    if on_cluster(settings):
        check_on_cluster(settings)
        return searched_by_passes(plan, None)
    if not is_file(settings.X):
        settings, groups = with_groups(settings, plan.groups)
        return searched_in_memory(plan._replace(settings=settings, groups=groups), examples_for(settings), {})
    files = files_for(settings)
    if is_streamed(settings, files):
        check_streamed(settings, files)
        return searched_by_passes(plan, files)
    settings, groups = with_groups(settings, plan.groups)
    files = files if settings is plan.settings else files_for(settings)  # files have fitted their encoder
    data = examples_in(files, settings.task)
    return searched_in_memory(plan._replace(settings=settings, groups=groups), data, described(files))


def searched_by_passes(plan: Plan, files: Files | None) -> tuple[Tuning, Searched]:
    """Search on rows that do not fit in memory, or on a cluster."""
    score, name = plan.scoring
    folds = checked_folds(plan.folds, plan.groups, plan.order)
    tuning = Tuning(plan.table(plan.settings, None, folds), name, plan.rule, folds, KIND)
    with sharing(plan.interrupt), task_for(plan.settings, files, plan.times[1]) as task:
        PassSearch(tuning, task, score, plan.times, plan.interrupt).go(plan.callback)
    return tuning, Searched(None, plan.settings, {})


def searched_in_memory(plan: Plan, data: Examples, facts: dict[str, Any]) -> tuple[Tuning, Searched]:
    """Search on rows in memory; `facts` is what the model says of their files."""
    settings, (score, name) = plan.settings, plan.scoring
    splits = splits_of(data, plan.folds, plan.groups, plan.order, int(settings.seed))
    rows, own = prepared(data, settings)
    tuning = Tuning(
        plan.table(own, rows, len(splits.folds)), name, plan.rule, len(splits.folds), splits.kind, splits.note
    )
    limits = Limits(LOOSENED * settings.tol, None, settings.max_epochs)
    run = Run(find_solver("dual_coordinate"), limits, int(settings.seed), None, plan.interrupt)
    search = Search(
        tuning, splits.folds, labels_of(data), score, run, plan.times, plan.interrupt, plan.callback, plan.every_fold
    )
    each_gamma(search, rows, own)
    return tuning, Searched(data, settings, facts)


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
