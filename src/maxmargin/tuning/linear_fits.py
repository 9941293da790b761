"""Linear models without one fold each, on rows in memory.

The rows of the fold that is left out have the weight 0, so no rows are copied for training, and everything that depends
only on the rows is computed once. A fit starts from the one for the C before.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from maxmargin.choose import Auto, choose
from maxmargin.data.examples import Examples
from maxmargin.data.labels import show, sides, signs
from maxmargin.data.passes import scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import Rows, count_stored
from maxmargin.multiclass import Run, solve_all
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem, checked_weights, pose
from maxmargin.settings.settings import Settings
from maxmargin.solvers import find_solver
from maxmargin.training.calibration import has_both
from maxmargin.tuning.fit import Fit, fit_of, weights_without
from maxmargin.tuning.scoring import classifier_of
from maxmargin.tuning.splits import Fold

SMALL = 4_000_000  # stored values up to which one fit does not keep all threads busy: folds are then fitted in parallel


class LinearFits:
    """Fits of linear models on rows in memory, one for each fold and C."""

    def __init__(self, data: Examples, settings: Settings, folds: list[Fold]) -> None:
        self.data, self.settings, self.folds = data, settings, folds
        threads = settings.thread_count
        self.workers = min(threads, len(folds)) if count_stored(data.rows) <= SMALL else 1
        self.weights = checked_weights(settings.weights, data.codes)
        self.problem = pose(
            data.rows, signs(data.codes, 1), loss=settings.loss, C=1.0, weights=self.weights, bias=settings.bias,
            bias_scale=settings.bias_scale, threads=threads if self.workers == 1 else 1,
            squared_norms=data.squared_norms,
        )  # fmt: skip
        self.solvers: dict[float, str] = {}

    def fit(self, k: int, C: float, before: Fit | None, run: Run) -> Fit:
        """Train with this C without fold k, from the fit with the C before."""
        problem, places = self.without(k, C), sides(self.data.classes)
        present = np.flatnonzero(np.bincount(self.data.codes[problem.C > 0.0]))
        apart = [place for place in places if has_both(present, place)]
        starts = None if before is None else [grown(part.w, part.b, part.alpha, C / before.C) for part in before.parts]
        name = self.solver_for(C)
        own = replace(run, solver=find_solver(name, self.settings.options))
        if self.settings.solver == "auto":
            own = replace(own, succession=Auto())
        parts = solve_all([self.of_class(problem, place) for place in apart], len(apart), own, starts=starts)
        values = np.empty((len(self.folds[k].test), len(places)))
        values[:] = [1.0 if place in present else -1.0 for place in places]  # a class that the fit has not seen
        for place, part in zip(apart, parts, strict=True):
            values[:, places.index(place)] = scores(self.held_out[k], part.w, problem.threads) + part.b
        return fit_of(C, classifier_of(self.data.classes, values, self.settings.loss), parts)

    def without(self, k: int, C: float) -> Problem:
        """Return the problem of this C without fold k."""
        weights = C * weights_without(self.folds[k], self.data, self.weights, self.settings.class_weight)
        problem = replace(self.problem, C=weights)
        for known in ("squared_norms", "norms", "longest"):
            problem.__dict__[known] = getattr(self.problem, known)
        return problem

    def of_class(self, problem: Problem, place: int) -> Problem:
        """Return the problem of a class against the rest; the problem itself if there are two classes."""
        if len(self.data.classes) == 2:
            return problem
        name = f"{show(self.data.classes[place])} against the rest"
        return problem.relabelled(signs(self.data.codes, place), name)

    def solver_for(self, C: float) -> str:
        """Return the solver for this C: for all folds the one that `auto` chooses for the first."""
        if self.settings.solver != "auto":
            return str(self.settings.solver)
        if C not in self.solvers:
            self.solvers[C] = choose(self.without(0, C))[0]
        return self.solvers[C]

    @cached_property
    def held_out(self) -> list[Rows]:
        """The rows of each fold."""
        return [pick(self.problem.rows, fold.test, self.settings.thread_count) for fold in self.folds]


def grown(w: np.ndarray, b: float, alpha: np.ndarray, factor: float) -> Point:
    """Return the point from which the fit with a C that is `factor` times as large starts."""
    return Point(w, b, factor * alpha)
