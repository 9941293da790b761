"""What a run reports on its way: one record for each certificate."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.problems.certificate import Certificate


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
