"""Programs like scikit-learn's examples. Each takes the class SVC and a share of its work, and returns its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from datasets import load
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
    learning_curve,
    permutation_test_score,
)
from sklearn.preprocessing import scale

Scores = dict[str, float]


def wide_grid(SVC: Any, share: float) -> Scores:
    """13 values of C from 1e-2 to 1e10, 13 of gamma from 1e-9 to 1e3, 5 splits of iris: 845 fits and the last one."""
    X, y = load("iris")
    grid = {"C": np.logspace(-2, 10, 13), "gamma": np.logspace(-9, 3, 13)}
    splits = StratifiedShuffleSplit(n_splits=max(1, round(5 * share)), test_size=0.2, random_state=42)
    return {"best": GridSearchCV(SVC(), grid, cv=splits).fit(scale(X), y).best_score_}


def nested(SVC: Any, share: float) -> Scores:
    """Nested cross-validation beside a plain grid search, 4 × 4 folds of iris, 30 trials: 3,750 fits."""
    X, y = load("iris")
    grid = {"C": [1, 10, 100], "gamma": [0.01, 0.1]}
    plain, inside = [], []
    for trial in range(max(1, round(30 * share))):
        inner, outer = (KFold(n_splits=4, shuffle=True, random_state=seed) for seed in (trial, 1000 + trial))
        search = GridSearchCV(SVC(kernel="rbf"), grid, cv=inner)
        plain.append(search.fit(X, y).best_score_)
        inside.append(cross_val_score(search, X, y, cv=outer).mean())
    return {"plain": np.mean(plain), "nested": np.mean(inside)}


def permutations(SVC: Any, share: float) -> Scores:
    """Permutation tests of iris and of noise, 1,000 permutations × 2 folds each: 4,004 fits."""
    X, y = load("iris")
    noise = np.random.default_rng(0).normal(size=(len(y), 20))
    splits = StratifiedKFold(2, shuffle=True, random_state=0)
    found = {}
    for name, features in (("iris", X), ("noise", noise)):
        score, _, p = permutation_test_score(
            SVC(kernel="linear", random_state=7), features, y, cv=splits, random_state=0,
            n_permutations=max(1, round(1000 * share)),
        )  # fmt: skip
        found |= {name: score, f"{name} p": p}
    return found


def curve(SVC: Any, share: float) -> Scores:
    """The learning curve of digits: 5 sizes × 50 random splits: 250 fits, each scored on both parts."""
    X, y = load("digits raw")
    splits = ShuffleSplit(n_splits=max(1, round(50 * share)), test_size=0.2, random_state=0)
    _, trained, tested = learning_curve(SVC(gamma=0.001), X, y, cv=splits, train_sizes=np.linspace(0.1, 1.0, 5))
    return {"train": trained[-1].mean(), "test": tested[-1].mean()}


PROGRAMS: dict[str, Callable[[Any, float], Scores]] = {
    "wide grid": wide_grid,
    "nested cross-validation": nested,
    "permutation tests": permutations,
    "learning curve": curve,
}
