"""When a run stops: limits that were set, no progress any more, rounding that hides whatever progress there may be.

A gap of which rounding is more than the tolerance cannot be closed: the run ends as ROUNDING once little else is left
of it and nothing becomes better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from maxmargin.loop.record import Record
from maxmargin.problems.certificate import Certificate
from maxmargin.status import Status

STALE_CERTIFICATES = 16  # Certificates without progress that end a run: at a spacing of 1.15, ten times the epochs.
STALE_ESTIMATES = 6  # The same at a spacing of 1.5.
STALE_PASSES = 24  # The same for passes over streamed rows, which are evenly spaced.
STALE_ROUNDING = 2  # The same where rounding is all that is left of the gap.
LEAST_PROGRESS = 1e-4  # Of the gap, from one certificate to the next.
LEAST_PROGRESS_IN_ROUNDING = 0.1  # The same where a solver's rounding moves both objectives.
LEAST_CHANGE = 1e-9  # Of an objective: less may be rounding.


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    tol: float = 1e-4
    max_seconds: float | None = None
    max_epochs: float | None = None

    def after(self, spent: float, part: float = 1.0) -> Limits:
        """The limits with a part of the time that is left after so many seconds."""
        if self.max_seconds is None:
            return self
        return replace(self, max_seconds=part * max(self.max_seconds - spent, 0.0))

    def reached(self, seconds: float, epochs: float, interrupt: Event) -> Status | None:
        """Whether an interrupt or a limit ends the run."""
        if interrupt.is_set():
            return Status.INTERRUPTED
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.TIME_LIMIT
        if self.max_epochs is not None and epochs >= self.max_epochs:
            return Status.EPOCH_LIMIT
        return None


def progressed(before: Certificate, after: Certificate, least: float = LEAST_PROGRESS) -> bool:
    """Whether the gap has shrunk by that part, or one objective has moved by more than rounding if little is enough."""
    shrunk = after.gap < before.gap - least * abs(before.gap)
    if least > LEAST_PROGRESS:
        return shrunk
    lower = before.primal - after.primal > LEAST_CHANGE * abs(before.primal)
    size = abs(before.primal) if np.isfinite(before.primal) else abs(before.dual)  # a dual near 0 rises for ever
    higher = after.dual - before.dual > LEAST_CHANGE * size
    return shrunk or lower or higher


def hopeless(best: Certificate, tol: float) -> bool:
    """Whether rounding alone is more than the tolerance, and what is left beside it is less than it."""
    return bool(np.isfinite(best.gap)) and best.rounding > tol * best.measure and best.only_rounding


def only_noise(best: Certificate, tol: float, solver_rounding: float) -> bool:
    """Whether the rounding of a solver's own sums is more than the gap, and so moves both objectives about."""
    return solver_rounding > max(tol, best.relative_gap)


def least_progress(best: Certificate, tol: float, solver_rounding: float) -> float:
    """The part of the gap by which a certificate must be better to count as progress."""
    return LEAST_PROGRESS_IN_ROUNDING if only_noise(best, tol, solver_rounding) else LEAST_PROGRESS


def stuck(record: Record, stale: int, patience: int, tol: float, solver_rounding: float) -> Status | None:
    """Whether nothing has become better for too long; less patience where rounding is all that is left.

    `stale` is the number of certificates without progress.
    """
    beyond = any(hopeless(one, tol) for one in (record.certificate, record.best))
    if stale < (STALE_ROUNDING if beyond else patience):
        return None
    return Status.ROUNDING if beyond or only_noise(record.best, tol, solver_rounding) else Status.STALLED
