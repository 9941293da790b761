"""A search over C on rows that do not fit in memory, or on a cluster: all folds, and several C, in the same passes.

The folds are a hash of the row number. One more pass computes the decision value of each row by the model without its
fold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np

from maxmargin.data.collections import is_on_cluster
from maxmargin.data.files import Files
from maxmargin.data.reduction import PassStoppedError
from maxmargin.errors import ParameterError
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.stopping import Limits
from maxmargin.multiclass import SharedRun
from maxmargin.problems.certificate import Point, summed
from maxmargin.problems.held_out import CLASS_NUMBERS, FOLD_NUMBERS, NumberFolds
from maxmargin.settings.settings import Settings
from maxmargin.solvers import PASS_SOLVERS
from maxmargin.system.values import is_whole
from maxmargin.training.by_passes import PassTask, checked_classes, groups_of, posed, stop_of
from maxmargin.training.encoded_copy import encoded_once
from maxmargin.training.file_choice import choose_for_path
from maxmargin.training.file_passes import task_of_files
from maxmargin.training.file_scaling import scaled_files
from maxmargin.training.held_out import HeldOut, draw_again, held_out, scores_of, solve_in_step
from maxmargin.tuning.fit import LOOSENED, STOPPED
from maxmargin.tuning.scoring import Score, classifier_of, scored
from maxmargin.tuning.table import Candidate
from maxmargin.tuning.tuning import Tuning

LEAST_SECONDS = 1e-3  # A time limit must be above 0.
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
def task_for(settings: Settings, files: Files | None, until: float) -> Iterator[PassTask]:
    """Yield the task of files that do not fit in memory, or of rows on a cluster; `until` is when the search ends."""
    if files is None:
        from maxmargin.training.on_cluster import task_on_cluster

        with task_on_cluster(settings) as task:
            yield task
        return
    settings, files = scaled_files(settings, files)
    left = until - time.perf_counter()
    limited = settings.changed(max_seconds=max(left, LEAST_SECONDS)) if np.isfinite(left) else settings
    with encoded_once(limited, files) as (_, copied):
        name = settings.solver if settings.solver in PASS_SOLVERS else choose_for_path(settings, copied)[0]
        name = name if name in PASS_SOLVERS else "cocoa"
        options = settings.options if name == settings.solver else None
        own = settings.changed(solver=name, options=options, probability=False)
        yield task_of_files(own, copied, name, "all folds in the same passes", settings.limits)[0]


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
        self.problem = posed(task, task.rows, tuning.candidates[0].C, self.classes, self.stop)

    def go(self, callback: Callable[[Tuning], Any] | None) -> None:
        """Fit and score all candidates, as many C in the same passes as memory allows."""
        try:
            left_out, starts = held_out(self.problem, self.tuning.folds), list[Outcome]()
            for group in groups_of(self.tuning.candidates, self.task.at_once // max(len(left_out.fits), 1)):
                starts = self.take(group, left_out, starts)
                self.tuning.seconds = time.perf_counter() - self.times[0]
                if callback is not None and callback(self.tuning):
                    self.tuning.ended = "interrupted"
                    return
        except PassStoppedError:
            self.tuning.ended = "interrupted" if self.interrupt.is_set() else "time limit"

    def take(self, group: Sequence[Candidate], left_out: HeldOut, starts: list[Outcome]) -> list[Outcome]:
        """Fit and score some candidates. `starts` are the fits of the C before; return those of the last one."""
        parts, step = self.solved([one.C for one in group], left_out, starts), len(left_out.fits)
        for number, candidate in enumerate(group):
            own = parts[number * step : (number + 1) * step]
            if any(part.status in STOPPED for part in own):
                raise PassStoppedError
            if own:  # else no fold leaves both sides of a problem, and every model is a constant
                candidate.gap = summed(part.certificate for part in own).relative_gap
                candidate.seconds = sum(part.seconds for part in own) / len(parts)
            candidate.scores = self.scores(left_out, left_out.models(own))
        return parts[len(parts) - step :]

    def solved(self, Cs: Sequence[float], left_out: HeldOut, starts: list[Outcome]) -> list[Outcome]:
        """Solve the problem of each C, class and fold, all in the same passes."""
        task, settings = self.task, self.task.settings
        if starts:
            draw_again(self.problem, int(settings.seed))
        bases = [posed(task, task.rows, C, self.classes, self.stop) for C in Cs]
        problems = [problem for base in bases for problem in left_out.problems(base)]
        points = [Point(part.w, part.b) for part in starts] * len(Cs)
        run = SharedRun(task.method, self.limits, int(settings.seed), None, self.interrupt, succession=task.succession)
        return solve_in_step(problems, run, task.at_once, points or None)

    def scores(self, left_out: HeldOut, models: np.ndarray) -> list[float | None]:
        """Return the score of each fold; rows without weight are left out."""
        rows = self.task.rows

        def read() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            values = np.column_stack([rows.vector(scores_of(k)) for k in range(len(models))])
            numbers, folds = (np.array(rows.vector(name), dtype=np.intp) for name in (CLASS_NUMBERS, FOLD_NUMBERS))
            return values, numbers, folds

        values, numbers, fold_of_row = left_out.scored(models, read, NumberFolds(self.tuning.folds))
        found, loss = list[float | None](), self.task.settings.loss
        for fold in range(self.tuning.folds):
            own = np.flatnonzero((fold_of_row == fold) & (numbers >= 0))
            labels = self.classes[numbers[own]]
            found.append(
                scored(self.score, classifier_of(self.classes, values[own], loss), labels, self.tuning.scoring)
            )
        return found
