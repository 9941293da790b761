"""Histograms of many values, by group, and counts on a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BINS = 60
TAIL = 0.002  # share of the values at each end that may lie outside; they are counted in the outermost bins


class Histogram(NamedTuple):
    """Counts for each bin (columns) and group (rows), and how many values lie outside of the bins."""

    edges: np.ndarray
    counts: np.ndarray
    outside: int


def histogram(values: np.ndarray, groups: np.ndarray, count: int, include: tuple[float, ...] = ()) -> Histogram:
    """Return the histogram of each of `count` groups over the same bins, which reach all values of `include`."""
    low, high = window(values, include)
    edges = np.linspace(low, high, BINS + 1)
    places = np.clip(((values - low) * (BINS / (high - low))).astype(np.int64), 0, BINS - 1)
    counts = np.bincount(groups * BINS + places, minlength=count * BINS).reshape(count, BINS)
    return Histogram(edges, counts, int(np.count_nonzero((values < low) | (values > high))))


def window(values: np.ndarray, include: tuple[float, ...] = ()) -> tuple[float, float]:
    """Return the range of all but the few outermost values. It is never empty."""
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL]) if len(values) else (0.0, 0.0)
    low, high = min(float(low), *include, np.inf), max(float(high), *include, -np.inf)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        room = max(abs(low), 1.0)
        return low - room, high + room
    room = 0.02 * (high - low)
    return low - room, high + room


def grid_counts(across: np.ndarray, up: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges of both axes and the counts on a grid; the outermost values are counted at its border."""
    edges = [np.linspace(*window(one), bins + 1) for one in (across, up)]
    places = [
        np.clip(np.searchsorted(edge, one, "right") - 1, 0, bins - 1)
        for edge, one in zip(edges, (across, up), strict=True)
    ]
    counts = np.bincount(places[0] * bins + places[1], minlength=bins * bins).reshape(bins, bins)
    return edges[0], edges[1], counts
