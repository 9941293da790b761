"""The course of a training: objective and lower bound over seconds and epochs, thinned to be kept in a model.

In a model file, `history` is a list with one dictionary for each two-class problem: its name, and lists of seconds,
epochs, primal and dual objectives, the best so far. Numbers that are not finite are null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from maxmargin.errors import FileError
from maxmargin.loop.record import Record
from maxmargin.reporting.facts.ranking import thinned

MOST = 200  # points of one problem
MOST_OF_ALL = 4000  # points of all problems together
LEAST = 8
QUANTITIES = ("seconds", "epochs", "primal", "dual", "measure")


class Curve(NamedTuple):
    """The course of one two-class problem. `gap` is relative to `measure`."""

    name: str
    seconds: np.ndarray
    epochs: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    measure: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """The relative duality gap."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.maximum(self.primal - self.dual, 0.0) / self.measure)


def curves(history: Sequence[Record]) -> list[Curve]:
    """Return the curves of all problems of a history, thinned."""
    problems: dict[str, list[Record]] = {}
    for record in history:
        problems.setdefault(record.problem, []).append(record)
    most = max(LEAST, min(MOST, MOST_OF_ALL // max(len(problems), 1)))
    return [curve(name, [records[k] for k in spread(records, most)]) for name, records in problems.items()]


def spread(records: Sequence[Record], most: int) -> np.ndarray:
    """Return at most `most` places, half of them evenly spaced and half on a logarithmic scale."""
    count = len(records)
    if count <= most:
        return np.arange(count)
    early = np.unique(np.geomspace(1, count, most // 2).round().astype(np.intp)) - 1
    return np.union1d(early, thinned(count, most - len(early)))


def curve(name: str, records: Sequence[Record]) -> Curve:
    """Return the curve of some records."""
    best = [record.best for record in records]
    return Curve(
        name,
        np.array([record.seconds for record in records]),
        np.array([record.epochs for record in records]),
        np.array([one.primal for one in best]),
        np.array([one.dual for one in best]),
        np.array([one.measure for one in best]),
    )


def stored(found: Iterable[Curve]) -> list[dict[str, Any]]:
    """Return curves as JSON for a model file."""
    return [{"problem": one.name, **{name: rounded(getattr(one, name)) for name in QUANTITIES}} for one in found]


def rounded(values: np.ndarray) -> list[float | None]:
    """Return numbers with 12 digits, which keep a gap of 1e-10; null for those that are not finite."""
    return [float(f"{value:.12g}") if isfinite(value) else None for value in values.tolist()]


def restored(training: dict[str, Any]) -> list[Curve]:
    """Return the curves in the summary of a training; none if it has no history."""
    found = training.get("history", [])
    try:
        return [checked(one) for one in found]
    except (TypeError, KeyError, ValueError) as error:
        raise FileError(f"the history of the model is damaged ({error}): train it again") from error


def checked(one: dict[str, Any]) -> Curve:
    """Return one curve; raise if its lists are not numbers of the same count."""
    arrays = [np.array([np.nan if value is None else float(value) for value in one[name]]) for name in QUANTITIES]
    if not isinstance(one["problem"], str) or len({len(array) for array in arrays}) > 1:
        raise ValueError("its lists do not fit together")
    return Curve(one["problem"], *arrays)
