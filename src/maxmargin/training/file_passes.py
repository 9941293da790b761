"""Training a linear classifier by passes over files that do not fit in memory."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.choose import ASKED
from maxmargin.data.file_rows import VALUES_PER_BYTE, FileRows
from maxmargin.data.files import Files
from maxmargin.data.preparation import shift_of
from maxmargin.data.reduction import PassStoppedError
from maxmargin.errors import DataError, ParameterError, StoppedWhileReadingError
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.stopping import Limits
from maxmargin.results import Result
from maxmargin.settings.settings import Settings
from maxmargin.solvers import find_pass_solver
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.system.budget import Budget, shown_size
from maxmargin.training.blame import reason_of
from maxmargin.training.by_passes import PassTask, fit_by_passes, path_by_passes, stop_of
from maxmargin.training.file_hints import hints_on_streamed
from maxmargin.training.pass_succession import PassSuccession

WITHOUT_MATRIX = "lbfgs", "gradient_descent", "cocoa"  # solvers by passes that build no matrix
MATRICES = 5  # matrices of the features in memory at once: of this round and the next, a copy, its factors, a block's


def fit_files_by_passes(settings: Settings, files: Files, name: str, why: str, limits: Limits) -> Result:
    """Train from files by the solver `name`, each step of which is a pass over the rows."""
    began = time.perf_counter()
    task, rows = task_of_files(settings, files, name, why, limits)
    surveying = time.perf_counter() - began
    result = fit_by_passes(task)
    result.seconds += surveying
    result.reason = reason_of(result.status, files, rows.preparation)
    result.hints = hints_on_streamed(result, rows.facts.counts, settings, files)
    return result


def path_of_files_by_passes(settings: Settings, files: Files, name: str, why: str, Cs: Sequence[float]) -> list[Result]:
    """Train from files for each of the increasing C, in the same passes."""
    task, rows = task_of_files(settings, files, name, why, settings.limits)
    results = path_by_passes(task, Cs)
    for result in results:
        result.reason = reason_of(result.status, files, rows.preparation)
    return results


def task_of_files(settings: Settings, files: Files, name: str, why: str, limits: Limits) -> tuple[PassTask, FileRows]:
    """Read the files once, and return the task and its rows."""
    began = time.perf_counter()
    method = find_pass_solver(name, settings.options)
    rows = surveyed(settings, files, limits, began)
    if settings.warm is not None or settings.resume:
        rows.release_sample()
    facts, shift = rows.facts, rows.preparation.shift
    check_memory(rows, name)
    described: dict[str, Any] = {"memory": files.budget.total}
    if settings.expansion is not None:
        described |= {"expand": settings.expansion.text, "input_d": rows.input_d}
    identity = {"file": files.identity} if settings.checkpoint is not None else {}
    if identity and rows.weights is not None and files.weights is None:
        identity["weights"] = hashlib.blake2b(np.ascontiguousarray(rows.weights).data, digest_size=8).hexdigest()
    centre = shift.centre(facts.d) if shift else None
    left = limits.after(time.perf_counter() - began)
    task = PassTask(
        rows, settings, left, method, why, identity, centre, described, problems_at_once(facts.d, name, files.budget),
        lambda: {"passes": rows.passes}, None if why == ASKED or name == "cocoa" else PassSuccession(), files.budget,
    )  # fmt: skip
    return task, rows


def surveyed(settings: Settings, files: Files, limits: Limits, began: float) -> FileRows:
    """Return the rows of the files after their first reading."""
    source, budget = files.source, files.budget
    with noticed() as interrupt:
        stop = stop_of(limits, interrupt, began)
        most = VALUES_PER_BYTE * budget.block
        shift = shift_of(source, files.preparation(), most, stop) if settings.bias == "free" else None
        rows = FileRows(
            source, budget, preparation=files.preparation(shift), weights=weights_for(settings, files),
            threads=settings.thread_count,
        )  # fmt: skip
        try:
            rows.survey(np.random.default_rng([int(settings.seed), 2]), stop)
        except PassStoppedError:
            raise StoppedWhileReadingError(
                f"{source.name}: stopped before all rows were read once: give it more time", interrupt.is_set()
            ) from None
    if rows.weights is not None and len(rows.weights) != rows.facts.n:
        raise DataError(f"weights hold {len(rows.weights)} numbers, and the files {rows.facts.n} rows: give one each")
    return rows


def weights_for(settings: Settings, files: Files) -> np.ndarray | None:
    """Return the weights of all rows: an array, or those of a file; None if a column holds them or there are none."""
    return files.weights_in_files() if files.weights is not None else checked_weights(settings.weights)


def checked_weights(weights: Any) -> np.ndarray | None:
    """Return one finite weight ≥ 0 for each example; None if there are none."""
    if weights is None:
        return None
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights are not numbers ({error}): give one number for each row") from error
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if found.ndim != 1 or wrong.size:
        place = f"weights[{wrong[0]}] is {found.ravel()[wrong[0]]!r}" if wrong.size else f"they have {found.ndim} axes"
        raise DataError(f"{place}: a weight must be a finite number ≥ 0, one for each row")
    return found


def memory_of_matrices(d: int, name: str) -> int:
    """Return the bytes that the matrices of a solver take for each problem; with many features it builds none."""
    return 0 if name in WITHOUT_MATRIX or d > LARGEST_MATRIX else memory_for_matrices(d)


def memory_for_matrices(d: int) -> int:
    """Return the bytes of the matrices of d features for one problem."""
    return MATRICES * 8 * (d + 1) ** 2


def check_memory(rows: FileRows, name: str) -> None:
    """Raise if the matrices of a solver leave too little memory."""
    facts, budget = rows.facts, rows.budget
    budget.for_rows(facts.n, facts.d)
    if (needed := memory_of_matrices(facts.d, name)) > budget.total:
        raise ParameterError(
            f"memory={shown_size(budget.total)} is too little for the matrices of {name} with {facts.d:,} features: "
            f"give at least {shown_size(needed)}, or take solver='cached_loops' or 'lbfgs'"
        )


def problems_at_once(d: int, name: str, budget: Budget) -> int:
    """Return how many problems, of classes or C, can be trained in the same passes."""
    needed = memory_of_matrices(d, name) + 16 * d
    return max(1, int(budget.total // max(needed, 1)))
