"""The table of a search: the scores of each pair (C, γ) on all folds, and the rule that chooses one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from statistics import fmean, stdev
from typing import Any

RULES = ("one_standard_error", "best")


@dataclass(eq=False)
class Candidate:
    """One pair (C, γ). `scores` holds None for folds that have no score yet.

    `gap` is the largest relative gap of its fits, `seconds` their time, and `dropped` the reason if not all folds were
    run.
    """

    C: float
    gamma: float | None
    scores: list[float | None]
    gap: float = 0.0
    seconds: float = 0.0
    dropped: str = field(default="")

    @property
    def known(self) -> list[float]:
        """The scores so far."""
        return [score for score in self.scores if score is not None]

    @property
    def complete(self) -> bool:
        """Whether every fold has a score, and each is a number."""
        return len(self.known) == len(self.scores) and all(map(isfinite, self.known))

    @property
    def mean(self) -> float:
        """The mean score; NaN if there is none."""
        return fmean(self.known) if self.known else float("nan")

    @property
    def error(self) -> float:
        """The standard error of the mean: the standard deviation of the scores over the root of their number."""
        return stdev(self.known) / sqrt(len(self.known)) if len(self.known) > 1 else 0.0

    @property
    def simplicity(self) -> tuple[float, float]:
        """What orders candidates from simple to flexible: γ, then C."""
        return self.gamma or 0.0, self.C

    def simpler_than(self, other: Candidate) -> bool:
        """Whether this candidate comes before another one from simple to flexible."""
        return self.simplicity < other.simplicity

    @property
    def name(self) -> str:
        """C and γ as text."""
        return f"C={self.C:.4g}" if self.gamma is None else f"C={self.C:.4g}, gamma={self.gamma:.4g}"


def highest_mean(scores: Sequence[float | None], folds: int, highest: float) -> float:
    """Return the mean of all folds if those without a score had the highest score."""
    known = [score for score in scores if score is not None]
    return (sum(known) + (folds - len(known)) * highest) / folds if len(known) < folds else fmean(known)


def best_of(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the complete candidate with the highest mean, the simplest of equal ones; None if none is complete."""
    done = [one for one in candidates if one.complete]
    return min(done, key=lambda one: (-one.mean, one.simplicity)) if done else None


def threshold(candidates: Sequence[Candidate], rule: str) -> float:
    """Return the mean score from which on a candidate may be chosen; −inf if none is complete."""
    best = best_of(candidates)
    if best is None:
        return -inf
    return best.mean - (best.error if rule == "one_standard_error" else 0.0)


def chosen_of(candidates: Sequence[Candidate], rule: str) -> Candidate | None:
    """Return the simplest candidate whose mean is at least the threshold; None if none is complete."""
    least, best = threshold(candidates, rule), best_of(candidates)
    if best is None or rule == "best":
        return best
    return min((one for one in candidates if one.complete and one.mean >= least), key=lambda one: one.simplicity)


def as_json(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as JSON for a model file; numbers that are unknown are null."""
    return {
        "C": candidate.C,
        "gamma": candidate.gamma,
        "mean": number(candidate.mean),
        "error": number(candidate.error) if candidate.known else None,
        "scores": [number(score) for score in candidate.scores],
        "gap": number(candidate.gap),
        "seconds": round(candidate.seconds, 6),
        "dropped": candidate.dropped,
    }


def candidate_of(row: dict[str, Any]) -> Candidate:
    """Return the candidate that `as_json` has written."""
    gamma = None if row["gamma"] is None else float(row["gamma"])
    scores = [None if score is None else float(score) for score in row["scores"]]
    gap = inf if row["gap"] is None else float(row["gap"])
    return Candidate(float(row["C"]), gamma, scores, gap, float(row["seconds"]), str(row["dropped"]))


def number(value: float | None) -> float | None:
    """Return a finite number, or None."""
    return value if value is not None and isfinite(value) else None
