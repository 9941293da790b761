"""The data sets: those that come with scikit-learn, and generated ones. Each is (X, y)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import scale

Data = tuple[Any, np.ndarray | None]


def bundled(name: str, prepare: Callable[[np.ndarray], np.ndarray] = np.asarray) -> Data:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return prepare(X), y


def generated(n: int, d: int) -> Data:
    return datasets.make_classification(n, d, random_state=0)


def text(n: int = 1000, d: int = 5000, words: int = 60, topical: int = 400) -> Data:
    """TF-IDF of documents of `words` words. A tenth of them are from the vocabulary of the document's topic."""
    random = np.random.default_rng(0)
    y = random.integers(2, size=n)
    frequencies = 1.0 / np.arange(1, d + 1)
    common = random.choice(d, size=(n, words), p=frequencies / frequencies.sum())
    own = d - topical * (y[:, None] + 1) + random.integers(topical, size=(n, words))
    columns = np.where(random.random((n, words)) < 0.1, own, common).ravel()
    counts = sparse.csr_matrix((np.ones(n * words), (np.repeat(np.arange(n), words), columns)), shape=(n, d))
    return TfidfTransformer().fit_transform(counts), y


def blobs(centres: Any) -> Data:
    """100 points around the origin, for OneClassSVM: with 10 centres and a linear kernel its optimum is 0."""
    return datasets.make_blobs(100, centers=centres, random_state=0)[0], None


SETS: dict[str, Callable[[], Data]] = {
    "iris": lambda: bundled("iris"),
    "wine": lambda: bundled("wine"),
    "wine standardised": lambda: bundled("wine", scale),
    "breast cancer raw": lambda: bundled("breast_cancer"),
    "breast cancer": lambda: bundled("breast_cancer", scale),
    "digits raw": lambda: bundled("digits"),
    "digits": lambda: bundled("digits", lambda X: X / 16.0),
    "100×5": lambda: generated(100, 5),
    "500×20": lambda: generated(500, 20),
    "1000×20": lambda: generated(1000, 20),
    "2000×50": lambda: generated(2000, 50),
    "text 1000×5000": text,
    "diabetes": lambda: bundled("diabetes"),
    "regression 1000×20": lambda: datasets.make_regression(1000, 20, noise=10.0, random_state=0),
    "1 blob 100×2": lambda: blobs([[0.0, 0.0]]),
    "10 blobs 100×2": lambda: blobs(10),
}


@cache
def load(name: str) -> Data:
    return SETS[name]()
