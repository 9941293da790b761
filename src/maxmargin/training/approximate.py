"""Training a linear classifier on features that approximate a kernel."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.examples import Examples
from maxmargin.data.labels import sides, signs
from maxmargin.data.pick import pick
from maxmargin.data.rows import Rows, count_stored
from maxmargin.kernels.approximation import Approximation
from maxmargin.kernels.feature_maps import transform
from maxmargin.kernels.functions import Kernel, kernel_centre
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.linear import LinearModel
from maxmargin.problems.linear import check_both_classes
from maxmargin.results import Result
from maxmargin.settings.settings import Settings
from maxmargin.training.linear import fit_linear, weights_of

LEAST_SECONDS = 1e-3  # least time for the fit itself, however long the features took


def fit_features(data: Examples, kernel: Kernel, approximation: Approximation, settings: Settings) -> Result:
    """Train a linear model on features that approximate the kernel."""
    threads, began = settings.thread_count, time.perf_counter()
    features, centre, phi = features_of(data, kernel, approximation, settings)
    spent = time.perf_counter() - began
    if settings.max_seconds is not None:
        settings = settings.changed(max_seconds=max(settings.max_seconds - spent, LEAST_SECONDS))
    result = fit_linear(data.on(phi, threads), settings, {})
    assert isinstance(result.model, LinearModel)
    result.seconds += spent
    result.model = ApproximateModel(features, result.model, centre)
    result.model.training.update(d=features.d, nnz=count_stored(data.rows), approximation=result.model.approximation)
    result.why = f"{result.why} (on {result.model.approximation}: the certificate is of that problem)"
    return result


def features_of(
    data: Examples, kernel: Kernel, approximation: Approximation, settings: Settings
) -> tuple[Any, np.ndarray | None, Rows]:
    """Return features that approximate the kernel, the centre that is subtracted from rows, and the features of all."""
    threads, weights = settings.thread_count, weights_of(data, settings)
    counts = np.ones(data.n) if weights is None else weights
    for side in sides(data.classes):
        check_both_classes(signs(data.codes, side), counts)
    counted = np.flatnonzero(counts)
    centre = kernel_centre(kernel, data.rows, balanced=False)
    every = data.rows if centre is None else shifted(data.rows, centre)
    rows = every if len(counted) == data.n else pick(every, counted)
    features = approximation.features(rows, kernel, int(settings.seed), threads)
    return features, centre, transform(features, every, threads)
