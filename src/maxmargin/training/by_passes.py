"""Training a linear classifier by passes over rows on disk or on a cluster: for one C, or for several at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, TypeVar

import numpy as np

from maxmargin.choose import ASKED
from maxmargin.data.examples import weights_of_classes
from maxmargin.data.file_labels import as_whole
from maxmargin.data.in_step import InStep
from maxmargin.data.labels import check_kept, show, sides
from maxmargin.data.reduction import Executor
from maxmargin.errors import DataError, ParameterError, RefusedError
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.stopping import Limits
from maxmargin.loop.succession import Succession
from maxmargin.models.linear import LinearModel
from maxmargin.multiclass import SharedRun, solve_all
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Point, summed
from maxmargin.problems.evaluation import TwoClasses
from maxmargin.problems.linear import WITHOUT_WEIGHT
from maxmargin.problems.losses import Loss, find_loss
from maxmargin.results import Result, together, with_changes
from maxmargin.settings.settings import Settings
from maxmargin.solvers.base import Solver
from maxmargin.system.budget import Budget
from maxmargin.system.buffers import forget
from maxmargin.training.pass_calibration import calibrate
from maxmargin.training.support import AT_ONCE, support_of

NOTHING = np.zeros(0)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PassTask:
    """Rows reached by passes, the settings, the solver and why it was chosen.

    `identity` tells the data apart from others in a checkpoint, `centre` is what was subtracted from every row, and
    `described` goes into the description of the training in the model, and so do the counters that `counted` returns.
    `budget` is the memory limit, if there is one. `at_once` is the largest number of problems that are trained in the
    same passes. `succession` decides whether another solver goes on in mid-run.
    """

    rows: Executor
    settings: Settings
    limits: Limits
    method: Solver
    why: str = ASKED
    identity: dict[str, Any] = field(default_factory=dict)
    centre: np.ndarray | None = None
    described: dict[str, Any] = field(default_factory=dict)
    at_once: int = 1 << 30
    counted: Callable[[], dict[str, Any]] = dict
    succession: Succession | None = None
    budget: Budget | None = None


def fit_by_passes(task: PassTask) -> Result:
    """Train by passes over the rows: two classes, or each class against the rest, all in the same passes."""
    with noticed() as interrupt:
        [result] = fit_group(task, [task.settings.penalty(task.rows.facts.n)], task.settings.warm, interrupt)
    return result


def path_by_passes(task: PassTask, Cs: Sequence[float]) -> list[Result]:
    """Train for each of the increasing C by passes, as many C in the same passes as `at_once` allows.

    The next group of C starts from the last result. After an interrupt, C that had not begun are left out.
    """
    found = list[Result]()
    with noticed() as interrupt:
        for group in groups_of(Cs, task.at_once // len(sides(task.rows.facts.classes))):
            if found and interrupt.is_set():
                break
            found += fit_group(task, group, found[-1] if found else None, interrupt)
    return found


def fit_group(task: PassTask, Cs: Sequence[float], warm: Result | None, interrupt: Event) -> list[Result]:
    """Train for each C in the same passes. If probabilities are wanted, half of the time is for the calibration."""
    if not task.settings.probability:
        return fit_together(task, Cs, warm, interrupt)
    began, settings = time.perf_counter(), task.settings
    results = fit_together(replace(task, limits=task.limits.after(0.0, part=0.5)), Cs, warm, interrupt)
    for number, result in enumerate(results):
        left = task.limits.after(time.perf_counter() - began, part=1.0 / (len(results) - number))
        stop = stop_of(left, interrupt, time.perf_counter())
        problem = posed(task, task.rows, result.model.training["C"], task.rows.facts.classes, stop)
        run = SharedRun(task.method, left, int(settings.seed), settings.callback, interrupt, succession=task.succession)
        calibrate(result, problem, run, task.at_once, interrupt)
        result.model.training.update(task.counted())
    return results


def groups_of(Cs: Sequence[T], most: int) -> list[Sequence[T]]:
    """Split the values of C into groups of about equal size, of at most `most` values each."""
    count = -(-len(Cs) // max(most, 1))
    size = -(-len(Cs) // count)
    return [Cs[start : start + size] for start in range(0, len(Cs), size)]


def fit_together(task: PassTask, Cs: Sequence[float], warm: Result | None, interrupt: Event) -> list[Result]:
    """Train for each C in the same passes; every class of every C is one problem."""
    settings, facts, began = task.settings, task.rows.facts, time.perf_counter()
    classes = checked_classes(facts.classes)
    positive = [classes[side] for side in sides(classes)]
    count, workers = len(Cs) * len(positive), max(min(len(Cs) * len(positive), task.at_once), 1)
    rows: Any = task.rows if count == 1 else InStep(task.rows, count, workers)
    stop = stop_of(task.limits, interrupt, began)
    posed_for = {C: posed(task, rows, C, classes, stop) for C in Cs}
    problems = [named(posed_for[C], label, (len(positive), len(Cs))) for C in Cs for label in positive]
    problems = [replace(problem, slot=str(number)) for number, problem in enumerate(problems)]
    run = SharedRun(
        task.method,
        task.limits,
        int(settings.seed),
        settings.callback,
        interrupt,
        settings.keeping,
        task.succession,
    )
    starts = starts_of(warm, facts.d, len(positive))
    parts = solve_all(problems, count, run, starts=None if starts is None else starts * len(Cs), workers=workers)
    step = len(positive)
    results = [
        result_of(task, problems[k : k + step], parts[k : k + step], classes, count) for k in range(0, count, step)
    ]
    if count > 1:  # they run at the same time
        for result in results:
            result.seconds = max(time.perf_counter() - began, *(part.seconds for part in parts))
    return results


def posed(task: PassTask, rows: Any, C: float, classes: np.ndarray, stop: Callable[[], bool]) -> PassProblem:
    """Return the problem of the first class."""
    settings, facts = task.settings, task.rows.facts
    weights = None
    if settings.class_weight is not None:
        weights = class_weights(settings.class_weight, facts.classes, facts.counts)
    two = TwoClasses(checked_loss(settings.loss), C, None, facts.classes, weights)
    counted = facts.class_weights if weights is None else facts.class_weights * weights
    if np.count_nonzero(counted) < len(classes):
        raise DataError(WITHOUT_WEIGHT)
    identity = task.identity
    if settings.weights is not None or weights is not None:
        identity = {**identity, "weights of classes": counted.tolist()}
    return PassProblem(rows, two, settings.bias, float(settings.bias_scale), identity=identity, stop=stop)


def named(problem: PassProblem, label: Any, counts: tuple[int, int]) -> PassProblem:
    """Return the problem with this positive class; of several classes or C, with a name that tells them apart."""
    classes, strengths = counts
    words = [f"C={problem.problem.C:g}"] * (strengths > 1) + [f"{show(label)} against the rest"] * (classes > 1)
    two = replace(problem.problem, positive=label)
    return replace(problem, problem=two, name=", ".join(words), keeps_dual=classes * strengths == 1)


def checked_classes(classes: np.ndarray) -> np.ndarray:
    """Return the sorted labels; raise unless there are at least two that a model can store."""
    if len(classes) < 2:
        raise DataError(f"the rows hold 1 class only, {show(classes[0])}: training needs at least two")
    classes = as_whole(classes) if classes.dtype.kind == "f" else classes
    check_kept(classes)
    return classes


def check_finite_C(settings: Settings) -> None:
    """Raise before any row is read if C is infinite: a hard margin has no certificate from passes."""
    if settings.penalty(1) == np.inf:
        raise ParameterError(
            "C=inf (lam=0) is not for files that do not fit in memory, nor for a cluster: take a finite C, 1e6 say"
        )


def checked_loss(name: str) -> Loss:
    """Return the loss; raise if the rounding errors of its certificates cannot be bounded."""
    loss = find_loss(name)
    if loss.steepest == loss.largest_curvature == np.inf:
        raise RefusedError(
            f"loss={loss.name!r} is not for rows outside the memory: their certificates need a bound on its slope or "
            "its curvature"
        )
    return loss


def class_weights(given: Any, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the weight of each class: n / (k count) for "balanced", or as given."""
    if isinstance(given, str):
        return np.asarray(np.sum(counts) / (len(classes) * counts))
    return weights_of_classes(given, classes, NOTHING)


def stop_of(limits: Limits, interrupt: Event, began: float) -> Callable[[], bool]:
    """Return a function that tells whether a pass should end early: on an interrupt, or after the time limit."""
    limit = limits.max_seconds

    def stop() -> bool:
        return interrupt.is_set() or (limit is not None and time.perf_counter() - began >= limit)

    return stop


def starts_of(warm: Result | None, d: int, count: int) -> list[Point] | None:
    """Return the point where each problem starts: w and b of `warm`."""
    if warm is None:
        return None
    if not isinstance(warm, Result):
        raise ParameterError(f"warm={warm!r} must be what an earlier train returned")
    if len(warm.parts) != count or any(len(part.w) != d for part in warm.parts):
        raise ParameterError(
            f"warm is of {len(warm.parts)} problem(s) of {len(warm.parts[0].w)} features, this training of {count} of "
            f"{d}: they must agree"
        )
    return [Point(part.w, part.b) for part in warm.parts]


def result_of(
    task: PassTask, problems: list[PassProblem], parts: list[Outcome], classes: np.ndarray, together_with: int
) -> Result:
    """Combine the outcomes of one C into one result. Of several problems in the same passes, none keeps its α."""
    facts, settings = task.rows.facts, task.settings
    support, signed = np.zeros(0, dtype=np.intp), np.zeros((len(parts), 0))
    if together_with == 1:
        dual = problems[0].best_dual()
        support, signed = support_of(pieces_of(dual), len(dual), task.budget)
        parts = [replace(parts[0], alpha=without_signs(dual))]
    training = {
        **settings.summary(), "options": vars(task.method).copy(), "loss": settings.loss,
        "bias_scale": float(settings.bias_scale), "solver": task.method.name, "C": problems[0].problem.C,
        "n": facts.n, "d": facts.d, "nnz": facts.nnz, **task.described, **task.counted(),
    }  # fmt: skip
    model = LinearModel(
        classes, np.stack([part.w for part in parts]), np.array([part.b for part in parts]), support, signed,
        summed(part.certificate for part in parts), training, task.centre,
    )  # fmt: skip
    result = together(model, parts, task.method.name, with_changes(task.why, parts))
    model.training |= {"status": result.status.value, "epochs": result.epochs}
    return result


def pieces_of(vector: np.ndarray) -> Callable[[slice], np.ndarray]:
    """Return a function that returns a copy of a part of a vector, which may be in a file."""

    def copied(piece: slice) -> np.ndarray:
        found = vector[piece].copy()
        forget(vector)
        return found

    return copied


def without_signs(dual: np.ndarray) -> np.ndarray:
    """Return α from α_i y_i, in place: a copy may not fit in memory."""
    for start in range(0, len(dual), AT_ONCE):
        part = dual[start : start + AT_ONCE]
        np.abs(part, out=part)
        forget(dual)
    return dual
