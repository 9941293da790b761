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
from maxmargin.tuning.fit import Fit
from maxmargin.tuning.scoring import Score, highest_score, scored
from maxmargin.tuning.splits import Fold
from maxmargin.tuning.table import Candidate, highest_mean
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
    called after each fit; a true return value ends the search.
    """

    tuning: Tuning
    folds: list[Fold]
    labels: np.ndarray
    score: Score
    run: Run
    times: tuple[float, float]
    interrupt: Event
    callback: Callable[[Tuning], Any] | None
    lock: Any = field(default_factory=Lock)

    def go(self, fits: Fits, gamma: float | None) -> None:
        """Fit all candidates of this γ."""
        own = [one for one in self.tuning.candidates if one.gamma == gamma]
        before: list[Fit | None] = [None] * len(self.folds)
        for candidate in sorted(own, key=lambda one: one.C):
            if self.tuning.ended:
                return
            self.go_on(fits, candidate, before)

    def go_on(self, fits: Fits, candidate: Candidate, before: list[Fit | None]) -> None:
        """Fit a candidate on all folds, and keep its fits in `before`; end it early if it cannot be chosen.

        Whether fold k is fitted depends on the folds before it that cannot run at the same time. So it does not depend
        on which fit takes longer.
        """
        done = [Event() for _ in self.folds]

        def follow(k: int) -> None:
            first = range(k - fits.workers + 1)
            with sharing(self.interrupt):
                try:
                    for other in first:
                        done[other].wait()
                    if not self.over() and not self.reason(candidate, [candidate.scores[other] for other in first]):
                        left = self.times[1] - time.perf_counter()
                        self.take(candidate, k, fits.fit(k, candidate.C, before[k], self.limited(left)), before)
                finally:
                    done[k].set()

        on_threads(fits.workers, follow, range(len(self.folds)))
        if not (candidate.complete or self.tuning.ended):
            candidate.dropped = self.reason(candidate, candidate.scores)

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

    def reason(self, candidate: Candidate, scores: list[float | None]) -> str:
        """Return why a candidate with these scores cannot be chosen, however well it does on the other folds.

        A simpler complete candidate with at least the highest mean that this one can reach is preferred to it by both
        rules. Empty if there is none.
        """
        reach = highest_mean(scores, len(self.folds), highest_score(self.tuning.scoring))
        for other in self.tuning.candidates:
            if other.complete and other.simpler_than(candidate) and other.mean >= reach:
                return f"at most {reach:.6g}, less than {other.name}"
        return ""
