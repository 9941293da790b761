"""The table of a tuned model: the mean score and its standard error for each C and γ."""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.errors import FileError


class Trial(NamedTuple):
    """One point of the grid. `dropped` says why it was not finished, "" if it was."""

    C: float
    gamma: float | None
    mean: float | None
    error: float
    seconds: float
    dropped: str


class Tuning(NamedTuple):
    """All points of the grid, and the chosen one."""

    scoring: str
    rule: str
    folds: int
    kind: str
    ended: str
    seconds: float
    C: float
    gamma: float | None
    trials: list[Trial]

    @property
    def finished(self) -> list[Trial]:
        """The trials with a score."""
        return [one for one in self.trials if one.mean is not None]

    @property
    def best(self) -> Trial | None:
        """The trial of the best mean score over all folds."""
        whole = [one for one in self.finished if not one.dropped]
        return max(whole, key=lambda one: one.mean if one.mean is not None else -1e300, default=None)

    @property
    def end_of_grid(self) -> str | None:
        """Whether the best and the chosen C are the smallest or the largest of several; None if one lies between."""
        Cs = {one.C for one in self.trials}
        if self.best is None or len(Cs) < 3 or self.best.C != self.C:
            return None
        return {max(Cs): "largest", min(Cs): "smallest"}.get(self.best.C)


def tuning_of(training: dict[str, Any]) -> Tuning | None:
    """Return the tuning in the summary of a training; None if there was none."""
    if "tuning" not in training:
        return None
    try:
        found = training["tuning"]
        C, gamma = found["chosen"] or (float("nan"), None)
        trials = [trial(one) for one in found["table"]]
        return Tuning(
            str(found["scoring"]), str(found["rule"]), int(found["folds"]), str(found["kind"]), str(found["ended"]),
            float(found["seconds"]), float(C), maybe(gamma), trials,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"the tuning of the model is damaged ({error}): tune it again") from error


def trial(one: dict[str, Any]) -> Trial:
    """Return one line of the table."""
    seconds, error = maybe(one.get("seconds")) or 0.0, maybe(one.get("error")) or 0.0
    dropped = str(one.get("dropped") or "")
    return Trial(float(one["C"]), maybe(one.get("gamma")), maybe(one.get("mean")), error, seconds, dropped)


def maybe(value: Any) -> float | None:
    """Return a number, None for None."""
    return None if value is None else float(value)
