"""What a run reports on its way: one record for each certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.stream import Stream


@dataclass(frozen=True)
class Reading:
    """How far a training from files is: bytes read in this pass and in a whole one, passes, the cache, its evictions.

    `updates` is how many dual steps were taken in a second.
    """

    read: int
    size: int
    passes: int
    fill: float
    evicted: int
    updates: float


@dataclass(frozen=True)
class Record:
    """One line of history: the certificate of the point at that moment, and the best one so far.

    A perceptron also counts its mistakes, in the last whole epoch and in all; a training from files says how far it is.
    """

    problem: str
    epochs: float
    seconds: float
    certificate: Certificate
    best: Certificate
    mistakes: int | None = None
    all_mistakes: int | None = None
    reading: Reading | None = None


def mistakes_of(state: Any) -> dict[str, Any]:
    """The mistakes of a solver that counts them."""
    return {name: value for name in ("mistakes", "all_mistakes") if (value := getattr(state, name, -1)) >= 0}


def reading_of(problem: Stream, state: Any, rate: float) -> Reading:
    """How far a stream is."""
    trainer = state.trainer
    fill, evicted = (trainer.fill, trainer.evicted) if trainer else (0.0, 0)
    return Reading(problem.read_bytes, problem.source.size, problem.passes, fill, evicted, rate)
