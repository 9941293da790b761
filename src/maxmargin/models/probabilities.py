"""Probabilities from decision values.

A pair of classes    P(first | x) = 1/(1 + exp(A f(x) + B)), fitted by maximum likelihood to held-out decision values.
                     The targets are slightly inside (0, 1), so that A and B stay finite (Platt 1999; numerics after
                     Lin, Lin, Weng 2007)
One against rest     the same sigmoid for each class; with more than two classes, divided by their sum
More pairs           min_p Σ_{i≠j} (r_ji p_i − r_ij p_j)², Σ p = 1, where r_ij is the probability of i in the pair
                     (i, j). One linear system for each example (Wu, Lin, Weng 2004)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

import numpy as np

from maxmargin.problems.losses import sigmoid

FOLDS = 5  # Folds of the cross-validation, as in LIBSVM.
NEWTON_STEPS = 100  # Most Newton steps, as in LIBSVM.
GRADIENT_TOLERANCE = 1e-10  # The fit ends when the gradient is at most this, times the number of examples.
SHORTEST_STEP = 1e-10  # The line search gives up below this step, as in LIBSVM.
HESSIAN_RIDGE = 1e-12  # Relative to the trace of the Hessian, which equal decision values make singular.
LEAST_PROBABILITY = 1e-7  # Least probability of a class in a pair, as in LIBSVM.
NUMBERS_AT_ONCE = 1 << 21  # Entries of linear systems in memory at once: 16 MB.


def folds_of(y: np.ndarray) -> np.ndarray:
    """Return the fold of each example. The examples of a class take turns, so the same data give the same folds."""
    folds = np.zeros(len(y), dtype=np.intp)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        folds[own] = np.arange(len(own)) % FOLDS
    return folds


def fit_sigmoid(values: np.ndarray, first: np.ndarray) -> tuple[float, float]:
    """Fit A and B of a pair; `first` says which examples belong to its first class."""
    return fit_sigmoid_in_parts(lambda: [(values, first)])


def fit_sigmoid_in_parts(parts: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]) -> tuple[float, float]:
    """Fit A and B of a pair to values that come in parts, which `parts` returns again for each step."""
    count = total = 0
    for _, first in parts():
        count, total = count + int(np.count_nonzero(first)), total + len(first)
    targets = np.array([1.0 / (total - count + 2.0), (count + 1.0) / (count + 2.0)])
    found = np.array([0.0, np.log((total - count + 1.0) / (count + 1.0))])

    def arrays() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for values, first in parts():
            yield np.stack([values, np.ones(len(values))]), targets[first.astype(np.intp)]

    def loss(A_and_B: np.ndarray) -> float:
        value = 0.0
        for features, target in arrays():
            z = A_and_B @ features
            value += float(np.sum(np.logaddexp(0.0, z) - (1.0 - target) * z))
        return value

    now = loss(found)
    for _ in range(NEWTON_STEPS):
        slope, bend = np.zeros(2), np.zeros((2, 2))
        for features, target in arrays():
            p = sigmoid(found @ features)  # probability of the second class
            slope += features @ (p - (1.0 - target))
            bend += (features * (p * (1.0 - p))) @ features.T
        if np.max(np.abs(slope)) <= GRADIENT_TOLERANCE * total:
            break
        bend += HESSIAN_RIDGE * (1.0 + np.trace(bend)) * np.eye(2)
        step, size = np.linalg.solve(bend, slope), 1.0
        while size > SHORTEST_STEP and not loss(found - size * step) <= now - 1e-4 * size * float(slope @ step):
            size *= 0.5
        if size <= SHORTEST_STEP:
            break
        found = found - size * step
        now = loss(found)
    return float(found[0]), float(found[1])


def pair_probabilities(values: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """Return P(first class of the pair | x), one column for each pair."""
    z = values * sigmoids[:, 0] + sigmoids[:, 1]
    return np.asarray(np.clip(sigmoid(-z), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY))


def couple(pairs: np.ndarray, classes: int) -> np.ndarray:
    """Return class probabilities from those of the pairs (0, 1), (0, 2), ..., (1, 2), ..."""
    if classes == 2:
        return np.column_stack([pairs[:, 0], 1.0 - pairs[:, 0]])
    found = np.empty((len(pairs), classes))
    step = max(1, NUMBERS_AT_ONCE // (classes + 1) ** 2)
    for start in range(0, len(pairs), step):
        found[start : start + step] = couple_some(pairs[start : start + step], classes)
    return found


def couple_some(pairs: np.ndarray, classes: int) -> np.ndarray:
    """Like `couple`, for a block of examples: solves their linear systems together."""
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
