"""Training with a kernel: one problem for each pair of classes; one problem for regression or novelty detection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.choose import ASKED
from maxmargin.data.columns import shifted
from maxmargin.data.examples import Examples
from maxmargin.data.rows import count_columns, count_stored
from maxmargin.kernels.functions import Kernel, Linear, kernel_centre
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.succession import Fallback
from maxmargin.models.kernel import kernel_model_of
from maxmargin.models.kernel_function import kernel_function_of
from maxmargin.multiclass import Pair, Run, by_class, pairs_of, solve_all
from maxmargin.problems.kernel import KernelProblem, is_definite
from maxmargin.results import Result, together, worst
from maxmargin.settings.checks import checked_cache
from maxmargin.settings.settings import NOVELTY_NU, Settings
from maxmargin.solvers import find_solver
from maxmargin.solvers.small.design import MOST_ROWS
from maxmargin.status import Status
from maxmargin.training.calibration import calibrated
from maxmargin.training.kernel_task import KernelTask

PAIRS_A_THREAD = 4  # least number of pairs of classes for each thread to train pairs in parallel
VALUES_A_PAIR = 100_000  # least number of values in a pair to train pairs in parallel: below, most time is Python's
ROWS_A_PAIR = 500  # the same for pairs that are solved on their whole kernel matrix, in rows: `letter` has 1,150
# Rows of one problem up to which small_smo takes less time than smo: measured on usps, a9a, ijcnn1, covtype, letter and
# mnist (classification) and on generated regressions, from 100 to 4,000 rows, C = 1 and 100.
MOST_MATRIX_ROWS = 1300
MOST_REGRESSION_ROWS = 200
MOST_SHARED = 200 * 2.0**20  # bytes of a kernel matrix that pairs share: up to 5,000 rows it takes less time, measured
FEW_COLUMNS = 100  # features up to which an interior-point method takes less time than either, for C-SVC
WHY_SMALL = "few examples: sequential minimal optimisation on the whole kernel matrix, in one compiled call"
WHY = "sequential minimal optimisation, in batches of pairs that share kernel rows"


def fit_kernel(data: Examples, kernel: Kernel, weights: np.ndarray, settings: Settings) -> Result:
    """Train with a kernel; `weights` holds the weight of each example."""
    balanced = settings.bias == "free" and settings.task != "novelty"
    centre = kernel_centre(kernel, data.rows, balanced=balanced)
    rows = data.rows if centre is None else shifted(data.rows, centre)
    cache = checked_cache(settings.cache)
    shares = shares_matrix(data.n, cache) and is_small(data, settings, kernel)
    order = order_of(data, settings) if shares else None
    task = KernelTask(settings, rows, kernel, weights, settings.thread_count, cache, order)
    name, why = choice(data, task, settings)
    solver = find_solver(name, settings.options, kernel=True)
    train = classifier if settings.task == "classify" else function
    with noticed() as interrupt:
        then = Fallback(find_solver("smo", kernel=True)) if why == WHY_SMALL else None
        run = Run(solver, settings.limits, int(settings.seed), settings.callback, interrupt, settings.keeping, then)
        return train(data, task, run, centre, why)


def summary(data: Examples, settings: Settings, solver: str, parts: list[Outcome], status: Status) -> dict[str, Any]:
    """Return the description of the training that is stored in the model."""
    formulation = settings.formulation
    found: dict[str, Any] = {**settings.summary(), "formulation": formulation, "solver": solver}
    if settings.task == "classify":
        found["loss"] = "hinge"
    if formulation in ("C-SVC", "epsilon-SVR", "nu-SVR"):
        found["C"] = settings.penalty(data.n)
    if formulation == "epsilon-SVR":
        found["epsilon"] = float(settings.epsilon)
    if formulation in ("nu-SVC", "nu-SVR", "one-class"):
        found["nu"] = float(NOVELTY_NU if settings.nu is None else settings.nu)
    sizes = {"n": data.n, "d": count_columns(data.rows), "nnz": count_stored(data.rows)}
    return {**found, **sizes, "epochs": sum(part.epochs for part in parts), "status": status.value}


def is_small(data: Examples, settings: Settings, kernel: Kernel) -> bool:
    """Whether each problem has so few variables that its whole kernel matrix is computed.

    Many pairs of classes share one matrix. A linear kernel of few features may not need it: see solvers/small/interior.
    """
    if settings.solver not in ("auto", "small_smo") or settings.options:
        return False
    if settings.task == "regress":
        return data.n <= MOST_REGRESSION_ROWS
    few_columns = (
        isinstance(kernel, Linear) and settings.formulation == "C-SVC" and count_columns(data.rows) < FEW_COLUMNS
    )
    if data.n <= MOST_ROWS and (len(data.classes) > 2 or few_columns):
        return True
    counts = np.bincount(data.codes) if settings.task == "classify" else [data.n]
    return int(np.sum(np.sort(counts)[-2:])) <= MOST_MATRIX_ROWS


def shares_matrix(n: int, cache: float | None) -> bool:
    """Whether the kernel matrix of all rows is small, or fits the cache."""
    return n <= MOST_ROWS or 8.0 * n * n <= min(MOST_SHARED if cache is None else cache, MOST_SHARED)


def order_of(data: Examples, settings: Settings) -> np.ndarray:
    """Return the order of the rows in a shared kernel matrix: sorted by class."""
    return by_class(data.codes, len(data.classes))[0] if settings.task == "classify" else np.arange(data.n)


def choice(data: Examples, task: KernelTask, settings: Settings) -> tuple[str, str]:
    """Return the name of the solver and the reason for its choice."""
    if settings.solver != "auto":
        return settings.solver, ASKED
    definite = task.kernel.definite
    if definite is None and task.shares_matrix:
        definite = is_definite(task.matrix)
    return ("small_smo", WHY_SMALL) if definite and is_small(data, settings, task.kernel) else ("smo", WHY)


def classifier(data: Examples, task: KernelTask, run: Run, centre: np.ndarray | None, why: str) -> Result:
    """Train one problem for each pair of classes. If probabilities are wanted, take at most half of the time for it."""
    began, probability = time.perf_counter(), task.settings.probability
    main = replace(run, limits=run.limits.after(0.0, part=0.5)) if probability else run
    parts = one_against_one(data, task, main)
    left = run.limits.after(time.perf_counter() - began)
    sigmoids, folds = calibrated(data, task, replace(run, limits=left)) if probability else (None, [])
    status = worst([*parts, *folds])
    training = summary(data, task.settings, run.solver.name, parts, status)
    model = kernel_model_of(data.rows, data.classes, data.codes, task.kernel, parts, training, sigmoids, centre)
    result = together(model, parts, run.solver.name, why)
    result.status, result.seconds = status, result.seconds + sum(fold.seconds for fold in folds)
    if run.keeping.checkpoint is None:
        result.seconds = time.perf_counter() - began  # pairs may have been trained in parallel
    return result


def function(data: Examples, task: KernelTask, run: Run, centre: np.ndarray | None, why: str) -> Result:
    """Train one function on all examples, for regression or novelty detection."""
    outcome = run.solve(task.of_function(data.targets))
    training = summary(data, task.settings, run.solver.name, [outcome], outcome.status)
    model = kernel_function_of(data.rows, task.kernel, outcome, training, centre)
    return together(model, [outcome], run.solver.name, why)


def one_against_one(data: Examples, task: KernelTask, run: Run) -> list[Outcome]:
    """Return the outcomes of all pairs. If they are many and large, they are trained in parallel."""
    count = len(data.classes) * (len(data.classes) - 1) // 2
    large = 2 * count_stored(task.rows) / len(data.classes) >= VALUES_A_PAIR
    if run.solver.name == "small_smo":
        large = not task.shares_matrix and 2 * data.n / len(data.classes) >= ROWS_A_PAIR
    many = count >= PAIRS_A_THREAD * task.threads and task.kernel.by_products
    workers = task.threads if many and large else 1
    pairs = list[Pair]()

    def problems() -> Iterator[KernelProblem]:
        for pair in pairs_of(data.classes, data.codes, task.weights):
            pairs.append(pair)
            yield task.problem(pair, workers=workers)

    outcomes = solve_all(problems(), count, run, workers=workers)
    return [task.placed(outcome, pair.members) for outcome, pair in zip(outcomes, pairs, strict=True)]
