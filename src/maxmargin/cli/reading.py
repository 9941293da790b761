"""Data to predict, as a model wants them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from maxmargin.model import Model
from maxmargin.rows.memory import Rows
from maxmargin.rows.text import read_text


def read_for(model: Model, file: Path, zero_based: bool, threads: int | None) -> tuple[Rows, np.ndarray]:
    """The rows and labels of a file that a model can decide on; fewer features than it knows are fine."""
    rows, y = read_text(file, zero_based=zero_based, threads=threads)
    model.check_width(rows.d, str(file))
    return rows, y
