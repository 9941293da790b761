"""The only loop.

It owns the clock, the certificates, the stopping, Ctrl-C, the callback and the checkpoint; a solver owns its step.

When to certify is decided by epochs, never by the clock, so that the same seed stops at the same point: after each
of the first epochs, then whenever the epochs have grown by 15 %. Certifying costs about a tenth of the time, and a
run goes at most 15 % beyond the point where it could have stopped. A solver that can tell the gap as it goes, roughly,
is certified when it thinks that the tolerance is met, and otherwise seldom: its state has the field `estimate`.

The best model is the certified point with the lowest primal objective, the best bound the highest dual objective:
together they are the certificate, whichever epochs they come from.

A problem so small that it takes a few milliseconds is solved beyond the tolerance, until only rounding is left.

A gap of which rounding is more than the tolerance cannot be closed: the run ends as ROUNDING once little else is left
of it and nothing becomes better.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from math import log2
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from maxmargin.errors import CheckpointWarning, DataError, FileError, RefusedError
from maxmargin.loop.checkpoint import KIND, Best, Run, check_own, fingerprint, load_run, save_run
from maxmargin.loop.record import Record
from maxmargin.problems.certificate import Certificate, Certified, Point, certify, joined
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.kernel_certificate import certify_kernel
from maxmargin.problems.linear import Problem
from maxmargin.problems.separation import verdict
from maxmargin.solvers import refusal
from maxmargin.solvers.base import Divisible, Learns, Solver
from maxmargin.status import Status
from maxmargin.system.overwriting import holds_something
from maxmargin.system.threads import blas_on_one_thread

SPACING = 1.15
SELDOM = 1.5
AT_FIRST = 8.0  # epochs that an estimate may pass without a certificate
CHECKPOINT_SECONDS = 30.0
STALE_CERTIFICATES = 16  # at 15 % apart: ten times as many epochs without any progress,
STALE_ESTIMATES = 6  # as many at 50 % apart,
STALE_ROUNDING = 2  # and fewer where rounding hides whatever progress there may be
LEAST_PROGRESS = 1e-4  # of the gap,
LEAST_IN_A_BLUR = 0.1  # where rounding moves both objectives up and down
BEYOND_ROUNDING = 1e-9
ROUNDING = 1e-15
FREE_WORK = 1_000_000  # numbers visited: a few milliseconds
FREE_EPOCHS = 1000

PROVED = (Status.NOT_SEPARABLE, Status.NO_MINIMISER)
FINAL = (Status.CONVERGED, Status.STALLED, Status.ROUNDING, Status.DIVERGED, *PROVED)

Callback = Callable[[Record], Any]
Watch = Callable[[Record, Certified], Any]


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    tol: float = 1e-4
    max_seconds: float | None = None
    max_epochs: float | None = None


@dataclass(eq=False)
class Outcome:
    """Where a run ended."""

    w: np.ndarray = field(repr=False)
    b: float
    alpha: np.ndarray = field(repr=False)
    certificate: Certificate
    status: Status
    epochs: float
    seconds: float
    history: list[Record] = field(repr=False)

    @property
    def advice(self) -> str:
        """What to make of the status."""
        return self.status.advice


@dataclass(frozen=True)
class Keeping:
    """Where a run is kept, and whether to go on from what is there."""

    checkpoint: Path | None = None
    resume: bool = False
    force: bool = False  # whether to replace a checkpoint of another run


def check_keeping(problem: Problem | KernelProblem, solver: Solver, seed: int, keeping: Keeping) -> None:
    """Refuse to replace anything but a checkpoint of this run, before any work is done."""
    path = keeping.checkpoint
    if path is not None and not keeping.force and holds_something(path):
        check_own(path, KIND, fingerprint(problem, repr(solver), seed))


def solve(
    problem: Problem | KernelProblem,
    solver: Solver,
    limits: Limits,
    *,
    seed: int = 0,
    callback: Callback | None = None,
    interrupt: Event | None = None,
    keeping: Keeping | None = None,
    warm: Point | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run `solver` on `problem`, from `warm` if given, until a certificate meets the tolerance or something ends it.

    A set `interrupt` asks for an end: Ctrl-C sets it, and so does a callback that returns something true.
    A `watch` sees each certified point as well, off the clock.
    """
    if reason := refusal(solver.name, problem):
        raise RefusedError(reason)
    keeping = keeping or Keeping()
    identity = fingerprint(problem, repr(solver), seed) if keeping.checkpoint else {}
    if keeping.checkpoint and not keeping.force:
        check_own(keeping.checkpoint, KIND, identity)
    with blas_on_one_thread:  # the threads are ours: those of BLAS, once woken, would be in their way
        if keeping.checkpoint and keeping.resume and holds_something(keeping.checkpoint):
            run = load_run(keeping.checkpoint, solver.start(problem), problem, identity)
        else:
            run = Run(solver.start(problem, warm), np.random.default_rng(seed))
        interrupt, is_warm = interrupt or Event(), warm is not None and not run.history
        loop = Loop(problem, solver, limits, run, callback, interrupt, keeping.checkpoint, identity, watch, is_warm)
        return loop.go()


@dataclass(eq=False)
class Loop:
    """One call of `solve`: what lasts as long as it. What must outlast it is in `run`."""

    problem: Problem | KernelProblem
    solver: Solver
    limits: Limits
    run: Run
    callback: Callback | None
    interrupt: Event
    checkpoint: Path | None
    identity: dict[str, Any]
    watch: Watch | None = None
    warm: bool = False

    def __post_init__(self) -> None:
        self.started = self.saved = time.perf_counter()
        self.earlier = self.run.seconds
        self.certifying = 0.0
        self.blur = 0.0
        self.resumable: Run | None = None  # what a checkpoint keeps instead of a run whose first step was cut short
        self.warned = False  # whether the user knows that no checkpoint is written

    @property
    def seconds(self) -> float:
        """Time spent, before a resumption too."""
        return self.earlier + time.perf_counter() - self.started

    @property
    def epochs(self) -> float:
        """Passes over the data so far."""
        return float(self.run.state.visited / self.problem.n)

    def go(self) -> Outcome:
        """Advance and certify until there is a reason to stop; numbers that overflow are for the certificate to see."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self.run_to_the_end()

    def run_to_the_end(self) -> Outcome:
        """Advance and certify until there is a reason to stop."""
        status = self.met_already() or self.end_asked()
        while status is None:
            ended, beyond = self.advance()
            status = beyond or self.look() or self.conclude(ended) or self.end_asked()
            self.save(at_once=status is not None)
        return self.finish(status)

    def advance(self) -> tuple[Status | None, Status | None]:
        """Advance once; a step beyond the epoch limit is taken back, the first is cut short where a solver can.

        Returns the solver's own ending, and EPOCH_LIMIT if the step was taken back or cut short.
        """
        run, limit = self.run, self.limits.max_epochs
        if limit is None:
            return self.solver.advance(self.problem, run.state, run.rng), None
        if self.epochs == 0.0:
            return self.first_step(limit)
        state, numbers = copied(run.state), run.rng.bit_generator.state
        ended = self.solver.advance(self.problem, run.state, run.rng)
        if self.epochs <= limit:
            return ended, None
        run.state, run.rng.bit_generator.state = state, numbers
        return None, Status.EPOCH_LIMIT

    def first_step(self, limit: float) -> tuple[Status | None, Status | None]:
        """Advance from the start; what is resumed after a step that was cut short is the start."""
        run, solver = self.run, self.solver
        if not isinstance(solver, Divisible):
            return solver.advance(self.problem, run.state, run.rng), None
        before = replace(run, state=copied(run.state), rng=deepcopy(run.rng))
        ended = solver.advance_within(self.problem, run.state, run.rng, limit * self.problem.n)
        if ended is not Status.EPOCH_LIMIT:
            return ended, None
        self.resumable = before
        return None, ended

    def met_already(self) -> Status | None:
        """A resumed run may hold all that is asked for, or have come to its own end; so may a warm start."""
        if self.run.ended:
            return Status(self.run.ended)
        if self.warm:
            self.run.history.append(self.certify())
        best = self.run.best
        if best and best.certificate.meets(self.limits.tol):
            return Status.CONVERGED
        return self.stuck(self.run.history[-1]) if self.run.history else None

    def conclude(self, ended: Status | None) -> Status | None:
        """An end that the solver or a proof has come to: certified, and final for a run that is resumed too."""
        if ended is None:
            return None
        run = self.run
        if not run.history or run.history[-1].epochs != self.epochs:
            run.history.append(self.certify())
        if ended is Status.SEPARATED:  # a lower objective may not separate
            found, best = self.found, run.best
            assert best is not None
            both = joined(found.certificate, best.certificate)
            run.best = Best(found.w, found.b, best.alpha, both)
        run.ended = ended.value
        return ended

    def end_asked(self) -> Status | None:
        """An interrupt, or the limit that was reached, counting the certificate that must still be made."""
        limits = self.limits
        if self.interrupt.is_set():
            return Status.INTERRUPTED
        if limits.max_seconds is not None and self.seconds - self.earlier + self.certifying >= limits.max_seconds:
            return Status.TIME_LIMIT
        if limits.max_epochs is not None and self.epochs >= limits.max_epochs:
            return Status.EPOCH_LIMIT
        return None

    def look(self) -> Status | None:
        """Certify if it is time to; the reason to stop that this shows, if any."""
        run = self.run
        if not self.due():
            return None
        regular = self.epochs >= run.next_certificate
        if regular:
            spacing = SELDOM if self.estimates else SPACING
            run.next_certificate = self.epochs + max(1.0, self.epochs * (spacing - 1.0))
        if self.estimate <= self.goal:  # it was asked for, and if it is not met the next is asked for later
            run.ask = 0.5 * min(self.estimate, run.ask)
        record = self.certify()
        if lost(self.problem, record.certificate):
            return Status.DIVERGED
        least = LEAST_IN_A_BLUR if self.blurred(record) else LEAST_PROGRESS
        stuck = bool(run.history) and not progressed(run.history[-1].best, record.best, least)
        run.stale = run.stale + regular if stuck else 0  # those that were asked for may be close together
        run.history.append(record)
        if self.callback and self.callback(record):
            self.interrupt.set()
        if proved := self.proof():
            return proved
        if self.arrived(record.best):
            return Status.CONVERGED
        return self.stuck(record)

    def stuck(self, record: Record) -> Status | None:
        """Whether nothing has become better for too long; less patience where rounding is all that is left."""
        beyond = any(hopeless(one, self.limits.tol) for one in (record.certificate, record.best))
        patience = STALE_ESTIMATES if self.estimates else STALE_CERTIFICATES
        if self.run.stale >= (STALE_ROUNDING if beyond else patience):
            return Status.ROUNDING if beyond or self.blurred(record) else Status.STALLED
        return None

    def blurred(self, record: Record) -> bool:
        """Whether the rounding of a solver's own sums is more than the gap, and so moves both objectives about."""
        return self.blur > max(self.limits.tol, record.best.relative_gap)

    def arrived(self, best: Certificate) -> bool:
        """Whether the tolerance is met, and where more is free nothing but rounding is left of the gap."""
        rest = best.gap - best.rounding
        return best.meets(self.limits.tol) and rest <= self.goal * best.measure

    def due(self) -> bool:
        """Whether to certify now: the epochs say so, or the solver thinks that it has arrived."""
        if self.estimate <= min(self.goal, self.run.ask):
            return True
        return self.epochs >= max(self.run.next_certificate, AT_FIRST if self.estimates else 0.0)

    @property
    def estimates(self) -> bool:
        """Whether the solver can tell the gap; a run that is watched is certified as often as any other."""
        return self.estimate < np.inf and self.watch is None

    @property
    def estimate(self) -> float:
        """What the solver thinks of its relative gap."""
        return float(getattr(self.run.state, "estimate", np.inf))

    @property
    def goal(self) -> float:
        """The relative gap to reach: beyond the tolerance where that is free."""
        return min(self.limits.tol, ROUNDING) if self.costs_nothing() else self.limits.tol

    def proof(self) -> Status | None:
        """Whether no answer can exist: asked now and then, and always before all seems done."""
        history, found = self.run.history, self.found
        doubled = len(history) == 1 or doublings(history[-1].epochs) > doublings(history[-2].epochs)
        done = history[-1].best.meets(self.limits.tol)
        if not (doubled or done):
            return None
        if isinstance(self.problem, KernelProblem):
            return None
        proved = verdict(self.problem, found, done, self.epochs, self.seconds)
        if proved:
            self.run.best = as_best(found)
        if proved is Status.NO_MINIMISER and found.certificate.dual > 0.0:  # the infimum is 0
            self.run.best = with_zero_alpha(as_best(found))
        return self.conclude(proved)

    def costs_nothing(self) -> bool:
        """Whether the run has taken so little that going on to the last digit is free."""
        size = max(self.problem.nnz, self.problem.n)
        return self.epochs <= FREE_EPOCHS and self.epochs * size <= FREE_WORK

    def certify(self) -> Record:
        """Certify the point where the solver stands and remember the best."""
        began = time.perf_counter()
        found = self.certified(self.run.state)
        if isinstance(self.solver, Learns):
            self.solver.learn(self.problem, self.run.state, found)
        self.certifying = time.perf_counter() - began
        if self.run.best is None and lost(self.problem, found.certificate):
            self.run.best = self.at_the_start()
        self.run.best = better(self.run.best, found) if self.comparable else as_best(found)
        if self.run.best.certificate.dual < 0.0 and self.problem.zero_is_feasible:
            self.run.best = with_zero_alpha(self.run.best)
        self.found, self.blur = found, found.blur
        record = Record(
            self.problem.name, self.epochs, self.seconds, found.certificate, self.run.best.certificate,
            **mistakes_of(self.run.state),
        )  # fmt: skip
        self.show(record, found)
        return record

    def certified(self, state: Any) -> Certified:
        """The point of that state, certified as its problem is."""
        point = self.solver.point(self.problem, state)
        if isinstance(self.problem, KernelProblem):
            return certify_kernel(self.problem, point)
        return certify(self.problem, point)

    @property
    def comparable(self) -> bool:
        """Whether a lower objective is a better model: not where the kernel is indefinite, and nothing is convex."""
        return self.problem.bounded or not isinstance(self.problem, KernelProblem)

    def at_the_start(self) -> Best:
        """The point before the first step, for a run that is lost before its first certificate."""
        start = self.certified(self.solver.start(self.problem))
        if lost(self.problem, start.certificate):
            raise DataError("the objective is not a finite number: C or the features are too large; scale them down")
        return as_best(start)

    def show(self, record: Record, found: Certified) -> None:
        """Let the watcher look, with the clock stopped."""
        if self.watch:
            began = time.perf_counter()
            self.watch(record, found)
            self.started += time.perf_counter() - began

    def save(self, at_once: bool) -> None:
        """Write the checkpoint if there is one to write and it is time to."""
        now = time.perf_counter()
        if self.checkpoint and (at_once or now - self.saved >= CHECKPOINT_SECONDS):
            run = self.resumable or self.run
            run.seconds = self.seconds
            try:
                save_run(self.checkpoint, run, self.identity)
            except FileError as error:
                self.warned = warn_once(error, self.warned)
            self.saved = now

    def finish(self, status: Status) -> Outcome:
        """The best point, after a last certificate of where the solver stands.

        That one is not in the checkpoint, so a run that is resumed is the run that was never interrupted.
        """
        run = self.run
        history = list(run.history)
        certified = bool(history) and history[-1].epochs == self.epochs
        if not certified and not run.ended and status not in FINAL:
            history.append(self.certify())
        best = run.best
        assert best is not None
        if status is Status.DIVERGED and (start := self.at_the_start()).certificate.primal < best.certificate.primal:
            best = start
        if best.certificate.meets(self.limits.tol) and status not in PROVED:
            status = Status.CONVERGED
        return Outcome(best.w, best.b, best.alpha, best.certificate, status, self.epochs, self.seconds, history)


def copied(state: Any) -> Any:
    """A state of its own arrays."""
    arrays = {item.name: getattr(state, item.name) for item in fields(state)}
    return replace(state, **{name: array.copy() for name, array in arrays.items() if isinstance(array, np.ndarray)})


def warn_once(error: FileError, warned: bool) -> bool:
    """Say that a checkpoint cannot be written, the first time; training goes on, as the model is worth more."""
    if not warned:
        message = f"{error}; training goes on without a checkpoint: make room, or name another file"
        warnings.warn(message, CheckpointWarning, stacklevel=2)
    return True


def doublings(epochs: float) -> int:
    """How often the first epoch has been doubled."""
    return int(log2(max(epochs, 1.0)))


def mistakes_of(state: Any) -> dict[str, Any]:
    """The mistakes of a solver that counts them."""
    return {name: value for name in ("mistakes", "all_mistakes") if (value := getattr(state, name, -1)) >= 0}


def lost(problem: Problem | KernelProblem, certificate: Certificate) -> bool:
    """Whether the numbers have left all bounds: not a number, or infinite where no point may be."""
    return bool(np.isnan(certificate.gap) or (np.isinf(certificate.gap) and problem.bounded))


def progressed(before: Certificate, after: Certificate, least: float = LEAST_PROGRESS) -> bool:
    """Whether the gap has shrunk by that part, or one objective has moved by more than rounding if little is enough."""
    shrunk = after.gap < before.gap - least * abs(before.gap)
    if least > LEAST_PROGRESS:
        return shrunk
    lower = before.primal - after.primal > BEYOND_ROUNDING * abs(before.primal)
    size = abs(before.primal) if np.isfinite(before.primal) else abs(before.dual)  # a dual near 0 rises for ever
    higher = after.dual - before.dual > BEYOND_ROUNDING * size
    return shrunk or lower or higher


def hopeless(best: Certificate, tol: float) -> bool:
    """Whether rounding alone is more than the tolerance, and what is left beside it is less than it."""
    return bool(np.isfinite(best.gap)) and best.rounding > tol * best.measure and best.only_rounding


def as_best(found: Certified) -> Best:
    """A certified point as the best one."""
    return Best(found.w, found.b, found.alpha, found.certificate)


def with_zero_alpha(best: Best) -> Best:
    """The same with α = 0, which proves P* ≥ 0: more than an α whose rounding errors are larger than its objective."""
    nothing = replace(best.certificate, dual=0.0, dual_rounding=0.0)
    return Best(best.w, best.b, np.zeros_like(best.alpha), nothing)


def better(best: Best | None, found: Certified) -> Best:
    """The lower primal with its (w, b), the higher dual with its alpha."""
    if best is None:
        return as_best(found)
    w, b, alpha, certificate = best.w, best.b, best.alpha, best.certificate
    if found.certificate.primal < certificate.primal:
        w, b, certificate = found.w, found.b, joined(found.certificate, certificate)
    if found.certificate.dual > certificate.dual:
        alpha, certificate = found.alpha, joined(certificate, found.certificate)
    return Best(w, b, alpha, certificate)
