"""A search over C on rows that do not fit in memory, or on a cluster: all folds, and several C, in the same passes.

The folds are a hash of the row number. One more pass computes the decision value of each row by the model without its
fold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np

from maxmargin.data.collections import is_on_cluster
from maxmargin.data.files import Files
from maxmargin.data.in_step import InStep
from maxmargin.data.labels import sides
from maxmargin.data.reduction import PassStoppedError
from maxmargin.errors import ParameterError
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.stopping import Limits
from maxmargin.multiclass import SharedRun, solve_all
from maxmargin.problems.certificate import Point, summed
from maxmargin.problems.held_out import CLASS_NUMBERS, FOLD_NUMBERS, CountFolds, NumberFolds, ScoreHeldOut
from maxmargin.settings.settings import Settings
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.system.values import is_whole
from maxmargin.training.by_passes import PassTask, checked_classes, groups_of, posed, stop_of
from maxmargin.training.calibration import has_both
from maxmargin.training.file_choice import choose_for_path
from maxmargin.training.file_passes import task_of_files
from maxmargin.training.file_scaling import scaled_files
from maxmargin.training.pass_calibration import without
from maxmargin.tuning.fit import LOOSENED, STOPPED
from maxmargin.tuning.scoring import Score, classifier_of, scored
from maxmargin.tuning.table import Candidate
from maxmargin.tuning.tuning import Tuning

KIND = "random"


def checked_folds(folds: Any, groups: Any, order: str) -> int:
    """Return the number of folds; raise if anything else is wanted of them."""
    if not (is_whole(folds) and folds > 1):
        raise ParameterError(f"folds={folds!r} must be a whole number above 1 for rows that do not fit in memory")
    for name, given in (("groups", groups is not None), ("order='time'", order == "time")):
        if given:
            raise ParameterError(f"{name} is for rows in memory: give more memory, or leave it out")
    return int(folds)


@contextmanager
def task_for(settings: Settings, files: Files | None) -> Iterator[PassTask]:
    """Yield the task of files that do not fit in memory, or of rows on a cluster."""
    if files is None:
        from maxmargin.training.on_cluster import task_on_cluster

        with task_on_cluster(settings) as task:
            yield task
        return
    settings, files = scaled_files(settings, files)
    name = settings.solver if settings.solver in PASS_SOLVERS else choose_for_path(settings, files)[0]
    name = name if name in PASS_SOLVERS else "cocoa"
    options = settings.options if name == settings.solver else None
    own = settings.changed(solver=name, options=options, probability=False)
    yield task_of_files(own, files, name, "all folds in the same passes", settings.limits)[0]


def on_cluster(settings: Settings) -> bool:
    """Whether the rows are on a cluster."""
    return settings.client is not None or is_on_cluster(settings.X)


class PassSearch:
    """A search in progress. `times` are when it began and when it ends at the latest."""

    def __init__(
        self, tuning: Tuning, task: PassTask, score: Score, times: tuple[float, float], interrupt: Event
    ) -> None:
        self.tuning, self.task, self.score, self.times, self.interrupt = tuning, task, score, times, interrupt
        left = times[1] - time.perf_counter()
        self.limits = Limits(LOOSENED * task.settings.tol, left if np.isfinite(left) else None)
        self.stop = stop_of(self.limits, interrupt, time.perf_counter())
        self.classes = checked_classes(task.rows.facts.classes)
        self.places = sides(self.classes)
        self.problem = posed(task, task.rows, tuning.candidates[0].C, self.classes, self.stop)

    def go(self, callback: Callable[[Tuning], Any] | None) -> None:
        """Fit and score all candidates, as many C in the same passes as memory allows."""
        try:
            [(counts,)] = self.task.rows.reduce([CountFolds(self.classes, self.tuning.folds)], self.stop)
            starts: list[Outcome] = []
            for group in groups_of(self.tuning.candidates, self.task.at_once // (len(self.places) * len(counts))):
                starts = self.take(group, counts, starts)
                self.tuning.seconds = time.perf_counter() - self.times[0]
                if callback is not None and callback(self.tuning):
                    self.tuning.ended = "interrupted"
                    return
        except PassStoppedError:
            self.tuning.ended = "interrupted" if self.interrupt.is_set() else "time limit"

    def take(self, group: Sequence[Candidate], counts: np.ndarray, starts: list[Outcome]) -> list[Outcome]:
        """Fit and score some candidates. `starts` are the fits of the C before; return those of the last one."""
        fits = [(k, fold) for k, place in enumerate(self.places) for fold in self.able(place, counts)]
        parts, step = self.solved([one.C for one in group], fits, starts), len(fits)
        for number, candidate in enumerate(group):
            own = parts[number * step : (number + 1) * step]
            if any(part.status in STOPPED for part in own):
                raise PassStoppedError
            candidate.gap = summed(part.certificate for part in own).relative_gap
            candidate.seconds = sum(part.seconds for part in own) / len(parts)
            candidate.scores = self.scores(self.values(fits, own, counts))
        return parts[-step:]

    def able(self, place: int, counts: np.ndarray) -> Iterator[int]:
        """Yield the folds without which the rows still hold both sides of the problem of a class."""
        for fold, own in enumerate(counts):
            if has_both(np.flatnonzero(np.sum(counts, axis=0) > own), place):
                yield fold

    def solved(self, Cs: Sequence[float], fits: list[tuple[int, int]], starts: list[Outcome]) -> list[Outcome]:
        """Solve the problem of each C, class and fold, all in the same passes."""
        task, settings, count = self.task, self.task.settings, len(Cs) * len(fits)
        rows: Any = task.rows
        if starts and (survey := getattr(rows, "survey", None)) is not None:
            survey(np.random.default_rng([int(settings.seed), 3]), self.stop)  # the first sample has been released
        workers = max(min(count, task.at_once), 1)
        shared: Any = InStep(rows, count, workers)
        problems = []
        for C in Cs:
            base = posed(task, shared, C, self.classes, self.stop)
            problems += [without(base, self.places[k], fold, self.tuning.folds) for k, fold in fits]
        problems = [replace(problem, slot=str(number)) for number, problem in enumerate(problems)]
        points = [Point(part.w, part.b) for part in starts] * len(Cs)
        run = SharedRun(task.method, self.limits, int(settings.seed), None, self.interrupt, succession=task.succession)
        return solve_all(problems, count, run, starts=points or None, workers=workers)

    def values(self, fits: list[tuple[int, int]], parts: list[Outcome], counts: np.ndarray) -> np.ndarray:
        """Return the decision values of all rows, each by the models without its fold: a column for each problem."""
        rows, folds = self.task.rows, self.tuning.folds
        v = np.zeros((len(self.places), folds, rows.facts.d + 1))
        for k, place in enumerate(self.places):
            for fold, own in enumerate(counts):
                present = np.flatnonzero(np.sum(counts, axis=0) > own)
                v[k, fold, -1] = 1.0 if place in present else -1.0  # the fit knows only one of the two classes
        for (k, fold), part in zip(fits, parts, strict=True):
            v[k, fold, :-1], v[k, fold, -1] = part.w, part.b
        names = [f"held out {k}" for k in range(len(self.places))]
        passes = [ScoreHeldOut(self.classes, v[k], name) for k, name in enumerate(names)]
        self.problem.forget_lost()
        while True:
            rows.reduce([NumberFolds(folds), *passes], self.stop)
            found = np.column_stack([rows.vector(name) for name in names])
            if not self.problem.forget_lost():  # else a worker was lost meanwhile, with its decision values
                return found

    def scores(self, values: np.ndarray) -> list[float | None]:
        """Return the score of each fold; rows without weight are left out."""
        numbers, fold_of_row = (
            np.asarray(self.task.rows.vector(name), dtype=np.intp) for name in (CLASS_NUMBERS, FOLD_NUMBERS)
        )
        found, loss = list[float | None](), self.task.settings.loss
        for fold in range(self.tuning.folds):
            own = np.flatnonzero((fold_of_row == fold) & (numbers >= 0))
            labels = self.classes[numbers[own]]
            found.append(
                scored(self.score, classifier_of(self.classes, values[own], loss), labels, self.tuning.scoring)
            )
        return found
