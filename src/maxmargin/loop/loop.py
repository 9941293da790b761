"""The training loop, one for all: linear and kernel problems in memory, and problems streamed from disk.

The loop owns the clock, the certificates, the stopping, Ctrl-C, the callback and the checkpoint. A solver owns its
step.

The loop offers a point to the problem, which returns its certificate: at once if the rows are in memory, at the end of
a pass if they are streamed. Streamed problems always have an offered point; there is no other difference.

The best model is the certified point with the lowest primal objective. The best bound is the highest dual objective.
Together they are the certificate, even if they come from different epochs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from maxmargin.data.reduction import PassStoppedError
from maxmargin.errors import DataError
from maxmargin.loop.checkpoint import RunState, save_run
from maxmargin.loop.clock import Clock
from maxmargin.loop.outcome import Outcome, better, lost, with_zero_alpha
from maxmargin.loop.record import Record, mistakes_of, reading_of
from maxmargin.loop.saving import Saving
from maxmargin.loop.schedule import Schedule
from maxmargin.loop.steps import Steps
from maxmargin.loop.stopping import (
    STALE_BEFORE_CHANGE,
    STALE_CERTIFICATES,
    STALE_ESTIMATES,
    STALE_PASSES,
    Limits,
    least_progress,
    progressed,
    stuck,
)
from maxmargin.loop.succession import FAR_FROM_OPTIMUM, Succession, epochs_left
from maxmargin.problems.certificate import Certificate, Certified, Point, joined
from maxmargin.problems.linear import Problem
from maxmargin.problems.separation import verdict
from maxmargin.solvers.base import Solver
from maxmargin.status import Status

SHOWN_SECONDS = 0.5  # Time between two progress reports during a pass.

PROVED = (Status.NOT_SEPARABLE, Status.NO_MINIMISER)
FINAL = (Status.CONVERGED, Status.STALLED, Status.ROUNDING, Status.DIVERGED, *PROVED)

AnyProblem = Any  # a Problem, a KernelProblem or a Stream
Callback = Callable[[Record], Any]
Watch = Callable[[Record, Certified], Any]


@dataclass(eq=False)
class Loop:
    """One call of `solve`. `run` holds the part that a checkpoint keeps.

    `solver` is the running solver; a `succession` may replace it by another in mid-run.
    """

    problem: AnyProblem
    solver: Solver
    limits: Limits
    run: RunState
    callback: Callback | None
    interrupt: Event
    checkpoint: Path | None
    identity: dict[str, Any]
    watch: Watch | None = None
    warm: bool = False
    succession: Succession | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.clock, self.saving = Clock(self.run.seconds), Saving(self.checkpoint)
        self.certifying = 0.0
        self.shown, self.counted, self.rate = self.clock.started, 0, 0.0
        self.steps = Steps(self.problem, self.solver, self.run, self.limits.max_epochs)
        self.schedule = Schedule(self.problem, self.run, self.limits.tol, watched=self.watch is not None)
        self.solver_rounding = 0.0  # `solver_rounding` of the last certified point

    @property
    def epochs(self) -> float:
        """Passes over the data so far."""
        return self.steps.epochs

    def go(self) -> Outcome:
        """Run to the end. NumPy's overflow warnings are off, because the certificate detects overflows."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"), closing(self.problem):
            status = self.begin()
            with self.problem.opened(self.seed):
                while status is None:
                    status = self.take_a_step()
                    self.save(at_once=status is not None)
            return self.finish(status)

    def take_a_step(self) -> Status | None:
        """Advance, certify if a certificate is due, and return the reason to stop, if any."""
        running = self.solver
        try:
            ended, status = self.steps.advance()
        except PassStoppedError:  # asked to stop in the middle of a pass
            return self.limits.reached(np.inf, 0.0, self.interrupt) or Status.INTERRUPTED
        status = status or self.look()
        if status is None and self.solver is running:
            status = self.conclude(ended)
        return status or self.end_asked()

    def begin(self) -> Status | None:
        """Return the reason not to begin, if any. A stream offers its current point: nothing is certified yet."""
        if self.problem.immediate:
            return self.met_already() or self.end_asked()
        self.offer()
        return None

    def met_already(self) -> Status | None:
        """Return the status if a resumed run or a warm start has already reached the tolerance or its end."""
        if self.run.ended and self.run.best is not None:
            return Status(self.run.ended)
        if self.warm:
            self.offer()
            self.run.history.append(self.certify())
        elif self.run.history and self.run.best is None:  # the checkpoint does not hold the best model
            self.offer()
            self.certify()
        best = self.run.best
        if best and best.certificate.meets(self.limits.tol):
            return Status.CONVERGED
        if self.run.ended:
            return Status(self.run.ended)
        return self.stuck(self.run.history[-1]) if self.run.history else None

    def conclude(self, ended: Status | None) -> Status | None:
        """Certify the last point if the solver or a proof has ended the run. A resumed run keeps this status."""
        if ended is None:
            return None
        run = self.run
        if not run.history or run.history[-1].epochs != self.epochs:
            self.offer()
            run.history.append(self.certify())
        if ended is Status.SEPARATED:  # a point with a lower objective may not separate the classes
            found, best = self.found, run.best
            assert best is not None
            both = joined(found.certificate, best.certificate)
            run.best = replace(found, alpha=best.alpha, certificate=both)
        if ended is Status.STALLED and self.only_rounding:
            ended = Status.ROUNDING
        if self.another_may_help(ended) and self.change():
            return None
        run.ended = ended.value
        return ended

    @property
    def only_rounding(self) -> bool:
        """Whether rounding is all that is left of the gap of a kernel problem."""
        return not isinstance(self.problem, Problem) and self.run.best.certificate.only_rounding  # type: ignore[union-attr]

    def end_asked(self) -> Status | None:
        """Return the status of an interrupt or a limit, if any. One more certificate must fit into the time limit."""
        epochs = self.epochs if self.problem.immediate else 0.0  # a stream checks this limit at the end of a pass
        return self.limits.reached(self.clock.since_start + self.certifying, epochs, self.interrupt)

    def look(self) -> Status | None:
        """Certify if a certificate is due, and return the reason to stop that it gives, if any."""
        if not self.problem.immediate:
            return self.look_at_stream()
        if not self.schedule.due(self.steps.own_epochs):
            return None
        regular = self.schedule.plan_next(self.steps.own_epochs)
        self.offer()
        return self.judge(self.certify(), regular)

    def look_at_stream(self) -> Status | None:
        """At the end of a pass, judge its certificate and offer the next point. Within a pass, report the progress."""
        if self.pending.certified() is None:
            return self.show_reading()
        status = self.judge(self.certify(), regular=True)
        limit = self.limits.max_epochs
        if status is None and limit is not None and self.epochs >= limit and self.problem.proved:
            status = Status.EPOCH_LIMIT
        if status is None:
            self.offer()
        return status

    def show_reading(self) -> Status | None:
        """Report the progress of a pass to the callback, every SHOWN_SECONDS."""
        now = time.perf_counter()
        if now - self.shown >= SHOWN_SECONDS:
            visited = self.run.state.visited
            self.rate = (visited - self.counted) / max(now - self.shown, 1e-9)
            self.counted, self.shown = visited, now
            best = self.run.best.certificate if self.run.best else Certificate(np.inf, 0.0)
            last = self.run.history[-1].certificate if self.run.history else best
            if self.callback and self.callback(self.record(last, best)):
                self.interrupt.set()
        return None

    def judge(self, record: Record, regular: bool) -> Status | None:
        """Return the reason to stop that a new certificate gives, if any."""
        run = self.run
        if lost(self.problem, record.certificate):
            return Status.DIVERGED
        least = least_progress(record.best, self.limits.tol, self.solver_rounding)
        stuck = bool(run.history) and not progressed(run.history[-1].best, record.best, least)
        stuck = stuck and not (self.follower_progressed(record, least) or self.nears_a_bound(record, least))
        run.stale = run.stale + regular if stuck else 0  # only regular ones count: others may be close together
        run.history.append(record)
        if self.callback and self.callback(record):
            self.interrupt.set()
        if proved := self.proof():
            return proved
        if record.best.meets(self.limits.tol):
            return Status.CONVERGED
        status = self.stuck(record) or self.slow()
        return None if self.another_may_help(status) and self.change() else status

    def another_may_help(self, status: Status | None) -> bool:
        """Whether another solver may do better. The rounding errors of a linear problem depend on the point."""
        linear = isinstance(self.problem, Problem)
        return status is Status.STALLED or (status is Status.ROUNDING and linear)

    def follower_progressed(self, record: Record, least: float) -> bool:
        """Whether a solver that went on makes progress of its own, although the best point is still an earlier one."""
        own = self.run.history[self.run.first_record :]
        if not self.run.first_record or not own:
            return False
        return progressed(own_best(own), own_best([*own, record]), least)

    def nears_a_bound(self, record: Record, least: float) -> bool:
        """Whether the gap of the last point is the least so far, while no lower bound above 0 is known.

        Interior points come from far outside: their dual objective rises for many steps before it exceeds 0.
        """
        if record.best.dual > 0.0:
            return False
        earlier = (one.certificate.gap for one in self.run.history[self.run.first_record :])
        return bool(record.certificate.gap < (1.0 - least) * min(earlier, default=np.inf))

    def slow(self) -> Status | None:
        """Return STALLED if the gap shrinks so slowly that another solver should go on, or the run should end."""
        run = self.run
        if self.succession is None:
            return None
        left, gap = epochs_left(run.history[run.first_record :], self.limits.tol), run.history[-1].best.relative_gap
        slow = self.succession.too_slow(self.problem, run.solvers, self.steps.own_epochs, left, gap)
        return Status.STALLED if slow else None

    @property
    def follower(self) -> Solver | None:
        """The solver that goes on if the running one stalls or is too slow."""
        return self.succession.follower(self.problem, self.run.solvers) if self.succession else None

    def change(self) -> bool:
        """Go on with the next solver, from the best point unless that is far away. Return False if there is none."""
        run, solver = self.run, self.follower
        if solver is None:
            return False
        best = run.best
        assert best is not None
        self.solver = self.steps.solver = solver
        run.solvers, run.earlier_visits = (*run.solvers, solver.name), run.earlier_visits + run.state.visited
        far = self.problem.immediate and best.certificate.relative_gap > FAR_FROM_OPTIMUM
        run.state = solver.start(self.problem, None if far else Point(best.w, best.b, best.alpha))
        run.rng = np.random.default_rng(self.seed)
        run.next_certificate, run.ask, run.stale, run.first_record = 1.0, np.inf, 0, len(run.history)
        self.offer()
        if self.problem.immediate:
            run.history.append(self.certify())
        return True

    def stuck(self, record: Record) -> Status | None:
        """Return the status if there has been no progress for too long."""
        patience = STALE_PASSES
        if self.problem.immediate:
            patience = STALE_ESTIMATES if self.schedule.has_estimate else STALE_CERTIFICATES
        stale, tol, noise = self.run.stale, self.limits.tol, self.solver_rounding
        found = stuck(record, stale, patience, tol, max(noise, self.run.best.solver_rounding))  # type: ignore[union-attr]
        if found is None and stale >= STALE_BEFORE_CHANGE and self.follower is not None:
            early = stuck(record, stale, STALE_BEFORE_CHANGE, tol, noise)
            return early if early is Status.STALLED else None  # rounding errors of a solver may hide its progress
        return found

    def proof(self) -> Status | None:
        """Return the status of a proof that no solution exists. Tried when epochs double, and before CONVERGED."""
        history, found = self.run.history, self.found
        doubled = len(history) == 1 or doublings(history[-1].epochs) > doublings(history[-2].epochs)
        done = history[-1].best.meets(self.limits.tol)
        if not (doubled or done):
            return None
        if not isinstance(self.problem, Problem):
            return None
        proved = verdict(self.problem, found, done, self.epochs, self.clock.seconds)
        if proved:
            self.run.best = found
        if proved is Status.NO_MINIMISER and found.certificate.dual > 0.0:  # the infimum is 0
            self.run.best = with_zero_alpha(found)
        return self.conclude(proved)

    def offer(self) -> None:
        """Offer the current point of the solver to the problem."""
        self.pending = self.problem.offer(self.solver.point(self.problem, self.run.state))

    def certify(self) -> Record:
        """Take the certificate of the offered point, and update the best point."""
        began = time.perf_counter()
        found = self.pending.certified()
        assert found is not None
        if self.problem.immediate and found.certificate.only_rounding and not found.certificate.meets(self.limits.tol):
            found = self.pending.tightened(found)
        if (learn := getattr(self.solver, "learn", None)) is not None:
            learn(self.problem, self.run.state, found)
        self.certifying = time.perf_counter() - began
        if self.run.best is None and lost(self.problem, found.certificate):
            self.run.best = self.at_the_start()
        self.run.best = better(self.run.best, self.kept(found)) if self.problem.convex else found
        if self.run.best.certificate.dual < 0.0 and self.problem.zero_is_feasible:
            self.run.best = with_zero_alpha(self.run.best)
        self.found, self.solver_rounding = found, found.solver_rounding
        record = self.record(found.certificate, self.run.best.certificate)
        self.show(record, found)
        return record

    def kept(self, found: Certified) -> Certified:
        """Return the point in a form that can be kept. A stream overwrites its arrays, so it stores a better w."""
        best = self.run.best
        if best and found.certificate.primal >= best.certificate.primal:
            return found
        kept: Certified = self.problem.kept_aside(found)
        return kept

    def record(self, certificate: Certificate, best: Certificate) -> Record:
        """Return a record for the history and the callback."""
        state, problem = self.run.state, self.problem
        reading = None if problem.immediate else reading_of(problem, state, self.rate)
        return Record(
            problem.name, self.epochs, self.clock.seconds, certificate, best, reading=reading, **mistakes_of(state)
        )

    def at_the_start(self) -> Certified:
        """Certify the point before the first step, for a run that diverges before its first certificate."""
        point = self.solver.point(self.problem, self.solver.start(self.problem))
        start: Certified = self.problem.offer(point).certified()
        if lost(self.problem, start.certificate):
            raise DataError("the objective is not a finite number: C or the features are too large; scale them down")
        return start

    def show(self, record: Record, found: Certified) -> None:
        """Call `watch` with the clock stopped."""
        if self.watch:
            with self.clock.stopped():
                self.watch(record, found)

    def save(self, at_once: bool) -> None:
        """Write the checkpoint if one is wanted and due."""
        if at_once or self.saving.due:
            run = self.steps.resumable or self.run
            run.seconds = self.clock.seconds
            if self.problem.immediate or self.problem.passes:
                self.saving.save(lambda path: save_run(path, run, self.solver, self.problem, self.identity))

    def finish(self, status: Status) -> Outcome:
        """Return the best point, after a last certificate of the current point.

        The checkpoint does not contain this last certificate, so a resumed run equals an uninterrupted one.
        """
        run = self.run
        if not self.problem.immediate:
            return self.finish_stream(status)
        history = list(run.history)
        certified = bool(history) and history[-1].epochs == self.epochs
        if not certified and not run.ended and status not in FINAL:
            self.offer()
            history.append(self.certify())
        best = run.best
        assert best is not None
        if status is Status.DIVERGED and (start := self.at_the_start()).certificate.primal < best.certificate.primal:
            best = start
        if best.certificate.meets(self.limits.tol) and status not in PROVED:
            status = Status.CONVERGED
        return self.outcome(best, status, history)

    def finish_stream(self, status: Status) -> Outcome:
        """Return the best point that a pass has certified. A last certificate would take another pass."""
        run, solver, problem = self.run, self.solver, self.problem
        answer, best = problem.certified(), run.best
        exact = answer is not None and best is not None and answer.certificate.dual >= best.certificate.dual
        if not exact:  # the frozen α does not have the best bound: freeze the solver's current one
            solver.point(problem, run.state)
        found = problem.best_of(best, run.state.w, run.state.b, self.limits.tol)
        return self.outcome(found, status, list(run.history))

    def outcome(self, best: Certified, status: Status, history: list[Record]) -> Outcome:
        """Return the outcome of the run with this best point."""
        return Outcome(
            best.w, best.b, best.alpha, best.certificate, status, self.epochs, self.clock.seconds, history, best.width,
            self.run.solvers,
        )  # fmt: skip


def own_best(records: list[Record]) -> Certificate:
    """Return the lowest primal and the highest dual objective of these records."""
    lowest = min((record.certificate for record in records), key=lambda one: one.primal)
    highest = max((record.certificate for record in records), key=lambda one: one.dual)
    return joined(lowest, highest)


def doublings(epochs: float) -> int:
    """Return how often the epochs have doubled since the first."""
    return int(log2(max(epochs, 1.0)))
