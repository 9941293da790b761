"""Explanations of single rows: what each column contributes to the decision value.

The contribution of a column is f(x) minus f(x with the column at its mean). For a linear model these add up to the
distance of f(x) from its value at the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.data.encoding.columns import Category, Number
from maxmargin.data.rows import Csr, Dense, Rows, count_rows, dense_of
from maxmargin.reporting.subject import Group, Subject

MOST_GROUPS = 300  # columns of a kernel model whose contributions are computed: each takes a row of predictions
MOST_FEATURES = 20000  # of dense copies of rows
SHOWN = 5


class Contribution(NamedTuple):
    """What a column contributes, and its value in this row."""

    column: str
    value: str
    amount: float


def explanations(subject: Subject, rows: Rows, means: np.ndarray, sides: Sequence[int]) -> list[list[Contribution]]:
    """Return the largest contributions to the decision value of each row, for problem `sides[i]`; [] if too many."""
    if subject.d > MOST_FEATURES or not subject.has_columns:
        return []
    X = widened(rows, subject.d)
    if subject.weights is not None:
        terms = subject.weights[np.asarray(sides, dtype=np.intp)] * (X - means)
        starts = [group.start for group in subject.groups]
        amounts = np.add.reduceat(terms, starts, axis=1)
    elif len(subject.groups) <= MOST_GROUPS:
        amounts = np.array([by_replacement(subject, x, means, side) for x, side in zip(X, sides, strict=True)])
    else:
        return []
    return [largest(subject, x, own) for x, own in zip(X, amounts, strict=True)]


def widened(rows: Rows, d: int) -> np.ndarray:
    """Return the rows as an array with d columns."""
    X = dense_of(rows._replace(d=d) if isinstance(rows, Csr) else rows)
    return np.hstack([X, np.zeros((count_rows(rows), d - X.shape[1]))]) if X.shape[1] < d else X


def by_replacement(subject: Subject, x: np.ndarray, means: np.ndarray, side: int) -> np.ndarray:
    """Return f(x) minus f(x with one column at its mean), for each column."""
    changed = np.tile(x, (len(subject.groups) + 1, 1))
    for k, group in enumerate(subject.groups):
        changed[k, group.start : group.stop] = means[group.start : group.stop]
    values = subject.model.decide(Dense(changed))
    values = values if values.ndim == 1 else values[:, side]
    return np.asarray(values[-1] - values[:-1])


def largest(subject: Subject, x: np.ndarray, amounts: np.ndarray) -> list[Contribution]:
    """Return the largest contributions of one row."""
    order = np.argsort(-np.abs(amounts), kind="stable")[:SHOWN]
    groups = subject.groups
    return [
        Contribution(groups[k].name, value_of(subject, groups[k], x), float(amounts[k]))
        for k in order.tolist()
        if amounts[k] != 0.0
    ]


def value_of(subject: Subject, group: Group, x: np.ndarray) -> str:
    """Return the value of a column in a row of features, in original units."""
    own, encoded = x[group.start : group.stop], group.column
    if isinstance(encoded, Number):
        return "missing" if encoded.missing and own[1] else f"{encoded.mean + encoded.scale * own[0]:.6g}"
    if isinstance(encoded, Category):
        return category_of(encoded, own)
    if encoded is None:
        return f"{own[0]:.6g}"
    found = np.flatnonzero(own)[:3]
    return ", ".join(subject.feature_names[group.start + k].removeprefix(f"{group.name}: ") for k in found.tolist())


def category_of(encoded: Category, own: np.ndarray) -> str:
    """Return the value of a category."""
    if encoded.is_flag:
        return str(encoded.values[int(own[0] != 0.0)])
    found = np.flatnonzero(own)
    if not len(found):
        return "(unknown)"
    return str(encoded.names[int(found[0])]).removeprefix(f"{encoded.name}=")
