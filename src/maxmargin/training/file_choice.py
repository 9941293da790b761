"""solver="auto" for files that do not fit in memory: dual cached loops, or Newton-type steps by passes.

Dual steps need about C ‖x‖² epochs: few where columns are scaled, hopelessly many where they are raw. Newton-type steps
need 5 to 30 passes whatever the scale, but each computes a matrix of d × d numbers, at about nnz² / n products.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.file_rows import VALUES_PER_BYTE
from maxmargin.data.files import Files
from maxmargin.data.preparation import Preparation
from maxmargin.data.rows import count_columns, count_rows, count_stored
from maxmargin.problems.losses import find_loss
from maxmargin.settings.settings import Settings
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.training.file_passes import memory_for_matrices
from maxmargin.training.pass_succession import by_newton_steps

SLOW_STEEPNESS = 300.0  # mean of C ‖x‖² above which dual cached loops are not tried
MATRIX_SHARE = 1.0  # part of the memory that matrices may take
NARROW_ROW = 60.0  # values of a row whose products for the matrix take about as long as reading the row
CACHED_LOOPS = "a file that does not fit in memory: dual steps on cached rows while other rows are read"
BY_PASSES = (
    "a file that does not fit in memory, and values so large for this C that dual steps are slow: "
    "Newton steps by passes over the file"
)


WEIGHTED = (
    "a file that does not fit in memory, with weights, a warm start or probabilities: Newton steps by passes over the "
    "file"
)
NARROW = (
    "a file that does not fit in memory, a smooth loss and rows of few values: Newton steps by passes over the file"
)
SEVERAL_CLASSES = (
    "a file that does not fit in memory, and more than two classes: Newton steps of all classes by the same passes"
)
SEVERAL_C = "files that do not fit in memory, and several C: one step of each C for each pass"


class FirstRows(NamedTuple):
    """What the first block of the files says: features, classes, the mean of ‖x‖², an estimate of all rows.

    `width` is the mean number of values of a row.
    """

    d: int
    classes: int
    mean_square: float
    n: float
    width: float


def choose_for_files(settings: Settings, files: Files) -> tuple[str, str]:
    """Return the name of the solver and the reason."""
    first = first_rows(settings, files)
    name = solver_by_passes(settings, files, first.n, first.d)
    if needs_passes(settings):
        return name or ("newton" if find_loss(settings.loss).smooth else "cocoa"), WEIGHTED
    if name is None:
        return "cached_loops", CACHED_LOOPS
    if settings.penalty(max(int(first.n), 1)) * first.mean_square > SLOW_STEEPNESS:
        return name, BY_PASSES
    if find_loss(settings.loss).smooth and first.width <= NARROW_ROW:
        return name, NARROW
    if first.classes > 2 and first.classes * memory_for_matrices(first.d) <= MATRIX_SHARE * files.budget.total:
        return name, SEVERAL_CLASSES
    return "cached_loops", CACHED_LOOPS


def choose_for_path(settings: Settings, files: Files) -> tuple[str, str]:
    """Return the name of the solver for several C, and the reason: all C in the same passes if a solver can do that."""
    first = first_rows(settings, files)
    if name := solver_by_passes(settings, files, first.n, first.d):
        return name, SEVERAL_C
    if find_loss(settings.loss).smooth:
        return "lbfgs", SEVERAL_C
    return ("cocoa", WEIGHTED) if needs_passes(settings) else ("cached_loops", CACHED_LOOPS)


def needs_passes(settings: Settings) -> bool:
    """Whether there are parameters that dual steps do not take."""
    return settings.probability or any(
        given is not None for given in (settings.weights, settings.class_weight, settings.warm)
    )


def solver_by_passes(settings: Settings, files: Files, n: float, d: int) -> str | None:
    """Return the solver that takes Newton steps by passes; None if the matrices of one class do not fit in memory."""
    if d > LARGEST_MATRIX or memory_for_matrices(d) > MATRIX_SHARE * files.budget.total:
        return None
    return by_newton_steps(n, d, find_loss(settings.loss).smooth)


def first_rows(settings: Settings, files: Files) -> FirstRows:
    """Return what the first block of the files says."""
    source = files.source
    blocks: Any = source.blocks()
    with closing(blocks):
        block = next(blocks)
    preparation = Preparation(source.name, settings.expansion)
    _, rows = next(preparation.parts(block.rows, VALUES_PER_BYTE * files.budget.block))
    square = float(np.sum(np.square(rows.values, dtype=np.float64))) / max(count_rows(rows), 1)
    facts = source.facts
    n = float(facts.n) if facts else len(block.labels) * max(source.size, 1) / max(block.read, 1)
    d = max(count_columns(rows), preparation.features(facts.d) if facts else 0)
    classes = len(facts.classes) if facts else len(np.unique(block.labels))
    width = count_stored(rows) / max(count_rows(rows), 1)
    return FirstRows(d, max(classes, 2), square if count_stored(rows) else 0.0, n, width)
