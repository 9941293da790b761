"""The search: every pair (C, γ) on every fold, γ by γ, the C rising, the folds of a C in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import Any, Protocol

import numpy as np

from maxmargin.errors import DataError
from maxmargin.loop.interrupts import sharing
from maxmargin.loop.stopping import Limits
from maxmargin.multiclass import Run
from maxmargin.system.threads import on_threads
from maxmargin.tuning.dropping import cannot_be_chosen, far_behind
from maxmargin.tuning.fit import Fit
from maxmargin.tuning.scoring import Score, highest_score, scored
from maxmargin.tuning.splits import Fold
from maxmargin.tuning.table import Candidate
from maxmargin.tuning.tuning import Tuning


class Fits(Protocol):
    """What can train for each fold and C. `workers` is how many fits may run at the same time."""

    workers: int

    def fit(self, k: int, C: float, before: Fit | None, run: Run) -> Fit:
        """Train with this C without fold k, from the fit with the C before."""
        ...


@dataclass
class Search:
    """A search in progress.

    `labels` are those of all rows. `times` are when the search began and when it ends at the latest. `callback` is
    called after each fit; a true return value ends the search. With `every_fold` no candidate is dropped.
    """

    tuning: Tuning
    folds: list[Fold]
    labels: np.ndarray
    score: Score
    run: Run
    times: tuple[float, float]
    interrupt: Event
    callback: Callable[[Tuning], Any] | None
    every_fold: bool = False
    lock: Any = field(default_factory=Lock)

    def go(self, fits: Fits, gamma: float | None) -> None:
        """Fit all candidates of this γ on all folds, the C rising; drop those that will not be chosen.

        A fold of a candidate waits for all fits but the `workers` − 1 before it, and only these decide whether it is
        dropped. So this does not depend on which fit takes longer.
        """
        candidates = sorted((one for one in self.tuning.candidates if one.gamma == gamma), key=lambda one: one.C)
        earlier = [one for one in self.tuning.candidates if one.complete]
        folds, before = len(self.folds), list[Fit | None]([None] * len(self.folds))
        reasons, done = [""] * (folds * len(candidates)), [Event() for _ in range(folds * len(candidates))]

        def follow(place: int) -> None:
            seen, (number, k) = max(place - fits.workers + 1, 0), divmod(place, folds)
            candidate, start = candidates[number], number * folds
            with sharing(self.interrupt):
                try:
                    for other in done[:seen]:
                        other.wait()
                    if self.over():
                        return
                    complete = earlier + [one for one in candidates[: seen // folds] if one.complete]
                    scores = candidate.scores[: max(seen - start, 0)]
                    known = next(filter(None, reasons[start:seen]), "")
                    reasons[place] = known or self.reason(candidate, scores, complete)
                    candidate.dropped = candidate.dropped or reasons[place]
                    if not reasons[place]:
                        left = self.times[1] - time.perf_counter()
                        self.take(candidate, k, fits.fit(k, candidate.C, before[k], self.limited(left)), before)
                finally:
                    done[place].set()

        on_threads(fits.workers, follow, range(len(done)))
        for number, candidate in enumerate(candidates):
            candidate.dropped = next(filter(None, reasons[number * folds : (number + 1) * folds]), "")

    def over(self) -> bool:
        """Whether the search has ended: by an interrupt, by a callback, or because its time is up."""
        if self.interrupt.is_set():
            self.end("interrupted")
        elif time.perf_counter() >= self.times[1]:
            self.end("time limit")
        return bool(self.tuning.ended)

    def limited(self, left: float) -> Run:
        """Return the run with the time that is left."""
        limits = self.run.limits
        return replace(self.run, limits=Limits(limits.tol, left if np.isfinite(left) else None, limits.max_epochs))

    def take(self, candidate: Candidate, k: int, fit: Fit, before: list[Fit | None]) -> None:
        """Score a fit."""
        if not fit.is_complete:
            self.end("interrupted" if self.interrupt.is_set() else "time limit")
            return
        found = scored(self.score, fit.estimator, self.labels[self.folds[k].test], self.tuning.scoring)
        with self.lock:
            before[k] = fit
            candidate.scores[k] = found
            candidate.gap, candidate.seconds = max(candidate.gap, fit.gap), candidate.seconds + fit.seconds
            if not np.isfinite(found):
                raise DataError(
                    f"scoring={self.tuning.scoring!r} is {found} on fold {k + 1} for {candidate.name}: take another "
                    "scoring, or folds that hold every class"
                )
            self.tuning.seconds = time.perf_counter() - self.times[0]
            if self.callback is not None and self.callback(self.tuning):
                self.end("interrupted")

    def end(self, why: str) -> None:
        """End the search."""
        self.tuning.ended = self.tuning.ended or why

    def reason(self, candidate: Candidate, scores: list[float | None], complete: list[Candidate]) -> str:
        """Return why a candidate with these scores on the first folds is dropped; empty if it is not."""
        if self.every_fold:
            return ""
        found = cannot_be_chosen(candidate, scores, complete, highest_score(self.tuning.scoring))
        sizes = [len(fold.test) for fold in self.folds]
        return found or far_behind(candidate, scores, complete, sizes, self.tuning.rule == "one_standard_error")
