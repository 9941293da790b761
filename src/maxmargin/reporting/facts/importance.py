"""The weights of a model by column of its data.

The effect of a number is its weight times its spread: what one step of usual size changes in the decision value. The
effect of a category is the weight of its feature. The weight in original units belongs to one unit of the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.data.encoding.columns import Category, Number
from maxmargin.models.named_weights import unit_scales
from maxmargin.reporting.subject import Group, Subject

MOST_ENTRIES = 12  # features of one column that are shown


class Entry(NamedTuple):
    """One feature: its effect in each problem, its weight in original units, and what the unit is."""

    name: str
    effects: np.ndarray
    weights: np.ndarray
    unit: str


class Column(NamedTuple):
    """One column of the data, with its features of the largest effects."""

    name: str
    entries: Sequence[Entry]

    @property
    def effect(self) -> float:
        """The largest effect."""
        return max(float(np.max(np.abs(entry.effects))) for entry in self.entries)


def importance(subject: Subject, spreads: np.ndarray | None, most: int) -> list[Column]:
    """Return the columns with the largest effects; none for a model without weights of features."""
    if subject.weights is None or subject.weights.shape[1] != subject.d:
        return []
    weights = subject.weights
    effects = weights * effect_sizes(subject, spreads)
    largest = [float(np.max(np.abs(effects[:, one.start : one.stop]), initial=0.0)) for one in subject.groups]
    order = np.argsort(-np.array(largest), kind="stable")[:most]
    in_units = weights / unit_scales(subject.encoder, subject.d)
    return [column(subject, subject.groups[k], in_units, effects) for k in order.tolist() if largest[k] > 0.0]


def effect_sizes(subject: Subject, spreads: np.ndarray | None) -> np.ndarray:
    """Return the step of usual size for each feature: 1 if it was encoded, else its standard deviation, if known."""
    return np.ones(subject.d) if subject.encoder is not None or spreads is None else spreads


def column(subject: Subject, group: Group, weights: np.ndarray, effects: np.ndarray) -> Column:
    """Return the features of a column with the largest effects."""
    own = np.arange(group.start, group.stop)
    order = own[np.argsort(-np.abs(effects[:, own]).max(axis=0), kind="stable")[:MOST_ENTRIES]]
    return Column(group.name, [entry(subject, group, k, weights[:, k], effects[:, k]) for k in np.sort(order).tolist()])


def entry(subject: Subject, group: Group, k: int, weights: np.ndarray, effects: np.ndarray) -> Entry:
    """Return one feature."""
    name, encoded = subject.feature_names[k], group.column
    if isinstance(encoded, Number) and k == group.start:
        return Entry(name, effects, weights, f"for 1 more of {name}")
    if isinstance(encoded, Category) and encoded.is_flag:
        return Entry(name, effects, weights, f"if it is so, instead of {encoded.values[0]}")
    if encoded is not None:
        return Entry(name, effects, weights, "if it is so")
    return Entry(name, effects, weights, "for 1 more")
