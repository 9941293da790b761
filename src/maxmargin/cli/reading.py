"""Data to predict, as a model wants them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from maxmargin.errors import DataError
from maxmargin.model import LinearModel
from maxmargin.rows.memory import Rows, count_columns
from maxmargin.rows.text import read_text


def read_for(model: LinearModel, file: Path, zero_based: bool, threads: int | None) -> tuple[Rows, np.ndarray]:
    """The rows and labels of a file that a model can decide on; fewer features than it knows are fine."""
    rows, y = read_text(file, zero_based=zero_based, threads=threads)
    if count_columns(rows) > model.d:
        raise DataError(
            f"{file}: has {count_columns(rows)} features, but the model was trained with {model.d}: "
            "predict on data prepared like the training data"
        )
    return rows, y
