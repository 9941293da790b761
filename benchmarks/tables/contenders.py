"""What is compared on tables: each contender reads a file, encodes and trains, and predicts the rows of another file.

A contender takes the two files and the label column, and returns the seconds of reading, encoding and training, and
its predictions. The target of a regression is standardised in the files: ε and C have the same meaning for all.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVC, LinearSVR

import maxmargin

FEW = 40  # values up to which text is one-hot
Contender = Callable[[Path, Path, str], tuple[float, np.ndarray]]


def ours(**given: Any) -> Contender:
    """Return maxmargin with these parameters."""

    def run(train: Path, test: Path, label: str) -> tuple[float, np.ndarray]:
        began = time.perf_counter()
        model = maxmargin.train(train, label=label, **given).model
        seconds = time.perf_counter() - began
        return seconds, model.predict(pd.read_csv(test))

    return run


def pipeline_of(make: Callable[[pd.DataFrame, Any], Any], estimator: Callable[[], Any]) -> Contender:
    """Return a contender that is a pipeline of scikit-learn, made for a data frame and an estimator."""

    def run(train: Path, test: Path, label: str) -> tuple[float, np.ndarray]:
        began = time.perf_counter()
        data = pd.read_csv(train)
        y, X = data[label], data.drop(columns=label)
        texts = texts_of(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = make(X, estimator()).fit(X.fillna(dict.fromkeys(texts, "")), y)
            seconds = time.perf_counter() - began
            unseen = pd.read_csv(test).drop(columns=label).fillna(dict.fromkeys(texts, ""))
            return seconds, fitted.predict(unseen)

    return run


def texts_of(X: pd.DataFrame) -> list[str]:
    """Return the columns of text with many values."""
    return [name for name in X.select_dtypes(exclude="number") if X[name].nunique() > FEW]


def by_columns(X: pd.DataFrame, estimator: Any) -> Any:
    """Return scikit-learn's usual pipeline."""
    numbers, texts = X.select_dtypes("number").columns.tolist(), texts_of(X)
    few = [name for name in X.columns if name not in numbers and name not in texts]
    parts = [
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), few),
        *((TfidfVectorizer(), name) for name in texts),
    ]
    return make_pipeline(make_column_transformer(*parts), estimator)


def by_skrub(X: pd.DataFrame, estimator: Any) -> Any:
    """Return skrub's pipeline."""
    from skrub import tabular_pipeline

    return tabular_pipeline(estimator)


CLASSIFIERS: dict[str, Contender] = {
    "maxmargin": ours(loss="squared_hinge"),
    "scikit-learn": pipeline_of(by_columns, LinearSVC),
    "skrub": pipeline_of(by_skrub, LinearSVC),
}
REGRESSORS: dict[str, Contender] = {
    "maxmargin, linear": ours(task="regress", kernel="linear"),
    "scikit-learn, SVR linear": pipeline_of(by_columns, lambda: SVR(kernel="linear")),
    "scikit-learn, LinearSVR": pipeline_of(by_columns, lambda: LinearSVR(epsilon=0.1, max_iter=10_000)),
    "skrub, LinearSVR": pipeline_of(by_skrub, lambda: LinearSVR(epsilon=0.1, max_iter=10_000)),
    "maxmargin, Gaussian": ours(task="regress", kernel="gaussian"),
    "scikit-learn, SVR": pipeline_of(by_columns, SVR),
    "skrub, SVR": pipeline_of(by_skrub, SVR),
}
