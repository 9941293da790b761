"""Training a linear classifier on rows in memory."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.choose import ASKED, Auto, choose
from maxmargin.data.examples import Examples
from maxmargin.data.labels import sides, signs
from maxmargin.data.rows import count_columns
from maxmargin.errors import ParameterError
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.outcome import Outcome
from maxmargin.multiclass import Run, each_against_rest, solve_all
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem, checked_weights, pose
from maxmargin.results import Result, explained, joined, with_changes, worst
from maxmargin.settings.settings import Settings
from maxmargin.solvers import find_solver
from maxmargin.system.budget import check_features
from maxmargin.training.calibration import calibrated_linear

VALUES_A_CLASS = 20_000  # least number of values to train classes on several threads: below, most time is Python's


def fit_linear(data: Examples, settings: Settings, metadata: dict[str, Any]) -> Result:
    """Train a linear classifier: one problem for two classes, else one for each class against the rest.

    If probabilities are wanted, half of the time limit is for the model itself and the rest for the calibration.
    """
    classes, codes = data.classes, data.codes
    check_features(count_columns(data.rows), len(sides(classes)))
    problem = pose(
        data.rows, signs(codes, 1), loss=settings.loss, C=settings.C, lam=settings.lam,
        weights=weights_of(data, settings), bias=settings.bias, bias_scale=settings.bias_scale,
        threads=settings.thread_count, squared_norms=data.squared_norms,
    )  # fmt: skip
    auto = settings.solver == "auto"
    name, why = choose(problem) if auto else (settings.solver, ASKED)
    problems, C = each_against_rest(problem, classes, codes), settings.penalty(problem.n)
    began, sigmoids, folds = time.perf_counter(), None, list[Outcome]()
    with noticed() as interrupt:
        run = Run(
            find_solver(name, settings.options), settings.limits, int(settings.seed), settings.callback, interrupt,
            settings.keeping, Auto() if auto else None,
        )  # fmt: skip
        main = replace(run, limits=run.limits.after(0.0, part=0.5)) if settings.probability else run
        starts, workers = starts_of(settings.warm, problem, classes, C), workers_for(problem, name, len(problems))
        parts = solve_all(problems, len(problems), main, starts=starts, workers=workers)
        if settings.probability:
            left = run.limits.after(time.perf_counter() - began)
            sigmoids, folds = calibrated_linear(data, problem, replace(run, limits=left))
    training = {
        **settings.summary(), "loss": settings.loss, "bias_scale": float(settings.bias_scale), "solver": name, "C": C,
        "n": problem.n, "d": problem.d, "nnz": problem.nnz, **metadata,
    }  # fmt: skip
    result = joined(classes, codes, parts, name, with_changes(why, parts), training, problem.centre, sigmoids)
    if folds:
        result.status = worst([*parts, *folds])
        result.seconds += sum(fold.seconds for fold in folds)
        result.model.training["status"] = result.status.value
    return explained(result, data)


def workers_for(problem: Problem, solver: str, count: int) -> int:
    """Return how many classes are trained at the same time: several only if compiled code takes most of the time."""
    if count == 1 or not solver.startswith("small_") or problem.n * problem.d < VALUES_A_CLASS:
        return 1
    return min(count, problem.threads)


def weights_of(data: Examples, settings: Settings) -> np.ndarray | None:
    """Return the weight of each example, times that of its class; None if no weights are given."""
    given = settings.weights if data.weights is None else data.weights
    if given is None and settings.class_weight is None:
        return None
    return np.asarray(checked_weights(given, data.codes) * data.class_weights(settings.class_weight))


def starts_of(warm: Result | None, problem: Problem, classes: np.ndarray, C: float) -> list[Point] | None:
    """Return the point where each problem starts: w, b and alpha of `warm`, alpha scaled by the ratio of the two C."""
    if warm is None:
        return None
    if not isinstance(warm, Result):
        raise ParameterError(f"warm={warm!r} must be what an earlier train returned")
    alphas = np.atleast_2d(warm.alpha)
    if any(len(part.w) != problem.d for part in warm.parts):
        raise ParameterError(
            f"warm is of {len(warm.parts[0].w)} features, this training of {problem.d}: they must agree"
        )
    if alphas.shape != (len(sides(classes)), problem.n):
        raise ParameterError(
            f"warm is of {alphas.shape[1]} rows and {len(alphas)} problem(s), this training of {problem.n} and "
            f"{len(sides(classes))}: warm starts need the same rows and classes"
        )
    growth = C / warm.model.training.get("C", C)
    if not 0.0 < growth < np.inf:
        growth = 1.0
    return [Point(part.w, part.b, growth * part.alpha) for part in warm.parts]
