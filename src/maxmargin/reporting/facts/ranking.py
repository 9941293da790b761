"""ROC and precision-recall curves of decision values, with bootstrap bands.

Rows are sorted by decision value, largest first. At each distinct value, `true` and `false` count the rows of the
positive and the negative class with at least this value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

GROUPS = 500  # groups of rows that are resampled together: a band is smoother than 1/GROUPS
REPEATS = 400  # bootstrap samples
LEVEL = 0.95
POINTS = 101  # points of a band


class Ranking(NamedTuple):
    """Counts of positive and negative rows with at least each distinct value."""

    values: np.ndarray
    true: np.ndarray
    false: np.ndarray

    @property
    def positives(self) -> int:
        """Number of rows of the positive class."""
        return int(self.true[-1])

    @property
    def negatives(self) -> int:
        """Number of rows of the negative class."""
        return int(self.false[-1])

    @property
    def area(self) -> float:
        """The area under the ROC curve."""
        return area(self.false / self.negatives, self.true / self.positives)

    @property
    def average_precision(self) -> float:
        """The mean of the precision over the steps of the recall."""
        steps = np.diff(self.true, prepend=0) / self.positives
        return float(steps @ (self.true / (self.true + self.false)))


class Band(NamedTuple):
    """A curve over a grid, with the limits of its bootstrap interval at each point."""

    grid: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Bands(NamedTuple):
    """The bands of both curves, and the intervals of the area and of the average precision."""

    roc: Band
    precision: Band
    area: tuple[float, float]
    average_precision: tuple[float, float]


def ranking(values: np.ndarray, positive: np.ndarray) -> Ranking:
    """Return the counts at each distinct value, from the largest to the smallest."""
    order = np.argsort(-values, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(values[order]) != 0.0, True))
    true = np.cumsum(positive[order])[ends]
    return Ranking(values[order][ends], true, ends + 1 - true)


def area(across: np.ndarray, height: np.ndarray) -> float:
    """Return the area under a curve that begins at (0, 0), by trapezoids."""
    across, height = np.append(0.0, across), np.append(0.0, height)
    return float(np.diff(across) @ (height[1:] + height[:-1]) / 2.0)


def bands(ranked: Ranking, seed: int = 0) -> Bands:
    """Return bootstrap bands. The rows of each class are resampled apart, so that both always have some."""
    rng, grid = np.random.default_rng(seed), np.linspace(0.0, 1.0, POINTS)
    ends = thinned(len(ranked.values), GROUPS)
    true, false = (resampled(counts[ends], rng) for counts in (ranked.true, ranked.false))
    recall, fallout = true / ranked.positives, false / ranked.negatives
    precision = true / np.maximum(true + false, 1)
    heights = np.array(
        [np.interp(grid, np.append(0, x), np.append(0, y)) for x, y in zip(fallout, recall, strict=True)]
    )
    at = np.array([np.minimum(np.searchsorted(one, grid - 1e-12), len(ends) - 1) for one in recall])
    areas = [area(x, y) for x, y in zip(fallout, recall, strict=True)]
    averages = [float(np.diff(r, prepend=0.0) @ p) for r, p in zip(recall, precision, strict=True)]
    return Bands(
        Band(grid, *limits(heights)),
        Band(grid, *limits(np.take_along_axis(precision, at, axis=1))),
        interval(areas),
        interval(averages),
    )


def resampled(cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return cumulative counts of bootstrap samples, one sample a row."""
    counts = np.diff(cumulative, prepend=0)
    return np.asarray(np.cumsum(rng.multinomial(counts.sum(), counts / counts.sum(), size=REPEATS), axis=1))


def limits(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval that holds LEVEL of the samples, for each column."""
    low, high = np.quantile(samples, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    return low, high


def interval(samples: list[float]) -> tuple[float, float]:
    """Return the ends of the interval that holds LEVEL of the samples."""
    low, high = limits(np.array(samples))
    return float(low), float(high)


def thinned(count: int, most: int) -> np.ndarray:
    """Return at most `most` places out of `count`, evenly spaced, with the last one."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))
