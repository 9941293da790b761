"""The outcome of a run, and the best of its certified points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isinf, isnan
from typing import Any

import numpy as np

from maxmargin.loop.record import Record
from maxmargin.problems.certificate import Certificate, Certified, joined
from maxmargin.status import Status


@dataclass(eq=False)
class Outcome:
    """The best point of a run with its certificate, and how the run ended."""

    w: np.ndarray = field(repr=False)
    b: float
    alpha: np.ndarray = field(repr=False)
    certificate: Certificate
    status: Status
    epochs: float
    seconds: float
    history: list[Record] = field(repr=False)
    width: float = 0.0  # with a kernel: see Certified
    solvers: tuple[str, ...] = ()  # the names of the solvers of the run, in the order in which they ran

    @property
    def advice(self) -> str:
        """What the status means and what to do."""
        return self.status.advice


def lost(problem: Any, certificate: Certificate) -> bool:
    """Whether a run has diverged: its gap is NaN, or infinite in a problem where every point has a finite gap."""
    gap = certificate.gap
    return isnan(gap) or (isinf(gap) and bool(problem.bounded))


def with_zero_alpha(best: Certified) -> Certified:
    """Replace α by 0, which proves P* ≥ 0: a better bound than an α whose rounding errors exceed its objective."""
    nothing = replace(best.certificate, dual=0.0, dual_rounding=0.0)
    return replace(best, alpha=np.zeros_like(best.alpha), certificate=nothing)


def better(best: Certified | None, found: Certified) -> Certified:
    """Combine the lower primal objective and its (w, b) with the higher dual objective and its alpha."""
    if best is None:
        return found
    if found.certificate.primal < best.certificate.primal:
        best = replace(found, alpha=best.alpha, certificate=joined(found.certificate, best.certificate))
    if found.certificate.dual > best.certificate.dual:
        best = replace(best, alpha=found.alpha, certificate=joined(best.certificate, found.certificate))
    return best
