"""Training with a kernel: one problem for each pair of classes; one function for regression and novelty detection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.examples import Examples
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_stored
from maxmargin.data.take import read_only, take
from maxmargin.kernels.functions import Kernel, Precomputed, kernel_centre
from maxmargin.kernels.points import matrix_of
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.loop.stopping import Limits
from maxmargin.models.kernel import kernel_model_of
from maxmargin.models.kernel_function import kernel_function_of
from maxmargin.models.probabilities import FOLDS, fit_sigmoid, folds_of
from maxmargin.multiclass import Pair, Run, pairs_of, solve_all, time_shares
from maxmargin.problems.formulations import c_svc, epsilon_svr, largest_nu, nu_svc, nu_svr, one_class
from maxmargin.problems.kernel import Formulation, KernelProblem
from maxmargin.results import Result, together, worst
from maxmargin.settings.checks import checked_cache
from maxmargin.settings.settings import NOVELTY_NU, Settings
from maxmargin.solvers import find_solver
from maxmargin.status import Status
from maxmargin.system.threads import free_memory

PAIRS_A_THREAD = 4  # pairs of classes are trained side by side if there are that many for each thread,
VALUES_A_PAIR = 100_000  # and a pair has that many values: of smaller ones more is Python than computing
CALIBRATION_TOL = 1e-3  # relative gap of the fits from which only probabilities are learnt
WHY = "pairs of dual variables, in batches that share their rows of the kernel"


@dataclass(frozen=True, eq=False)
class KernelTask:
    """Rows around their centre, their kernel, a weight for each example, and what is to be trained on them."""

    settings: Settings
    rows: Rows
    kernel: Kernel
    weights: np.ndarray
    threads: int
    cache: float | None

    def problem(self, pair: Pair, chosen: np.ndarray | None = None, name: str = "", workers: int = 1) -> KernelProblem:
        """The problem of a pair of classes, or of some of its examples; a worker has one thread and its share."""
        members = pair.members if chosen is None else pair.members[chosen]
        y = pair.y if chosen is None else pair.y[chosen]
        formulation = self.classifier(y, self.weights[members], pair.classes[::-1], part=chosen is not None)
        return self.posed(members, formulation, name or pair.name, workers)

    def posed(self, members: np.ndarray | None, formulation: Formulation, name: str, workers: int = 1) -> KernelProblem:
        """A formulation on some rows, or on all."""
        whole = members is None or len(members) == len(self.weights)
        rows = self.rows if whole or members is None else subset(self.rows, members, self.kernel)
        cache = self.cache
        if workers > 1:
            cache = (free_memory() / 4 if cache is None else cache) / workers
        return KernelProblem(
            rows, self.kernel, formulation, cache, threads=1 if workers > 1 else self.threads, name=name
        )

    def classifier(self, y: np.ndarray, weights: np.ndarray, classes: tuple[Any, Any], part: bool) -> Formulation:
        """C-SVC or ν-SVC; a part of the examples may have a rarer class, for which ν must be smaller."""
        settings = self.settings
        if settings.nu is None:
            return c_svc(y, settings.penalty(len(self.weights)) * weights, settings.bias)
        return nu_svc(y, weights, min(settings.nu, largest_nu(y, weights)) if part else settings.nu, classes)

    def function(self, targets: np.ndarray) -> Formulation:
        """ε-SVR, ν-SVR or one-class."""
        settings = self.settings
        if settings.task == "novelty":
            return one_class(self.weights, NOVELTY_NU if settings.nu is None else settings.nu)
        C = settings.penalty(len(targets)) * self.weights
        if settings.nu is None:
            return epsilon_svr(targets, C, float(settings.epsilon), settings.bias)
        return nu_svr(targets, C, settings.nu)


def train_with_kernel(data: Examples, kernel: Kernel, weights: np.ndarray, settings: Settings) -> Result:
    """Train with a kernel, examples counting by their weights."""
    balanced = settings.bias == "free" and settings.task != "novelty"
    centre = kernel_centre(kernel, data.rows, balanced=balanced)
    rows = data.rows if centre is None else shifted(data.rows, centre)
    task = KernelTask(settings, rows, kernel, weights, settings.thread_count, checked_cache(settings.cache))
    solver = find_solver("smo" if settings.solver == "auto" else settings.solver, settings.options, kernel=True)
    train = classifier if settings.task == "classify" else function
    with noticed() as interrupt:
        run = Run(solver, settings.limits, int(settings.seed), settings.callback, interrupt, settings.keeping)
        return train(data, task, run, centre)


def summary(data: Examples, settings: Settings, solver: str, parts: list[Outcome], status: Status) -> dict[str, Any]:
    """What a model says of its training."""
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


def why(settings: Settings) -> str:
    """Why this solver."""
    return WHY if settings.solver == "auto" else "you asked for it"


def classifier(data: Examples, task: KernelTask, run: Run, centre: np.ndarray | None) -> Result:
    """One problem for each pair of classes; for probabilities, in at most half of the time."""
    began, probability = time.perf_counter(), task.settings.probability
    main = replace(run, limits=share(run.limits, 0.5)) if probability else run
    parts = one_against_one(data, task, main)
    left = share(run.limits, 1.0, time.perf_counter() - began)
    sigmoids, folds = calibrated(data, task, replace(run, limits=left)) if probability else (None, [])
    status = worst([*parts, *folds])
    training = summary(data, task.settings, run.solver.name, parts, status)
    model = kernel_model_of(data.rows, data.classes, data.codes, task.kernel, parts, training, sigmoids, centre)
    result = together(model, parts, run.solver.name, why(task.settings))
    result.status, result.seconds = status, result.seconds + sum(fold.seconds for fold in folds)
    if run.keeping.checkpoint is None:
        result.seconds = time.perf_counter() - began  # pairs may have been trained side by side
    return result


def function(data: Examples, task: KernelTask, run: Run, centre: np.ndarray | None) -> Result:
    """One function of all examples."""
    formulation = task.function(data.targets)
    outcome = run.solve(task.posed(None, formulation, ""))
    training = summary(data, task.settings, run.solver.name, [outcome], outcome.status)
    model = kernel_function_of(data.rows, task.kernel, outcome, training, centre)
    return together(model, [outcome], run.solver.name, why(task.settings))


def one_against_one(data: Examples, task: KernelTask, run: Run) -> list[Outcome]:
    """The outcomes of all pairs, many large ones trained side by side."""
    count = len(data.classes) * (len(data.classes) - 1) // 2
    large = 2 * count_stored(task.rows) / len(data.classes) >= VALUES_A_PAIR
    many = count >= PAIRS_A_THREAD * task.threads and task.kernel.by_products
    workers = task.threads if many and large else 1
    pairs = list[Pair]()

    def problems() -> Iterator[KernelProblem]:
        for pair in pairs_of(data.classes, data.codes, task.weights):
            pairs.append(pair)
            yield task.problem(pair, workers=workers)

    outcomes = solve_all(problems(), count, run, workers=workers)
    return [placed(outcome, task, pair.members) for outcome, pair in zip(outcomes, pairs, strict=True)]


def placed(outcome: Outcome, task: KernelTask, members: np.ndarray) -> Outcome:
    """The same outcome, its coefficients in their places among all rows; of ν-SVC divided by ρ, as LIBSVM does."""
    rho = -outcome.width if task.settings.nu is not None else 1.0
    scale = 1.0 / rho if rho > 0.0 else 1.0
    w, alpha = np.zeros(len(task.weights)), np.zeros(len(task.weights))
    w[members], alpha[members] = scale * outcome.w, scale * np.abs(outcome.alpha)
    return replace(outcome, w=w, b=scale * outcome.b, alpha=alpha, width=0.0)


def calibrated(data: Examples, task: KernelTask, run: Run) -> tuple[np.ndarray | None, list[Outcome]]:
    """A and B of each pair, from five fits more, and those; None if one of them never began."""
    limits = replace(run.limits, tol=max(run.limits.tol, CALIBRATION_TOL))
    shares = time_shares(limits, len(data.classes) * (len(data.classes) - 1) // 2)
    found, outcomes = [], list[Outcome]()
    for pair in pairs_of(data.classes, data.codes, task.weights):
        values, own = held_out(pair, task, replace(run, limits=next(shares), keeping=Keeping()))
        outcomes += own
        if any(outcome.epochs == 0 and outcome.status is not Status.CONVERGED for outcome in own):
            return None, outcomes
        counted = task.weights[pair.members] > 0.0
        found.append(fit_sigmoid(values[counted], pair.y[counted] > 0.0))
    return np.array(found), outcomes


def held_out(pair: Pair, task: KernelTask, run: Run) -> tuple[np.ndarray, list[Outcome]]:
    """The decision value of each example of a pair by a fit without its fold, and those fits."""
    weights, values = task.weights[pair.members], np.empty(len(pair.y))
    folds = folds_of(np.where(weights > 0.0, pair.y, 0.0))
    shares, outcomes = time_shares(run.limits, FOLDS), []
    for fold in range(FOLDS):
        own, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        present = np.unique(pair.y[rest[weights[rest] > 0.0]])
        if len(present) < 2:
            values[own] = np.sum(present)
            continue
        name = f"{pair.name} without fold {fold + 1} of {FOLDS}".strip()
        outcome = replace(run, limits=next(shares)).solve(task.problem(pair, rest, name))
        outcomes.append(outcome)
        whole = placed(outcome, task, pair.members[rest])
        function = kernel_function_of(task.rows, task.kernel, whole, {"d": count_columns(task.rows)})
        values[own] = function.decide(pick(task.rows, pair.members[own]), task.threads)
    return values, outcomes


def share(limits: Limits, part: float, spent: float = 0.0) -> Limits:
    """The limits with a part of the time that is left."""
    if limits.max_seconds is None:
        return limits
    return replace(limits, max_seconds=part * max(limits.max_seconds - spent, 0.0))


def subset(rows: Rows, members: np.ndarray, kernel: Kernel) -> Rows:
    """Some rows; of a precomputed kernel their columns too."""
    if not isinstance(kernel, Precomputed):
        return pick(rows, members)
    if isinstance(rows, Csr):
        return take(matrix_of(rows)[members][:, members])
    return Dense(read_only(rows.values[np.ix_(members, members)]))
