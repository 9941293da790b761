"""Hints after a training: what in the data or in the limits is likely to make the model worse, and what to do.

The bounds were chosen on half of some forty data sets, most of them from LIBSVM's page, and tried on the other half:
unscaled features (covtype, australian, svmguide1) are told from counts of words, TF-IDF and pixels.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from maxmargin.data.columns import ranges_of
from maxmargin.data.examples import Examples
from maxmargin.data.labels import show
from maxmargin.data.rows import Csr, Rows, count_rows
from maxmargin.results import Result
from maxmargin.settings.settings import Settings
from maxmargin.status import Status

SIZE_RATIO = 100.0  # Sizes of features: the largest over one of the smallest. Below 25 for TF-IDF; 545 for svmguide1.
SMALL_PART = 0.05  # Features that may be smaller than that, such as a pixel at the border of an image.
CLASS_RATIO = 25.0  # Rows of the largest class for one of the smallest. 17 for reuters_money-fx, 33 for w8a.
FEATURES_A_ROW = 30.0  # Features with values for one row. 14 for rcv1 of 500 rows, 74 for bigrams, 99 for leukemia.


def hints_on_data(data: Examples, settings: Settings) -> list[str]:
    """Return hints on the rows and the classes."""
    sizes = typical_sizes(data.rows) if data.encoder is None and count_rows(data.rows) else np.ones(1)
    found = [on_sizes(data.rows, sizes) if not settings.scale and settings.kernel != "precomputed" else ""]
    if len(data.classes) and settings.class_weight is None and settings.weights is None and data.weights is None:
        found.append(on_classes(np.bincount(data.codes, minlength=len(data.classes)), data.classes))
    found.append(on_width(len(sizes), data.n))
    return [hint for hint in found if hint]


def hints_on_limits(result: Result, settings: Settings) -> list[str]:
    """Return which limit ended a training above its tolerance, and which option changes it."""
    gap = result.certificate.relative_gap
    limit = {
        Status.TIME_LIMIT: f"--max-seconds {settings.max_seconds:g}" if settings.max_seconds else "",
        Status.EPOCH_LIMIT: f"--max-epochs {settings.max_epochs:g}" if settings.max_epochs else "",
    }.get(result.status)
    if not limit:
        return []
    reached = f" at a gap of {gap:.1e}, not {settings.tol:g}" if isfinite(gap) else ""
    more = "raise it" if settings.checkpoint is None else "raise it and add --resume"
    return [f"{limit} ended the training{reached}: {more}, or accept a larger gap with --tol"]


def typical_sizes(rows: Rows) -> np.ndarray:
    """Return the mean absolute value of each feature where it is not 0, of those that have a value."""
    if isinstance(rows, Csr):
        counts = np.bincount(rows.indices, weights=rows.values != 0.0, minlength=rows.d)
        sums = np.bincount(rows.indices, weights=np.abs(rows.values), minlength=rows.d)
    else:
        counts = np.count_nonzero(rows.values, axis=0).astype(np.float64)
        sums = np.abs(rows.values).sum(axis=0, dtype=np.float64)
    there = counts > 0
    return np.asarray(sums[there] / counts[there])


def on_sizes(rows: Rows, typical: np.ndarray) -> str:
    """Return a hint if both typical and largest values of features differ much: then dividing by the largest helps.

    Counts of words differ in their largest values only, and features that are scaled but have a long tail in their
    typical values only.
    """
    if uneven(typical) < SIZE_RATIO:
        return ""
    largest = ranges_of(rows).size.astype(np.float64)
    ratio = uneven(largest[largest > 0.0])
    if ratio < SIZE_RATIO:
        return ""
    return f"some features are {ratio:,.0f} times as large as others, and outweigh them: try --scale (scale=True)"


def uneven(sizes: np.ndarray) -> float:
    """Return by how much the largest of some sizes exceeds one of the smallest."""
    if len(sizes) < 2:
        return 1.0
    return float(np.max(sizes) / np.quantile(sizes, SMALL_PART, method="lower"))


def on_classes(counts: np.ndarray, classes: np.ndarray) -> str:
    """Return a hint if one class is rare."""
    rare = int(np.argmin(counts))
    if counts.max() < CLASS_RATIO * counts[rare]:
        return ""
    named = f"only {counts[rare]:,} of {counts.sum():,} rows are of class {show(classes[rare])}"
    return f"{named}, and a model may neglect them: try --class-weight balanced (class_weight='balanced')"


def on_width(features: int, n: int) -> str:
    """Return a hint if there are far more features than rows."""
    if features <= FEATURES_A_ROW * n:
        return ""
    return (
        f"{features:,} features for {n:,} rows: many hyperplanes separate such rows, so judge the model by "
        "cross-validation: maxmargin tune"
    )
