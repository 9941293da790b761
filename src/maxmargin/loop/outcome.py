"""Where a run ended, and the best of what it has certified."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin.loop.record import Record
from maxmargin.problems.certificate import Certificate, Certified, joined
from maxmargin.status import Status


@dataclass(eq=False)
class Outcome:
    """Where a run ended."""

    w: np.ndarray = field(repr=False)
    b: float
    alpha: np.ndarray = field(repr=False)
    certificate: Certificate
    status: Status
    epochs: float
    seconds: float
    history: list[Record] = field(repr=False)
    width: float = 0.0  # with a kernel: see Certified

    @property
    def advice(self) -> str:
        """What to make of the status."""
        return self.status.advice


def lost(problem: Any, certificate: Certificate) -> bool:
    """Whether the numbers have left all bounds: not a number, or infinite where no point may be."""
    return bool(np.isnan(certificate.gap) or (np.isinf(certificate.gap) and problem.bounded))


def with_zero_alpha(best: Certified) -> Certified:
    """The same with α = 0, which proves P* ≥ 0: more than an α whose rounding errors are larger than its objective."""
    nothing = replace(best.certificate, dual=0.0, dual_rounding=0.0)
    return replace(best, alpha=np.zeros_like(best.alpha), certificate=nothing)


def better(best: Certified | None, found: Certified) -> Certified:
    """The lower primal with its (w, b), the higher dual with its alpha."""
    if best is None:
        return found
    if found.certificate.primal < best.certificate.primal:
        best = replace(found, alpha=best.alpha, certificate=joined(found.certificate, best.certificate))
    if found.certificate.dual > best.certificate.dual:
        best = replace(best, alpha=found.alpha, certificate=joined(best.certificate, found.certificate))
    return best
