"""The start of a batch solver over passes: the optimum of a sample of the rows, found in memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.passes import scores
from maxmargin.data.reduction import PassStoppedError
from maxmargin.data.rows import count_rows
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Certified, certify
from maxmargin.problems.linear import Problem
from maxmargin.solvers.dual.interior_point import InteriorPoint
from maxmargin.solvers.parts.newton_system import LARGEST_MATRIX
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.primal.second_order import SecondOrder

SAMPLE_ROWS = 200_000  # most rows of a sample
ENOUGH_ROWS = 0.5  # part of all rows from which on a sample with fewer rows than features is of use: 20news
SAMPLE_GAP = 1e-3  # relative gap at which training on the sample stops
SAMPLE_STEPS = 40  # most steps on the sample
ROWS_PER_FEATURE = 50  # up to this many rows for each feature, second_order needs many more steps than interior_point


class Start(NamedTuple):
    """(w, b) of the optimum of a sample, and the margins of the sample there."""

    v: np.ndarray
    margins: np.ndarray


def start_on_sample(problem: PassProblem, rng: np.random.Generator) -> Start:
    """Return the optimum of a sample, with C scaled up as if it were all rows; 0 if it has one class only."""
    with getattr(problem.rows, "alone", nullcontext()):
        start = on_sample(problem, rng)
    if (release := getattr(problem.rows, "release_sample", None)) is not None:
        release()
    return start


def on_sample(problem: PassProblem, rng: np.random.Generator) -> Start:
    """Return the optimum of a sample; 0 if it says little about the other rows, with fewer rows than features."""
    nothing = Start(np.zeros(problem.d + 1), np.zeros(0))
    if min(SAMPLE_ROWS, problem.n) < (enough := min(problem.d, ENOUGH_ROWS * problem.n)):
        return nothing
    part = problem.rows.sample(SAMPLE_ROWS, rng)
    if count_rows(part.rows) < enough:
        return nothing
    y, C = problem.on_sample(part)
    if not (np.any(C[y > 0]) and np.any(C[y < 0])):
        return Start(np.zeros(problem.d + 1), np.zeros(len(y)))
    found = solved(Problem(part.rows, y, C, problem.loss, problem.bias, problem.bias_scale), rng, problem.stop)
    return Start(np.append(found.w, found.b), y * (scores(part.rows, found.w) + found.b))


def solved(problem: Problem, rng: np.random.Generator, stop: Callable[[], object] | None) -> Certified:
    """Return an approximate solution of a problem in memory."""
    solver = solver_for(problem)
    state: Any = solver.start(problem)
    for _ in range(SAMPLE_STEPS):
        ended = solver.advance(problem, state, rng)
        found = certify(problem, solver.point(problem, state))
        if ended or found.certificate.relative_gap <= SAMPLE_GAP:
            break
        if stop is not None and stop():
            raise PassStoppedError
    return found


def solver_for(problem: Problem) -> Any:
    """Return a solver in memory that needs few steps whatever the scale of the columns."""
    if problem.loss.smooth:
        return Newton()
    few = problem.n <= ROWS_PER_FEATURE * problem.d and problem.d < LARGEST_MATRIX
    return InteriorPoint() if few and InteriorPoint.takes.takes_kind(problem) else SecondOrder()
