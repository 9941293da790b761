"""Errors of a regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Errors(NamedTuple):
    """R², mean absolute and root mean squared error; the mean absolute error of always predicting the mean."""

    r2: float
    mae: float
    rmse: float
    mae_of_mean: float
    bias: float


def errors_of(values: np.ndarray, targets: np.ndarray) -> Errors:
    """Return the errors of predictions."""
    residuals = targets - values
    square, spread = float(np.mean(residuals**2)), float(np.mean((targets - targets.mean()) ** 2))
    return Errors(
        1.0 - square / spread if spread > 0.0 else float(square == 0.0),
        float(np.mean(np.abs(residuals))),
        square**0.5,
        float(np.mean(np.abs(targets - targets.mean()))),
        float(np.mean(residuals)),
    )
