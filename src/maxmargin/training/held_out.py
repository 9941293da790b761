"""Fits without each fold of rows on disk or on a cluster, and the decision value of each row without its own fold.

The folds are a hash of the row number. A fit without a fold that holds a whole side of a problem would know one side
only: its model is a constant, 1 or −1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from maxmargin.data.in_step import InStep
from maxmargin.data.labels import show, sides
from maxmargin.data.reduction import Pass
from maxmargin.loop.outcome import Outcome
from maxmargin.multiclass import Run, solve_all
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Point
from maxmargin.problems.held_out import CountFolds, ScoreHeldOut
from maxmargin.training.calibration import has_both

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Folds of the rows of a problem, each of which is left out in turn, for each class against the rest.

    `counts` are the rows of each class in each fold.
    """

    problem: PassProblem
    counts: np.ndarray

    @cached_property
    def places(self) -> list[int]:
        """The positive class of each problem, as a number."""
        return list(sides(self.problem.rows.facts.classes))

    def present(self, fold: int) -> np.ndarray:
        """Return the classes that the rows hold without a fold, as numbers."""
        return np.flatnonzero(np.sum(self.counts, axis=0) > self.counts[fold])

    @cached_property
    def fits(self) -> list[tuple[int, int]]:
        """The fits that are needed, as numbers of the problem and of the fold that is left out."""
        return [
            (k, fold)
            for k, place in enumerate(self.places)
            for fold in range(len(self.counts))
            if has_both(self.present(fold), place)
        ]

    def problems(self, base: PassProblem) -> list[PassProblem]:
        """Return the problem of each fit, for the C of `base`."""
        return [without(base, self.places[k], fold, len(self.counts)) for k, fold in self.fits]

    def models(self, outcomes: Sequence[Outcome]) -> np.ndarray:
        """Return (w, b) of each problem without each fold, from the outcomes of the fits."""
        found = np.zeros((len(self.places), len(self.counts), self.problem.rows.facts.d + 1))
        for fold in range(len(self.counts)):
            found[:, fold, -1] = np.where(np.isin(self.places, self.present(fold)), 1.0, -1.0)
        for (k, fold), outcome in zip(self.fits, outcomes, strict=True):
            found[k, fold, :-1], found[k, fold, -1] = outcome.w, outcome.b
        return found

    def scored(self, models: np.ndarray, read: Callable[[], T], *more: Pass) -> T:
        """Compute the decision value of each row by the models without its fold; return what `read` takes of them.

        The passes `more` are run too. A worker that is lost loses what they wrote: then all is repeated.
        """
        problem, classes = self.problem, self.problem.rows.facts.classes
        passes = [ScoreHeldOut(classes, model, scores_of(k)) for k, model in enumerate(models)]
        problem.forget_lost()
        while True:
            problem.rows.reduce([*more, *passes], problem.stop)
            found = read()
            if not problem.forget_lost():
                return found


def held_out(problem: PassProblem, folds: int) -> HeldOut:
    """Return the folds of the rows of a problem, after a pass that counts them."""
    [(counts,)] = problem.rows.reduce([CountFolds(problem.rows.facts.classes, folds)], problem.stop)
    return HeldOut(problem, counts)


def scores_of(problem: int) -> str:
    """Return the name of the vector of the decision values of a problem."""
    return f"held out {problem}"


def without(problem: PassProblem, side: int, fold: int, folds: int) -> PassProblem:
    """Return the problem of a class against the rest without a fold."""
    classes = problem.rows.facts.classes
    name = "" if len(classes) == 2 else f"{show(classes[side])} against the rest "
    two = replace(problem.problem, positive=classes[side], fold=fold, folds=folds)
    return replace(problem, problem=two, name=f"{name}without fold {fold + 1} of {folds}", keeps_dual=False)


def solve_in_step(
    problems: Sequence[PassProblem], run: Run, at_once: int, starts: Sequence[Point] | None = None
) -> list[Outcome]:
    """Solve several problems of the same rows, at most `at_once` of them in the same passes."""
    count = len(problems)
    workers = max(min(count, at_once), 1)
    shared: Any = InStep(problems[0].rows, count, workers) if problems else None
    own = [replace(problem, rows=shared, slot=str(number)) for number, problem in enumerate(problems)]
    return solve_all(own, count, run, starts=starts, workers=workers)


def draw_again(problem: PassProblem, seed: int) -> None:
    """Draw a new sample of the rows, on which fits begin: the first one has been released."""
    if (survey := getattr(problem.rows, "survey", None)) is not None:
        survey(np.random.default_rng([seed, 3]), problem.stop)
