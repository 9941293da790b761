"""Calibration: how often an event happens among rows with about the same score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

GROUPS = 10
Z = 1.959964  # the normal quantile of a two-sided 95 % interval


class Calibration(NamedTuple):
    """Groups of rows with similar scores: mean score, share of events, and the interval of the share."""

    scores: np.ndarray
    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray

    @property
    def error(self) -> float:
        """The mean distance of score and share, weighted by the rows: for scores that are probabilities."""
        return float(np.abs(self.scores - self.shares) @ self.counts / self.counts.sum())


def calibration(scores: np.ndarray, events: np.ndarray) -> Calibration:
    """Return groups of about equal size, from the smallest scores to the largest. Equal scores stay together."""
    inner = np.unique(np.quantile(scores, np.arange(1, GROUPS) / GROUPS))
    group = np.searchsorted(inner, scores, "right")
    counts = np.bincount(group, minlength=len(inner) + 1)
    there = counts > 0
    sums = [np.bincount(group, weights=one, minlength=len(counts))[there] for one in (scores, events)]
    counts = counts[there]
    shares = sums[1] / counts
    return Calibration(sums[0] / counts, shares, *wilson(shares, counts), counts)


def wilson(shares: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's 95 % interval of shares."""
    below = 1.0 + Z**2 / counts
    centre = (shares + Z**2 / (2.0 * counts)) / below
    half = Z * np.sqrt(shares * (1.0 - shares) / counts + Z**2 / (4.0 * counts**2)) / below
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
