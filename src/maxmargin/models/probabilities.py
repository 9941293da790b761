"""Probabilities from decision values.

A pair of classes    P(first | x) = 1/(1 + exp(A f(x) + B)), fitted to the values of examples that were not trained on
                     by maximum likelihood, with targets a little inside (0, 1) so that no value is beyond doubt
                     (Platt 1999; the numerics of Lin, Lin, Weng 2007)
More classes         the p that agree best with the pairs: min Σ_{i≠j} (r_ji p_i − r_ij p_j)², Σ p = 1, where r_ij is
                     the probability of i in the pair (i, j): one linear system an example (Wu, Lin, Weng 2004)
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

FOLDS = 5
STEPS = 100
ENOUGH = 1e-10  # of the gradient, for each example
SHORTEST = 1e-10
ROUNDING = 1e-12
LEAST = 1e-7  # probability in a pair
AT_ONCE = 1 << 21  # numbers of linear systems


def folds_of(y: np.ndarray) -> np.ndarray:
    """The fold of each example: those of a class in turn, so that the same data always fall the same way."""
    folds = np.zeros(len(y), dtype=np.intp)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        folds[own] = np.arange(len(own)) % FOLDS
    return folds


def fit_sigmoid(values: np.ndarray, first: np.ndarray) -> tuple[float, float]:
    """A and B of the pair, from decision values and whether each example is of the first class."""
    count = np.count_nonzero(first)
    target = np.where(first, (count + 1.0) / (count + 2.0), 1.0 / (len(first) - count + 2.0))
    features = np.stack([values, np.ones(len(values))])
    found = np.array([0.0, np.log((len(first) - count + 1.0) / (count + 1.0))])

    def loss(A_and_B: np.ndarray) -> float:
        z = A_and_B @ features
        return float(np.sum(np.logaddexp(0.0, z) - (1.0 - target) * z))

    now = loss(found)
    for _ in range(STEPS):
        p = 0.5 * (1.0 + np.tanh(0.5 * (found @ features)))  # of the second class
        slope = features @ (p - (1.0 - target))
        if np.max(np.abs(slope)) <= ENOUGH * len(values):
            break
        bend = (features * (p * (1.0 - p))) @ features.T
        bend += ROUNDING * (1.0 + np.trace(bend)) * np.eye(2)  # equal values leave it singular
        step, size = np.linalg.solve(bend, slope), 1.0
        while size > SHORTEST and not loss(found - size * step) <= now - 1e-4 * size * float(slope @ step):
            size *= 0.5
        if size <= SHORTEST:
            break
        found = found - size * step
        now = loss(found)
    return float(found[0]), float(found[1])


def pair_probabilities(values: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """P(first class of the pair | x), a column for each pair."""
    z = values * sigmoids[:, 0] + sigmoids[:, 1]
    return np.asarray(np.clip(0.5 * (1.0 - np.tanh(0.5 * z)), LEAST, 1.0 - LEAST))


def couple(pairs: np.ndarray, classes: int) -> np.ndarray:
    """The probability of each class, from those of the pairs (0, 1), (0, 2), ..., (1, 2), ..."""
    if classes == 2:
        return np.column_stack([pairs[:, 0], 1.0 - pairs[:, 0]])
    found = np.empty((len(pairs), classes))
    step = max(1, AT_ONCE // (classes + 1) ** 2)
    for start in range(0, len(pairs), step):
        found[start : start + step] = couple_some(pairs[start : start + step], classes)
    return found


def couple_some(pairs: np.ndarray, classes: int) -> np.ndarray:
    """The same for some examples, their linear systems beside each other."""
    system = np.zeros((len(pairs), classes + 1, classes + 1))
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        first, second = pairs[:, k], 1.0 - pairs[:, k]
        system[:, i, i] += second**2
        system[:, j, j] += first**2
        system[:, i, j] = system[:, j, i] = -first * second
    system[:, -1, :classes] = system[:, :classes, -1] = 1.0
    right = np.zeros((len(pairs), classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :classes, 0], 0.0)
    return np.asarray(p / np.sum(p, axis=1, keepdims=True))
