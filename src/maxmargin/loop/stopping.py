"""Stopping rules: the limits, a lack of progress, and rounding errors that hide further progress.

If the rounding bound exceeds the tolerance, no step can close the gap. The run ends as ROUNDING once the gap consists
mostly of rounding and there is no progress.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from maxmargin.loop.record import Record
from maxmargin.problems.certificate import Certificate
from maxmargin.status import Status

STALE_CERTIFICATES = 16  # Certificates without progress that end a run: at a spacing of 1.15, ten times the epochs.
STALE_ESTIMATES = 6  # Certificates without progress, for a solver that estimates its gap, at a spacing of 1.5.
STALE_PASSES = 24  # Certificates without progress, for streamed rows, whose passes are evenly spaced.
STALE_BEFORE_CHANGE = 4  # Certificates without progress after which another solver goes on, if there is one.
STALE_ROUNDING = 2  # Certificates without progress, if only rounding is left of the gap.
LEAST_PROGRESS = 1e-4  # Relative decrease of the gap between two certificates that counts as progress.
LEAST_PROGRESS_IN_ROUNDING = 0.1  # Relative decrease required if the solver's rounding errors move both objectives.
LEAST_CHANGE = 1e-9  # Relative change of an objective that counts as progress: less may be rounding.


@dataclass(frozen=True)
class Limits:
    """The tolerance, and the limits of time and epochs."""

    tol: float = 1e-4
    max_seconds: float | None = None
    max_epochs: float | None = None

    def after(self, spent: float, part: float = 1.0) -> Limits:
        """Return the limits with a `part` of the time that is left after `spent` seconds."""
        if self.max_seconds is None:
            return self
        return replace(self, max_seconds=part * max(self.max_seconds - spent, 0.0))

    def reached(self, seconds: float, epochs: float, interrupt: Event) -> Status | None:
        """Return the status of an interrupt or of a limit that is reached, if any."""
        if interrupt.is_set():
            return Status.INTERRUPTED
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.TIME_LIMIT
        if self.max_epochs is not None and epochs >= self.max_epochs:
            return Status.EPOCH_LIMIT
        return None


def progressed(before: Certificate, after: Certificate, least: float = LEAST_PROGRESS) -> bool:
    """Whether the gap has shrunk by the part `least`, or an objective has improved while that part is small."""
    shrunk = after.gap < before.gap - least * abs(before.gap)
    if least > LEAST_PROGRESS:
        return shrunk
    lower = before.primal - after.primal > LEAST_CHANGE * abs(before.primal)
    size = abs(before.primal) if np.isfinite(before.primal) else abs(before.dual)  # a dual near 0 rises forever
    higher = after.dual - before.dual > LEAST_CHANGE * size
    return shrunk or lower or higher


def hopeless(best: Certificate, tol: float) -> bool:
    """Whether the rounding bound exceeds the tolerance and the rest of the gap is no larger than that bound."""
    return bool(np.isfinite(best.gap)) and best.rounding > tol * best.measure and best.only_rounding


def only_noise(best: Certificate, tol: float, solver_rounding: float) -> bool:
    """Whether the rounding errors of a solver's own sums exceed the gap, so that both objectives fluctuate."""
    return solver_rounding > max(tol, best.relative_gap)


def least_progress(best: Certificate, tol: float, solver_rounding: float) -> float:
    """Return the part by which the gap must shrink to count as progress."""
    return LEAST_PROGRESS_IN_ROUNDING if only_noise(best, tol, solver_rounding) else LEAST_PROGRESS


def stuck(record: Record, stale: int, patience: int, tol: float, solver_rounding: float) -> Status | None:
    """Return STALLED or ROUNDING after `patience` certificates without progress, or earlier if only rounding is left.

    `stale` is the number of certificates without progress.
    """
    beyond = any(hopeless(one, tol) for one in (record.certificate, record.best))
    if stale < (STALE_ROUNDING if beyond else patience):
        return None
    return Status.ROUNDING if beyond or only_noise(record.best, tol, solver_rounding) else Status.STALLED
