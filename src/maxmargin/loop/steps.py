"""The steps of a solver, kept within the epoch limit."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np

from maxmargin.loop.checkpoint import RunState
from maxmargin.solvers.base import Divisible, Solver
from maxmargin.status import Status


class Steps:
    """Advances the solver of one run, within `max_epochs`."""

    def __init__(self, problem: Any, solver: Solver, run: RunState, max_epochs: float | None) -> None:
        self.problem, self.solver, self.run, self.max_epochs = problem, solver, run, max_epochs
        self.resumable: RunState | None = None  # the checkpoint of a run whose first step was cut short

    @property
    def epochs(self) -> float:
        """Passes over the data so far, of all solvers of the run."""
        return float((self.run.earlier_visits + self.run.state.visited) / max(self.problem.n, 1))

    @property
    def own_epochs(self) -> float:
        """Passes over the data by the running solver."""
        return float(self.run.state.visited / max(self.problem.n, 1))

    def advance(self) -> tuple[Status | None, Status | None]:
        """Advance once. Undo a step beyond the epoch limit; cut the first step short instead if the solver can.

        Return the status with which the solver ends the run, if any, and EPOCH_LIMIT if the step was undone or cut.
        """
        problem, run, limit = self.problem, self.run, self.max_epochs
        if limit is None:
            return self.solver.advance(problem, run.state, run.rng), None
        if not problem.immediate:  # streaming solvers take single dual steps, and count them
            assert isinstance(self.solver, Divisible)
            visits = limit * problem.n - run.earlier_visits
            return self.solver.advance_within(problem, run.state, run.rng, visits), None
        if self.epochs == 0.0:
            return self.first_step(limit)
        state, numbers = copied(run.state), run.rng.bit_generator.state
        ended = self.solver.advance(problem, run.state, run.rng)
        if self.epochs <= limit:
            return ended, None
        run.state, run.rng.bit_generator.state = state, numbers
        return None, Status.EPOCH_LIMIT

    def first_step(self, limit: float) -> tuple[Status | None, Status | None]:
        """Take the first step. If it is cut short, the checkpoint keeps the state before it."""
        run, solver = self.run, self.solver
        if not isinstance(solver, Divisible):
            return solver.advance(self.problem, run.state, run.rng), None
        before = replace(run, state=copied(run.state), rng=deepcopy(run.rng))
        ended = solver.advance_within(self.problem, run.state, run.rng, limit * self.problem.n)
        if ended is not Status.EPOCH_LIMIT:
            return ended, None
        self.resumable = before
        return None, ended


def copied(state: Any) -> Any:
    """Return the state with copies of its arrays."""
    arrays = {item.name: getattr(state, item.name) for item in fields(state)}
    return replace(state, **{name: array.copy() for name, array in arrays.items() if isinstance(array, np.ndarray)})
