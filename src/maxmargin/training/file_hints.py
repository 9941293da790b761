"""Hints after a training from files that were streamed, from what it knows of their rows: no pass is made for them."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np

from maxmargin.data.files import Files
from maxmargin.data.rows import Rows, count_rows
from maxmargin.errors import MaxmarginError
from maxmargin.results import Result
from maxmargin.settings.settings import Settings
from maxmargin.training.hints import on_classes, on_sizes, on_width, typical_sizes


def hints_on_streamed(result: Result, counts: np.ndarray, settings: Settings, files: Files) -> list[str]:
    """Return hints on the sizes of features, on the classes, and on the number of features.

    `counts` are the rows of each class. The sizes are judged by the first rows. Features with a weight have a value in
    some row, so that these are counted.
    """
    model: Any = result.model
    found = ["" if (rows := unscaled_rows(files)) is None else on_sizes(rows, typical_sizes(rows))]
    if settings.class_weight is None and settings.weights is None:
        found.append(on_classes(counts, model.classes))
    if settings.expansion is None:
        found.append(on_width(int(np.count_nonzero(np.any(model.w != 0.0, axis=0))), int(counts.sum())))
    return [hint for hint in found if hint]


def unscaled_rows(files: Files) -> Rows | None:
    """Return the first rows of the files; None if they are scaled, or encoded, or cannot be read any more."""
    if files.encoder is not None or files.divisors is not None:
        return None
    try:
        with closing(files.source.blocks()) as blocks:  # type: ignore[type-var]
            rows = next(blocks).rows
    except MaxmarginError:
        return None
    return rows if count_rows(rows) else None
