"""Training a linear classifier by passes over rows on disk or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

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
from maxmargin.multiclass import Run, solve_all
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Point, summed
from maxmargin.problems.evaluation import TwoClasses
from maxmargin.problems.linear import WITHOUT_WEIGHT
from maxmargin.problems.losses import Loss, find_loss
from maxmargin.results import Result, together, with_changes
from maxmargin.settings.settings import Settings
from maxmargin.solvers.base import Solver

NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class PassTask:
    """Rows reached by passes, the settings, the solver and why it was chosen.

    `identity` tells the data apart from others in a checkpoint, `centre` is what was subtracted from every row, and
    `described` goes into the description of the training in the model. `at_once` is the largest number of classes that
    are trained in the same passes. `succession` decides whether another solver goes on in mid-run.
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
    succession: Succession | None = None


def fit_by_passes(task: PassTask) -> Result:
    """Train by passes over the rows: two classes, or each class against the rest, all in the same passes."""
    settings, facts = task.settings, task.rows.facts
    classes = checked_classes(facts.classes)
    strength = settings.penalty(facts.n)
    loss = checked_loss(settings.loss, strength)
    began = time.perf_counter()
    with noticed() as interrupt:
        positive = [classes[side] for side in sides(classes)]
        workers = min(len(positive), max(task.at_once, 1))
        rows: Any = task.rows if len(positive) == 1 else InStep(task.rows, len(positive), workers)
        problem = posed(task, rows, loss, strength, classes, stop_of(task.limits, interrupt, began))
        problems = [for_class(problem, label, len(positive)) for label in positive]
        run = PassRun(
            task.method, task.limits, int(settings.seed), settings.callback, interrupt, settings.keeping,
            task.succession,
        )  # fmt: skip
        starts = starts_of(settings.warm, facts.d, len(positive))
        parts = solve_all(problems, len(problems), run, starts=starts, workers=workers)
    return result_of(task, problems, parts, classes)


class PassRun(Run):
    """A Run whose problems tell the others of the same passes when they end."""

    def solve(self, problem: Any, warm: Point | None = None) -> Outcome:
        """Solve one problem, from `warm` if given."""
        try:
            return super().solve(problem, warm)
        finally:
            problem.leave()


def posed(
    task: PassTask, rows: Any, loss: Loss, strength: float, classes: np.ndarray, stop: Callable[[], bool]
) -> PassProblem:
    """Return the problem of the first class."""
    settings, facts = task.settings, task.rows.facts
    weights = None
    if settings.class_weight is not None:
        weights = class_weights(settings.class_weight, facts.classes, facts.counts)
    two = TwoClasses(loss, strength, None, facts.classes, weights)
    counted = facts.class_weights if weights is None else facts.class_weights * weights
    if np.count_nonzero(counted) < len(classes):
        raise DataError(WITHOUT_WEIGHT)
    return PassProblem(rows, two, settings.bias, float(settings.bias_scale), identity=task.identity, stop=stop)


def for_class(problem: PassProblem, label: Any, count: int) -> PassProblem:
    """Return the problem with this positive class."""
    name = "" if count == 1 else f"{show(label)} against the rest"
    return replace(problem, problem=replace(problem.problem, positive=label), name=name)


def checked_classes(classes: np.ndarray) -> np.ndarray:
    """Return the sorted labels; raise unless there are at least two that a model can store."""
    if len(classes) < 2:
        raise DataError(f"the rows hold 1 class only, {show(classes[0])}: training needs at least two")
    classes = as_whole(classes) if classes.dtype.kind == "f" else classes
    check_kept(classes)
    return classes


def checked_loss(name: str, strength: float) -> Loss:
    """Return the loss; raise if C is infinite or the rounding errors of its certificates cannot be bounded."""
    if strength == np.inf:
        raise ParameterError("C=inf needs all rows in memory: take a finite C, or give more memory")
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


def result_of(task: PassTask, problems: list[PassProblem], parts: list[Outcome], classes: np.ndarray) -> Result:
    """Combine the outcomes into one result. Of several problems, none keeps its α."""
    facts, settings = task.rows.facts, task.settings
    support, signed = np.zeros(0, dtype=np.intp), np.zeros((len(parts), 0))
    if len(parts) == 1:
        dual = problems[0].best_dual()
        support = np.flatnonzero(dual)
        signed = dual[support][None, :]
        parts = [replace(parts[0], alpha=np.abs(dual))]
    training = {
        **settings.summary(), "options": vars(task.method).copy(), "loss": settings.loss,
        "bias_scale": float(settings.bias_scale), "solver": task.method.name, "C": problems[0].problem.C,
        "n": facts.n, "d": facts.d, "nnz": facts.nnz, **task.described,
    }  # fmt: skip
    model = LinearModel(
        classes, np.stack([part.w for part in parts]), np.array([part.b for part in parts]), support, signed,
        summed(part.certificate for part in parts), training, task.centre,
    )  # fmt: skip
    result = together(model, parts, task.method.name, with_changes(task.why, parts))
    model.training |= {"status": result.status.value, "epochs": result.epochs}
    return result
