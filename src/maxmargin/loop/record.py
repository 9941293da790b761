"""Progress reports of a run: one record for each certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.stream import Stream


@dataclass(frozen=True)
class Reading:
    """The progress of training from files: bytes read in this pass and in a whole one (`size`), and completed passes.

    `fill` is the part of the row cache in use, `evicted` the number of evicted rows, `updates` the dual steps per
    second.
    """

    read: int
    size: int
    passes: int
    fill: float
    evicted: int
    updates: float


@dataclass(frozen=True)
class Record:
    """One line of history: the certificate of the current point, and the best one so far.

    A perceptron also counts its mistakes, in the last whole epoch and in total. Training from files adds a `reading`.
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
    """Return the mistakes of a solver that counts them, for a Record."""
    return {name: value for name in ("mistakes", "all_mistakes") if (value := getattr(state, name, -1)) >= 0}


def reading_of(problem: Stream, state: Any, rate: float) -> Reading:
    """Return the progress of a stream; `rate` is in dual steps per second."""
    trainer = state.trainer
    fill, evicted = (trainer.fill, trainer.evicted) if trainer else (0.0, 0)
    return Reading(problem.read_bytes, problem.source.size, problem.passes, fill, evicted, rate)
