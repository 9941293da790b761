"""`tune`: choose C, and γ of a kernel, by cross-validation, and train the chosen model on all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from maxmargin.data.collections import is_on_cluster
from maxmargin.data.examples import Examples
from maxmargin.data.files import is_file
from maxmargin.data.take import take
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.kernels.functions import find_kernel
from maxmargin.loop.interrupts import noticed
from maxmargin.multiclass import Run
from maxmargin.results import Result
from maxmargin.settings.settings import Settings, settings_of
from maxmargin.solvers import find_solver
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.values import is_number
from maxmargin.training.approximate import features_of
from maxmargin.training.train import described, examples_for, files_for, fit_examples, is_streamed
from maxmargin.tuning.grid import grid
from maxmargin.tuning.groups import with_groups
from maxmargin.tuning.kernel_fits import KernelFits
from maxmargin.tuning.linear_fits import LinearFits
from maxmargin.tuning.scoring import scorer_of
from maxmargin.tuning.search import Search
from maxmargin.tuning.splits import Splits, splits_of
from maxmargin.tuning.table import RULES, Candidate
from maxmargin.tuning.tuning import Tuning

NOT_TAKEN = ("C", "lam", "nu", "warm", "checkpoint", "resume", "force", "client", "timeout")
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
    **options : parameters of `train`, except C, lam, nu, warm, checkpoint, resume, force and those of clusters

    Returns
    -------
    Tuning
        with `C`, `gamma`, `candidates` (mean score, standard error and scores of each pair), `result` and `model`.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 0, 1, 1, 1]
    >>> tuned = maxmargin.tune(X, y, Cs=[0.01, 1.0], folds=3)
    >>> tuned.C, round(tuned.chosen.mean, 3)
    (1.0, 1.0)
    """
    settings, began = settings_for(X, y, options, max_seconds), time.perf_counter()
    if rule not in RULES:
        raise ParameterError(f"rule={rule!r} is not known: choose one of {', '.join(RULES)}")
    settings, groups = with_groups(settings, groups)
    with noticed() as interrupt:
        data, facts = rows_for(settings)
        splits = splits_of(data, folds, groups, order, int(settings.seed))
        score, name = scorer_of(scoring, settings.task)
        tuning = Tuning(
            grid(Cs, gammas, settings, data, len(splits.folds)), name, rule, len(splits.folds), splits.kind, splits.note
        )

        def shown() -> Any:
            tuning.seconds = time.perf_counter() - began
            return callback is not None and callback(tuning)

        limit = np.inf if max_seconds is None else max_seconds
        run = Run(find_solver("dual_coordinate"), settings.limits, int(settings.seed), None, interrupt)
        search = Search(
            tuning.candidates, splits.folds, labels_of(data), score, name, run,
            began + ((1.0 - REFIT_PART) if refit else 1.0) * limit, interrupt, shown,
        )  # fmt: skip
        each_gamma(search, data, settings, splits)
        tuning.ended = search.ended
        shown()
        if refit and tuning.chosen is not None:
            interrupt.clear()  # a first Ctrl-C ends the search, a second one the training on all rows
            tuning.result = refitted(data, settings, tuning.chosen, limit - (time.perf_counter() - began))
            tuning.result.model.training.update({**facts, "tuning": tuning.saved()})
        tuning.seconds = time.perf_counter() - began
    return tuning


def settings_for(X: Any, y: Any, options: dict[str, Any], max_seconds: float | None) -> Settings:
    """Return the checked settings of the fits."""
    for name in NOT_TAKEN:
        if name in options:
            raise ParameterError(f"tune takes no {name}: it chooses C and trains with it; train takes it")
    if max_seconds is not None and not (is_number(max_seconds) and max_seconds > 0):
        raise ParameterError(f"max_seconds={max_seconds!r} must be a number above 0, or None for no limit")
    if is_on_cluster(X):
        raise RefusedError("tune is for rows in memory: take a sample of the collection, and train with its C on all")
    settings = settings_of("tune", X, options).changed(y=y)
    if settings.task == "novelty":
        raise ParameterError("tune needs labels to score: not for task='novelty', whose nu is your choice")
    return settings


def rows_for(settings: Settings) -> tuple[Examples, dict[str, Any]]:
    """Return the rows in memory, with their features expanded, and what the model says of their files."""
    if not is_file(settings.X):
        return examples_for(settings), {}
    files = files_for(settings)
    if is_streamed(settings, files):
        raise RefusedError(f"{files.name} does not fit in memory: give more memory, or tune on a part of its rows")
    return examples_for(settings.changed(X=settings.X)), described(files)


def labels_of(data: Examples) -> np.ndarray:
    """Return the label of each row, or its number for a regression."""
    return data.classes[data.codes] if len(data.classes) else data.targets


def each_gamma(search: Search, data: Examples, settings: Settings, splits: Splits) -> None:
    """Search over the C of each γ in turn."""
    if data.weights is not None:
        settings = settings.changed(weights=data.weights)
    if settings.expansion is not None:
        data = data.on(take(settings.expansion.apply(data.rows)), settings.thread_count)
    for gamma in dict.fromkeys(one.gamma for one in search.candidates):
        if search.ended:
            return
        if settings.kernel is None and not settings.uses_kernel:
            search.go(LinearFits(data, settings, splits.folds), None)
            continue
        kernel = find_kernel(
            settings.kernel or "linear", data.rows, gamma="scale" if gamma is None else gamma, degree=settings.degree,
            coef0=settings.coef0,
        )  # fmt: skip
        if settings.approximation is None:
            search.go(KernelFits(data, kernel, settings, splits.folds), gamma)
        else:
            _, _, phi = features_of(data, kernel, settings.approximation, settings)
            search.go(LinearFits(data.on(phi, settings.thread_count), settings, splits.folds), gamma)


def refitted(data: Examples, settings: Settings, chosen: Candidate, left: float) -> Result:
    """Train with the chosen values on all rows."""
    values: dict[str, Any] = {"C": chosen.C, "sigma": None}
    if chosen.gamma is not None:
        values["gamma"] = chosen.gamma
    if np.isfinite(left):
        values["max_seconds"] = max(left, LEAST_SECONDS)
    return fit_examples(data, settings.changed(**values))
