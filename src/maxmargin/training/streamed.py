"""Training a linear classifier from files that do not fit in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np

from maxmargin.choose import ASKED
from maxmargin.data.files import Files
from maxmargin.data.labels import show
from maxmargin.data.open_source import open_source
from maxmargin.data.preparation import Preparation
from maxmargin.data.rows import count_columns
from maxmargin.data.source import Facts, Source
from maxmargin.data.tables.block_file import convert
from maxmargin.data.tables.source import TableSource
from maxmargin.errors import DataError, RefusedError, StoppedWhileReadingError
from maxmargin.loop.checkpoint import KIND, check_own, identity_in
from maxmargin.loop.interrupts import noticed, postponed, sharing
from maxmargin.loop.outcome import Outcome
from maxmargin.models.linear import LinearModel
from maxmargin.multiclass import Run, own_file, solve_all
from maxmargin.problems.losses import find_loss
from maxmargin.problems.stream import Stream, fingerprint_of
from maxmargin.problems.streamed import MoreClassesError, Streamed, TwoSides, find_shift
from maxmargin.results import Result
from maxmargin.settings.settings import Settings
from maxmargin.solvers import PASS_SOLVERS, find_solver
from maxmargin.status import Status
from maxmargin.system.buffers import tidy
from maxmargin.system.overwriting import holds_something
from maxmargin.system.temporary_files import temporary_folder
from maxmargin.training.blame import reason_of
from maxmargin.training.file_choice import choose_for_files, choose_for_path, first_rows, solver_by_passes
from maxmargin.training.file_passes import fit_files_by_passes, path_of_files_by_passes
from maxmargin.training.slow_progress import EndIfHopeless, ProgressWatch
from maxmargin.training.streamed_result import StreamedOutcome, StreamedTask, result_of


def fit_streamed(settings: Settings, files: Files) -> Result:
    """Train from files by dual steps, or by passes. Dual steps that are too slow are followed by passes."""
    name, why = choose_for_files(settings, files) if settings.solver == "auto" else (settings.solver, ASKED)
    if name in PASS_SOLVERS:
        return fit_files_by_passes(settings, files, name, why, settings.limits)
    other = goes_on_with(settings, files, name)
    if other is None:
        return fit_by_dual_steps(settings, files, name)
    reached = reached_by_passes(settings, files)
    if reached and settings.resume:
        return fit_files_by_passes(
            settings.changed(options=None), files, reached, why_gone_on(name, reached), settings.limits
        )
    watch = ProgressWatch(settings.tol, settings.callback)
    force = settings.force or reached is not None
    result = fit_by_dual_steps(settings.changed(callback=watch, force=force), files, name)
    if not (watch.slow or result.status is Status.STALLED):
        return result
    assert isinstance(result.model, LinearModel)
    other = solver_by_passes(settings, files, result.model.training["n"], result.model.d)
    if other is None:
        return fit_by_dual_steps(settings, files, name)  # the first rows had few features, and later ones too many
    return gone_on_by_passes(settings, files, result, other)


def path_streamed(settings: Settings, files: Files, Cs: Sequence[float]) -> list[Result]:
    """Train from files for each of the increasing C: all in the same passes, or one after the other by dual steps."""
    name, why = choose_for_path(settings, files) if settings.solver == "auto" else (settings.solver, ASKED)
    if name in PASS_SOLVERS:
        return path_of_files_by_passes(settings, files, name, why, Cs)
    found = list[Result]()
    with noticed() as interrupt:
        for C in Cs:
            if found and interrupt.is_set():
                break
            with sharing(interrupt):
                found.append(fit_by_dual_steps(settings.changed(C=C), files, name))
    return found


def reached_by_passes(settings: Settings, files: Files) -> str | None:
    """Return the solver by passes whose checkpoint it is, if it went on after dual steps on this file."""
    path = settings.keeping.checkpoint
    if path is None or not holds_something(path):
        return None
    identity = identity_in(path)
    solver = next((name for name, one in PASS_SOLVERS.items() if identity.get("solver") == repr(one)), None)
    wanted = {
        "file": files.identity, "loss": settings.loss, "C": settings.penalty(identity.get("n", 1)),
        "bias": settings.bias, "bias_scale": float(settings.bias_scale), "seed": int(settings.seed),
    }  # fmt: skip
    return solver if solver and all(identity.get(name) == value for name, value in wanted.items()) else None


def why_gone_on(first: str, name: str) -> str:
    """Return the reason for a solver that goes on after dual steps."""
    return f"began with {first}; its gap shrank too slowly, so {name} went on, Newton steps by passes over the file"


def goes_on_with(settings: Settings, files: Files, name: str) -> str | None:
    """Return the solver that goes on if dual steps are too slow; None if there is none."""
    if not getattr(find_solver(name, settings.options), "go_on", False):
        return None
    first = first_rows(settings, files)
    return solver_by_passes(settings, files, first.n, first.d)


def gone_on_by_passes(settings: Settings, files: Files, result: Result, name: str) -> Result:
    """Go on by passes from the model of dual steps. Its checkpoint replaces that of the dual steps, if there is one."""
    warm, path = result if len(result.parts) == 1 else None, settings.keeping.checkpoint
    kept = path if path is None or path.is_file() or not path.exists() else None  # a device could not be written
    rest = settings.changed(checkpoint=kept, resume=False, force=True, options=None, warm=warm)
    why, left = why_gone_on(result.solver, name), settings.limits.after(result.seconds)
    try:
        found = fit_files_by_passes(rest, files, name, why, left)
    except StoppedWhileReadingError as error:
        return stopped(result, Status.INTERRUPTED if error.interrupted else Status.TIME_LIMIT)
    if found.status in (Status.INTERRUPTED, Status.TIME_LIMIT) and found.certificate.gap > result.certificate.gap:
        return stopped(result, found.status)
    found.seconds, found.epochs = found.seconds + result.seconds, found.epochs + result.epochs
    found.history = [*result.history, *found.history]
    found.model.training["passes"] += result.model.training["passes"]
    return found


def stopped(result: Result, status: Status) -> Result:
    """Return the result of the dual steps, with the status of a run that was stopped after them."""
    result.status = status
    result.model.training["status"] = status.value
    return result


def fit_by_dual_steps(settings: Settings, files: Files, name: str) -> Result:
    """Train from files. Two classes are trained as they are read; with more, a pass finds all labels first."""
    method: Any = find_solver(name, settings.options)
    identity = files.identity if settings.checkpoint is not None else ""
    task = StreamedTask(settings, files.source, method, settings.limits, files.budget, settings.keeping, identity)
    began = time.perf_counter()
    with postponed(), as_blocks(task) as ready:  # the temporary block file is removed before a signal ends the process
        splitting = time.perf_counter() - began
        result = trained(replace(ready, limits=task.limits.after(splitting)))
    result.seconds += splitting
    result.model.training["splitting"] = splitting
    shift = next((part.shift for part in result.parts if isinstance(part, StreamedOutcome)), None)
    preparation = Preparation(files.source.name, settings.expansion, shift)
    result.reason = reason_of(result.status, files, preparation)
    return result


@contextmanager
def as_blocks(task: StreamedTask) -> Iterator[StreamedTask]:
    """Yield the task with its rows in a block file if the solver needs one; a temporary one is written if required."""
    facts = task.source.facts
    if not task.method.reads_blocks or (isinstance(task.source, TableSource) and facts and facts.ends is not None):
        yield task
        return
    with temporary_folder() as folder:
        path = folder / "blocks.arrow"
        convert(task.source, path)
        tidy()
        yield replace(task, source=open_source(path, capacity=task.budget.block))


def trained(task: StreamedTask) -> Result:
    """Train and return the result."""
    source = task.source
    facts = source.facts or (scan(source) if task.settings.lam is not None else None)
    strength = task.settings.penalty(facts.n if facts else 1)
    loss, scale = find_loss(task.settings.loss), float(task.settings.bias_scale)
    if loss.steepest == loss.largest_curvature == np.inf:
        raise RefusedError(
            f"loss={loss.name!r} is not for files that do not fit in memory: their certificates need a bound on its "
            "slope or its curvature"
        )
    problem = Streamed(source, strength, loss, task.settings.bias, scale, task.identity, expansion=task.expansion)
    began = time.perf_counter()
    with noticed() as interrupt:
        parts = two_classes(task, problem, interrupt) if not facts or len(facts.classes) < 3 else []
        if not parts:
            facts = facts or scan(source)
            parts = one_after_another(task, problem, facts.classes, interrupt, began)
    return result_of(task, problem, parts, facts.classes if facts and len(facts.classes) > 2 else None)


def two_classes(task: StreamedTask, problem: Streamed, interrupt: Event) -> list[StreamedOutcome]:
    """Train two classes and return the outcome; an empty list if a third class is found."""
    try:
        return solved(task, problem, [TwoSides(problem.source.name)], interrupt)
    except MoreClassesError:
        return []


def one_after_another(
    task: StreamedTask, problem: Streamed, classes: np.ndarray, interrupt: Event, began: float
) -> list[StreamedOutcome]:
    """Train each class against the rest, one after the other."""
    sides = [TwoSides(problem.source.name, label) for label in classes.tolist()]
    for number, side in enumerate(sides):
        own = own_file(task.keeping, number, len(sides))
        if own.checkpoint is not None and not own.force:
            identity = fingerprint_of(problem, side, repr(task.method), int(task.settings.seed))
            check_own(own.checkpoint, KIND, identity)
    left = task.limits.after(time.perf_counter() - began)
    return solved(replace(task, limits=left), problem, sides, interrupt)


def solved(task: StreamedTask, problem: Streamed, sides: list[TwoSides], interrupt: Event) -> list[StreamedOutcome]:
    """Solve the two-class problems one after the other. Of several, none keeps its α and only the first its marks."""
    settings, began = task.settings, time.perf_counter()

    def over() -> bool:
        limit = task.limits.max_seconds
        return interrupt.is_set() or (limit is not None and time.perf_counter() - began >= limit)

    def streams() -> Iterator[Stream]:
        shift = problem.shift
        for number, side in enumerate(sides):
            name = "" if len(sides) == 1 else f"{show(side.positive)} against the rest"
            own, described = own_file(task.keeping, number, len(sides)), replace(problem, name=name, shift=shift)
            stream = Stream(
                described, task.budget, side, threads=settings.thread_count, in_turns=task.method.reads_blocks
            )
            resumed = own.checkpoint is not None and own.resume and holds_something(own.checkpoint)
            if shift is None and not resumed:
                stream.shifted_by(find_shift(described, stream.most, over))
                tidy()  # the reader thread needs memory too
            yield stream
            shift = stream.shift  # the next problem uses the same shift

    def kept(part: int, stream: Stream, outcome: Outcome) -> StreamedOutcome:
        state: Any = stream.state
        marks = state.marks[: state.n] if part == 0 else state.marks[:0]
        alpha = outcome.alpha if len(sides) == 1 else np.zeros(0)
        return StreamedOutcome(
            **{**vars(outcome), "alpha": alpha}, sides=stream.sides, passes=stream.passes, marks=marks, d=state.d,
            nnz=stream.nnz, input_d=stream.input_d, shift=stream.shift,
        )  # fmt: skip

    run = Run(task.method, task.limits, int(settings.seed), settings.callback, interrupt, task.keeping, EndIfHopeless())
    return solve_all(streams(), len(sides), run, kept=kept)


def scan(source: Source) -> Facts:
    """Read all rows once, and return their number, the number of features and the labels."""
    n = d = 0
    seen: np.ndarray | None = None
    for block in source.blocks():
        n, d = n + len(block.labels), max(d, count_columns(block.rows))
        found = np.unique(block.labels)
        if seen is not None and (found.dtype.kind == "U") != (seen.dtype.kind == "U"):
            raise DataError(f"{source.name}: some labels are numbers and some are names: use one kind")
        seen = found if seen is None else np.unique(np.concatenate([seen, found]))
    assert seen is not None
    return Facts(n, d, seen)
