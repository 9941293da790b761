"""Scaling of files that are streamed: one pass finds the divisors, and rows are divided as they are read."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from maxmargin.data.files import Files
from maxmargin.data.scaling import check_not_encoded, divisors_from, sizes_of_source
from maxmargin.errors import StoppedWhileReadingError
from maxmargin.loop.interrupts import noticed
from maxmargin.settings.settings import Settings
from maxmargin.training.by_passes import stop_of


def scaled_files(settings: Settings, files: Files) -> tuple[Settings, Files]:
    """Return the files with the divisors of their features, if they are to be scaled, and the settings of the rest.

    The time of the pass that finds the divisors counts for the time limit.
    """
    if not settings.scale:
        return settings, files
    check_not_encoded(files.encoder)
    began = time.perf_counter()
    divisors = found_divisors(settings, files, began)
    left = settings.limits.after(time.perf_counter() - began).max_seconds
    return settings.changed(scale=False, max_seconds=left), replace(files, divisors=divisors)


def found_divisors(settings: Settings, files: Files, began: float) -> np.ndarray:
    """Return the divisors of the features; raise if an interrupt or the time limit ends the pass."""
    with noticed() as interrupt:
        sizes = sizes_of_source(files.source, files.budget, stop_of(settings.limits, interrupt, began))
        if sizes is None:
            raise StoppedWhileReadingError(
                f"{files.name}: stopped before all rows were read once: give it more time", interrupt.is_set()
            )
    return divisors_from(sizes)
