"""A plane through the space of features, the decision values on it, and where they cross a level.

A point (s, t) of the plane is the row origin + s u + t v. Rows are drawn at their projection. Three planes are of use:
two chosen columns, the others at their means; the direction w of a linear model, along which the decision value itself
is the coordinate; and the two directions in which rows spread most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.data.encoding.columns import Number
from maxmargin.data.rows import Dense
from maxmargin.errors import ParameterError
from maxmargin.reporting.facts.histograms import window
from maxmargin.reporting.subject import Group, Subject
from maxmargin.reporting.words import listed

STEPS = 96  # points of the grid along each axis
ACROSS = "spread across it"
MOST_FEATURES = 2000  # of dense rows and of the principal directions


class Plane(NamedTuple):
    """A plane, names of its axes, and how its coordinates are shown: offset + scale · coordinate."""

    origin: np.ndarray
    u: np.ndarray
    v: np.ndarray
    names: tuple[str, str]
    offsets: tuple[float, float] = (0.0, 0.0)
    scales: tuple[float, float] = (1.0, 1.0)
    note: str = ""

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the projections of rows."""
        moved = X - self.origin
        return moved @ self.u / (self.u @ self.u), moved @ self.v / (self.v @ self.v)

    def rows(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the rows at some coordinates."""
        return np.asarray(self.origin + s[:, None] * self.u + t[:, None] * self.v)

    def shown(self, axis: int, values: np.ndarray) -> np.ndarray:
        """Return coordinates in the units of the axis."""
        return np.asarray(self.offsets[axis] + self.scales[axis] * values)


class Map(NamedTuple):
    """Decision values on a grid: `values[i, j]` at (across[j], up[i])."""

    across: np.ndarray
    up: np.ndarray
    values: np.ndarray


def plane_for(subject: Subject, X: np.ndarray, means: np.ndarray, projection: Sequence[str] | None) -> Plane | None:
    """Return the plane to draw, for a sample X of rows; None if there is none of use."""
    if projection is not None:
        return chosen_plane(subject, means, projection)
    if subject.d == 2:
        return chosen_plane(subject, means, (subject.groups[0].name, subject.groups[-1].name))
    weights = subject.weights
    if subject.task == "regress" and weights is not None:
        return None  # one straight line after the other
    if weights is not None and len(weights) == 1 and np.any(weights):
        return plane_of_weights(subject, X, means, weights[0])
    return plane_of_spread(X, means)


def chosen_plane(subject: Subject, means: np.ndarray, projection: Sequence[str]) -> Plane:
    """Return the plane of two columns of numbers, with the others at their means."""
    if len(projection) != 2 or projection[0] == projection[1]:
        raise ParameterError("projection needs two different columns: NAME,NAME")
    chosen = [group_named(subject, name) for name in projection]
    u, v = np.zeros(subject.d), np.zeros(subject.d)
    u[chosen[0].start] = v[chosen[1].start] = 1.0
    origin = means.copy()
    origin[[one.start for one in chosen]] = 0.0
    units = [(one.column.mean, one.column.scale) if isinstance(one.column, Number) else (0.0, 1.0) for one in chosen]
    others = "" if subject.d == 2 else "The other columns are at their means, so rows may lie on the other side."
    return Plane(origin, u, v, (chosen[0].name, chosen[1].name), (units[0][0], units[1][0]),
                 (units[0][1], units[1][1]), others)  # fmt: skip


def group_named(subject: Subject, name: str) -> Group:
    """Return the column of a name; raise if there is none, or if it is not a number."""
    found = [one for one in subject.groups if one.name == name]
    numbers = [one.name for one in subject.groups if one.column is None or isinstance(one.column, Number)]
    if not found or found[0].name not in numbers:
        what = "is no column of the model" if not found else "is no column of numbers"
        raise ParameterError(f"projection: {name!r} {what}: choose two of {listed(numbers)}")
    return found[0]


def plane_of_weights(subject: Subject, X: np.ndarray, means: np.ndarray, w: np.ndarray) -> Plane:
    """Return the plane of w and the direction across it in which rows spread most; s is the decision value."""
    u = w / (w @ w)
    centre = float(subject.model.decide(Dense(means[None, :]))[0])
    moved = X - means
    across = moved - np.outer(moved @ w, u)
    note = "Across is the decision value itself; up is the direction in which rows spread most besides it."
    return Plane(means - centre * u, u, directions(across, 1)[0], (subject.value_name, ACROSS), note=note)


def plane_of_spread(X: np.ndarray, means: np.ndarray) -> Plane:
    """Return the plane through the mean of the two directions in which rows spread most."""
    found = directions(X - means, 2)
    note = (
        "The plane goes through the mean of all rows, along the two directions in which they spread most. Rows off the "
        "plane are drawn at their projection, and may lie on another side than it does."
    )
    return Plane(means, found[0], found[1], ("first principal direction", "second principal direction"), note=note)


def directions(X: np.ndarray, count: int) -> np.ndarray:
    """Return the directions in which centred rows spread most, with a length of 1."""
    found = np.linalg.svd(X, full_matrices=False)[2][:count]
    spare = np.eye(X.shape[1])[: count - len(found)]
    return np.vstack([found, spare]) if len(spare) else found


def map_of(subject: Subject, plane: Plane, s: np.ndarray, t: np.ndarray) -> Map:
    """Return the decision values on a grid that covers the coordinates of the sample."""
    inside = (-1.2, 1.2) if plane.names[1] == ACROSS else ()
    across, up = np.linspace(*window(s, inside), STEPS), np.linspace(*window(t), STEPS)
    grid = np.meshgrid(across, up)
    values = subject.model.decide(Dense(plane.rows(grid[0].ravel(), grid[1].ravel())))
    return Map(across, up, values.reshape(STEPS, STEPS, *values.shape[1:]))


def bands(values: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Return runs of equal whole numbers in each row of a grid: (row, first, last, number)."""
    runs = []
    for i, line in enumerate(values):
        ends = np.append(np.flatnonzero(np.diff(line)), len(line) - 1)
        starts = np.append(0, ends[:-1] + 1)
        runs += [(i, int(a), int(b), int(line[a])) for a, b in zip(starts, ends, strict=True)]
    return runs


def crossings(found: Map, level: float) -> list[tuple[float, float, float, float]]:
    """Return line segments along which the values are equal to the level, by marching squares."""
    below = found.values < level
    corners = np.stack([below[:-1, :-1], below[:-1, 1:], below[1:, 1:], below[1:, :-1]])
    mixed = np.argwhere(corners.any(axis=0) & ~corners.all(axis=0))
    return [piece for i, j in mixed.tolist() for piece in pieces(found, i, j, level)]


def pieces(found: Map, i: int, j: int, level: float) -> list[tuple[float, float, float, float]]:
    """Return the segments in one cell: through the points where its sides cross the level, two by two."""
    places = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
    points = []
    for (a, b), (c, d) in zip(places, places[1:] + places[:1], strict=True):
        one, other = found.values[a, b] - level, found.values[c, d] - level
        if (one < 0.0) != (other < 0.0):
            part = one / (one - other)
            points.append((found.across[b] + part * (found.across[d] - found.across[b]),
                           found.up[a] + part * (found.up[c] - found.up[a])))  # fmt: skip
    return [(*p, *q) for p, q in zip(points[::2], points[1::2], strict=True)]
