"""solver="auto" for files that do not fit in memory: the solver with the least estimated time.

Dual steps need about C ‖x‖² epochs: few where columns are scaled, hopelessly many where they are raw. Newton-type steps
need 5 to 60 passes whatever the scale, but each computes a matrix of d × d numbers, at about nnz² / n products.
benchmarks/results/choices_from_disk.md holds the times of all solvers.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.file_rows import VALUES_PER_BYTE
from maxmargin.data.files import Files
from maxmargin.data.rows import count_columns, count_rows, count_stored
from maxmargin.problems.losses import find_loss
from maxmargin.settings.settings import Settings
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.system.budget import BYTES_A_VALUE
from maxmargin.training.file_passes import memory_for_matrices, problems_at_once
from maxmargin.training.pass_costs import DECOMPRESS_VALUE, READ_ROW, READ_VALUE, PassCost, Place, Sizes, cost_of
from maxmargin.training.pass_succession import BY_MATRIX

FILE = "a file that does not fit in memory: "
CACHED_LOOPS = FILE + "dual steps on cached rows while other rows are read have the least estimated cost"
BY_PASSES = {
    "newton": FILE + "Newton steps by passes over the file have the least estimated cost",
    "second_order": FILE + "Newton steps by passes over the file have the least estimated cost",
    "interior_point": FILE + "an interior-point method by passes over the file has the least estimated cost",
    "lbfgs": FILE + "quasi-Newton steps by passes over the file have the least estimated cost",
    "cocoa": FILE + "weights, a warm start or probabilities, and too many features for a matrix: dual steps by passes",
}
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
    costs = {name: cost_from_disk(name, settings, files, first) for name in candidates(settings, files, first)}
    name = min(costs, key=lambda one: costs[one].total)
    return name, BY_PASSES.get(name, CACHED_LOOPS)


def candidates(settings: Settings, files: Files, first: FirstRows) -> list[str]:
    """Return the solvers that take the rows within the memory limit; never none."""
    smooth, several = find_loss(settings.loss).smooth, needs_passes(settings)
    found = [] if several else ["cached_loops"]
    if matrix_fits(first.d, files):
        found += BY_MATRIX[smooth]
    elif several and not smooth:
        found += ["cocoa"]
    if smooth and first.d > LARGEST_MATRIX:
        found += ["newton"]
    return [*found, "lbfgs"] if smooth else found


def cost_from_disk(name: str, settings: Settings, files: Files, first: FirstRows) -> PassCost:
    """Return the estimated cost of a solver."""
    problems = first.classes if first.classes > 2 else 1
    sizes, threads = Sizes(first.n, first.d, first.width, first.mean_square, problems), settings.thread_count
    any_order = files.source.any_order
    reading = READ_ROW + (READ_VALUE if any_order else READ_VALUE + DECOMPRESS_VALUE) * first.width
    at_once = problems_at_once(first.d, name, files.budget)
    cached = files.budget.total / (BYTES_A_VALUE * max(first.n * first.width * problems, 1.0))
    place = Place(reading, threads if any_order else 1, threads, at_once=at_once, cached=cached)
    return cost_of(name, sizes, place, settings.penalty(max(int(first.n), 1)), find_loss(settings.loss))


def choose_for_path(settings: Settings, files: Files) -> tuple[str, str]:
    """Return the name of the solver for several C, and the reason: all C in the same passes if a solver can do that."""
    first = first_rows(settings, files)
    if name := by_newton_steps(settings, files, first):
        return name, SEVERAL_C
    if find_loss(settings.loss).smooth:
        return "lbfgs", SEVERAL_C
    return ("cocoa", SEVERAL_C) if needs_passes(settings) else ("cached_loops", CACHED_LOOPS)


def needs_passes(settings: Settings) -> bool:
    """Whether there are parameters that dual steps do not take."""
    return settings.probability or any(
        given is not None for given in (settings.weights, settings.class_weight, settings.warm)
    )


def by_newton_steps(settings: Settings, files: Files, first: FirstRows) -> str | None:
    """Return the cheapest solver that takes Newton steps by passes; None if the matrices of one class do not fit."""
    if not matrix_fits(first.d, files):
        return None
    names = BY_MATRIX[find_loss(settings.loss).smooth]
    return min(names, key=lambda one: cost_from_disk(one, settings, files, first).total)


def matrix_fits(d: int, files: Files) -> bool:
    """Whether the matrices of one class fit in memory."""
    return d <= LARGEST_MATRIX and memory_for_matrices(d) <= files.budget.total


def first_rows(settings: Settings, files: Files) -> FirstRows:
    """Return what the first block of the files says."""
    source = files.source
    blocks: Any = source.blocks()
    with closing(blocks):
        block = next(blocks)
    preparation = files.preparation()
    _, rows = next(preparation.parts(block.rows, VALUES_PER_BYTE * files.budget.block))
    square = float(np.sum(np.square(rows.values, dtype=np.float64))) / max(count_rows(rows), 1)
    facts = source.facts
    n = float(facts.n) if facts else len(block.labels) * max(source.size, 1) / max(block.read, 1)
    d = max(count_columns(rows), preparation.features(facts.d) if facts else 0)
    classes = len(facts.classes) if facts else len(np.unique(block.labels))
    width = count_stored(rows) / max(count_rows(rows), 1)
    return FirstRows(d, max(classes, 2), square if count_stored(rows) else 0.0, n, width)
