"""Solve one problem: refuse a solver that cannot, resume from a checkpoint if asked, run the loop."""

from __future__ import annotations

from threading import Event

import numpy as np

from maxmargin.errors import RefusedError
from maxmargin.loop.checkpoint import KIND, RunState, check_own, load_run
from maxmargin.loop.loop import AnyProblem, Callback, Loop, Watch
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.loop.stopping import Limits
from maxmargin.loop.succession import Succession
from maxmargin.problems.certificate import Point
from maxmargin.solvers import refusal
from maxmargin.solvers.base import Solver
from maxmargin.system.overwriting import holds_something
from maxmargin.system.threads import blas_on_one_thread

UNUSED = np.random.default_rng(
    0
)  # for solvers without random numbers: making a generator takes longer than a small fit


def check_keeping(problem: AnyProblem, solver: Solver, seed: int, keeping: Keeping) -> None:
    """Refuse to replace anything but a checkpoint of this run, before any work is done."""
    path = keeping.checkpoint
    if path is not None and not keeping.force and holds_something(path):
        check_own(path, KIND, problem.fingerprint(repr(solver), seed))


def solve(
    problem: AnyProblem,
    solver: Solver,
    limits: Limits,
    *,
    seed: int = 0,
    callback: Callback | None = None,
    interrupt: Event | None = None,
    keeping: Keeping | None = None,
    warm: Point | None = None,
    watch: Watch | None = None,
    succession: Succession | None = None,
) -> Outcome:
    """Run `solver` on `problem`, from `warm` if given, until the tolerance is met or the run ends for another reason.

    Setting `interrupt` ends the run: Ctrl-C sets it, and so does a callback that returns a true value.
    `watch` is called with each record and its certified point, with the clock stopped. `succession` decides whether
    another solver goes on in mid-run.
    """
    if problem.immediate and (reason := refusal(solver, problem)):
        raise RefusedError(reason)
    keeping = keeping or Keeping()
    identity = problem.fingerprint(repr(solver), seed) if keeping.checkpoint else {}
    if keeping.checkpoint and not keeping.force:
        check_own(keeping.checkpoint, KIND, identity)
    with blas_on_one_thread:  # BLAS threads, once woken, would slow our own threads down
        if keeping.checkpoint and keeping.resume and holds_something(keeping.checkpoint):
            run, solver = load_run(keeping.checkpoint, solver, problem, identity, succession)
        else:
            rng = UNUSED if getattr(solver, "deterministic", False) else np.random.default_rng(seed)
            run = RunState(solver.start(problem, warm), rng, solvers=(solver.name,))
        interrupt, is_warm = interrupt or Event(), warm is not None and not run.history
        loop = Loop(
            problem, solver, limits, run, callback, interrupt, keeping.checkpoint, identity, watch, is_warm,
            succession, seed,
        )  # fmt: skip
        return loop.go()
