"""Training a linear classifier from files that do not fit in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np

from maxmargin.choose import ASKED
from maxmargin.data.block_order import ShuffledBlocks
from maxmargin.data.files import Files
from maxmargin.data.labels import show
from maxmargin.data.open_source import open_source
from maxmargin.data.rows import count_columns
from maxmargin.data.shared_reader import SharedReader
from maxmargin.data.source import Facts, Source
from maxmargin.data.tables.block_file import convert
from maxmargin.data.tables.source import TableSource
from maxmargin.errors import DataError, RefusedError, StoppedWhileReadingError
from maxmargin.loop.checkpoint import KIND, check_own, identity_in
from maxmargin.loop.interrupts import noticed, postponed, sharing
from maxmargin.loop.outcome import Outcome
from maxmargin.models.linear import LinearModel
from maxmargin.multiclass import Run, SharedRun, own_file, solve_all
from maxmargin.problems.losses import find_loss
from maxmargin.problems.stream import Stream, fingerprint_of
from maxmargin.problems.streamed import MoreClassesError, Streamed, TwoSides, find_shift
from maxmargin.results import Result
from maxmargin.settings.settings import Settings
from maxmargin.solvers import PASS_SOLVERS, find_solver
from maxmargin.solvers.passes.newton import LARGEST_MATRIX
from maxmargin.solvers.streaming.dual_variables import count_positive
from maxmargin.status import Status
from maxmargin.system.budget import LEAST, Budget, shown_size
from maxmargin.system.buffers import tidy
from maxmargin.system.overwriting import holds_something
from maxmargin.system.temporary_files import temporary_folder
from maxmargin.training.blame import reason_of
from maxmargin.training.file_choice import (
    FirstRows,
    by_newton_steps,
    choose_for_files,
    choose_for_path,
    cost_from_disk,
    first_rows,
)
from maxmargin.training.file_hints import hints_on_streamed
from maxmargin.training.file_passes import fit_files_by_passes, memory_for_matrices, path_of_files_by_passes
from maxmargin.training.slow_progress import EndIfHopeless, ProgressWatch
from maxmargin.training.streamed_result import StreamedOutcome, StreamedTask, class_counts, result_of

ROOM_OF_CLASS = 0.25  # least part of the memory of a class that is left for its cache of rows


def fit_streamed(settings: Settings, files: Files) -> Result:
    """Train from files by dual steps, or by passes. Dual steps that are too slow are followed by passes."""
    name, why = choose_for_files(settings, files) if settings.solver == "auto" else (settings.solver, ASKED)
    if name in PASS_SOLVERS:
        return fit_files_by_passes(settings, files, name, why, settings.limits)
    first = first_rows(settings, files)
    other = goes_on_with(settings, files, name, first)
    if other is None:
        return fit_by_dual_steps(settings, files, name)
    reached = reached_by_passes(settings, files)
    if reached and settings.resume:
        return fit_files_by_passes(
            settings.changed(options=None), files, reached, why_gone_on(name, reached), settings.limits
        )
    costs = [cost_from_disk(one, settings, files, first) for one in ("cached_loops", other)]
    watch = ProgressWatch(settings.tol, settings.callback, costs[1].total / costs[0].one)
    force = settings.force or reached is not None
    result = fit_by_dual_steps(settings.changed(callback=watch, force=force), files, name)
    if not (watch.slow or result.status is Status.STALLED):
        return result
    assert isinstance(result.model, LinearModel)
    other = by_newton_steps(settings, files, first._replace(n=result.model.training["n"], d=result.model.d))
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


def goes_on_with(settings: Settings, files: Files, name: str, first: FirstRows) -> str | None:
    """Return the solver that goes on if dual steps are too slow; None if there is none."""
    if not getattr(find_solver(name, settings.options), "go_on", False):
        return None
    return by_newton_steps(settings, files, first)


def gone_on_by_passes(settings: Settings, files: Files, result: Result, name: str) -> Result:
    """Go on by passes from the model of dual steps. Its checkpoint replaces that of the dual steps, if there is one."""
    warm, path = result if len(result.parts) == 1 else None, settings.keeping.checkpoint
    kept = path if path is None or path.is_file() or not path.exists() else None  # a device could not be written
    rest = settings.changed(checkpoint=kept, resume=False, force=True, options=None, warm=warm)
    why, left, began = why_gone_on(result.solver, name), settings.limits.after(result.seconds), time.perf_counter()
    try:
        found = fit_files_by_passes(rest, files, name, why, left)
    except StoppedWhileReadingError as error:
        return stopped(result, Status.INTERRUPTED if error.interrupted else Status.TIME_LIMIT, began)
    if found.status in (Status.INTERRUPTED, Status.TIME_LIMIT) and found.certificate.gap > result.certificate.gap:
        return stopped(result, found.status, began)
    found.seconds, found.epochs = found.seconds + result.seconds, found.epochs + result.epochs
    found.history = [*result.history, *found.history]
    found.model.training["passes"] += result.model.training["passes"]
    return found


def stopped(result: Result, status: Status, began: float) -> Result:
    """Return the result of the dual steps, with the status of a run that went on at `began` and was stopped."""
    result.status, result.seconds = status, result.seconds + time.perf_counter() - began
    result.model.training["status"] = status.value
    return result


def fit_by_dual_steps(settings: Settings, files: Files, name: str) -> Result:
    """Train from files. Two classes are trained as they are read; with more, a pass finds all labels first."""
    method: Any = find_solver(name, settings.options)
    identity = files.identity if settings.checkpoint is not None else ""
    task = StreamedTask(
        settings, files.source, method, settings.limits, files.budget, settings.keeping, identity, files.divisors
    )
    began = time.perf_counter()
    with postponed(), as_blocks(task) as ready:  # the temporary block file is removed before a signal ends the process
        splitting = time.perf_counter() - began
        result = trained(replace(ready, limits=task.limits.after(splitting)))
    if len(result.parts) > 1:  # they run at the same time
        elapsed = time.perf_counter() - began - splitting
        result.seconds = max(elapsed, *(part.seconds for part in result.parts))
    result.seconds += splitting
    result.model.training["splitting"] = splitting
    shift = next((part.shift for part in result.parts if isinstance(part, StreamedOutcome)), None)
    result.reason = reason_of(result.status, files, files.preparation(shift)) or more_memory(result, files)
    if (counts := class_counts(result)) is not None:
        result.hints = hints_on_streamed(result, counts, settings, files)
    return result


def more_memory(result: Result, files: Files) -> str:
    """Return the memory that Newton steps would need, if dual steps did not converge and that is missing; else ""."""
    needed = memory_for_matrices(result.model.d)
    if result.status is Status.CONVERGED or result.model.d > LARGEST_MATRIX or needed <= files.budget.total:
        return ""
    return f"Newton steps, which suit features that are not scaled, need a memory limit of {shown_size(needed)} or more"


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
    problem = Streamed(
        source, strength, loss, task.settings.bias, scale, task.identity, expansion=task.expansion,
        divisors=task.divisors,
    )  # fmt: skip
    began = time.perf_counter()
    with noticed() as interrupt:
        parts = two_classes(task, problem, interrupt) if not facts or len(facts.classes) < 3 else []
        if not parts:
            facts = facts or scan(source)
            parts = each_against_rest(task, problem, facts, interrupt, began)
    return result_of(task, problem, parts, facts.classes if facts and len(facts.classes) > 2 else None)


def two_classes(task: StreamedTask, problem: Streamed, interrupt: Event) -> list[StreamedOutcome]:
    """Train two classes and return the outcome; an empty list if a third class is found."""
    try:
        return solved(task, problem, [TwoSides(problem.source.name)], interrupt)
    except MoreClassesError:
        return []


def each_against_rest(
    task: StreamedTask, problem: Streamed, facts: Facts, interrupt: Event, began: float
) -> list[StreamedOutcome]:
    """Train each class against the rest, as many of them in the same passes as the memory allows."""
    sides = [TwoSides(problem.source.name, label) for label in facts.classes.tolist()]
    for number, side in enumerate(sides):
        own = own_file(task.keeping, number, len(sides))
        if own.checkpoint is not None and not own.force:
            identity = fingerprint_of(problem, side, repr(task.method), int(task.settings.seed))
            check_own(own.checkpoint, KIND, identity)
    left = task.limits.after(time.perf_counter() - began)
    count = classes_at_once(task.budget, facts.n, problem.features(facts.d), len(sides))
    return solved(replace(task, limits=left), problem, sides, interrupt, count)


def classes_at_once(budget: Budget, n: int, d: int, most: int) -> int:
    """Return how many classes can be trained in the same passes, each with an equal part of the memory."""
    for count in range(most, 1, -1):
        part = Budget(budget.total // count)
        if part.total >= LEAST and part.planned(n, d) >= ROOM_OF_CLASS * part.total:
            return count
    return 1


def solved(
    task: StreamedTask, problem: Streamed, sides: list[TwoSides], interrupt: Event, at_once: int = 1
) -> list[StreamedOutcome]:
    """Solve the two-class problems, `at_once` in the same passes. Of several, only the first keeps its marks."""
    settings, threads = task.settings, task.settings.thread_count
    if len(sides) == 1:
        run = Run(
            task.method, task.limits, int(settings.seed), settings.callback, interrupt, task.keeping, EndIfHopeless()
        )
        return solve_all(streams(task, problem, sides, interrupt), 1, run, kept=kept_of(sides))
    helpers = 0 if threads == 1 or task.method.reads_blocks else task.budget.parsers(threads)
    blocks = ShuffledBlocks(task.source, np.random.default_rng([int(settings.seed), 1]), helpers)
    part = replace(task, budget=Budget(task.budget.total // at_once))
    run = SharedRun(
        task.method, task.limits, int(settings.seed), settings.callback, interrupt, task.keeping, EndIfHopeless()
    )
    with SharedReader(blocks.blocks, len(sides), at_once, threads) as shared:
        problems = shared.ended_by_errors(streams(part, problem, sides, interrupt, shared))
        parts = solve_all(problems, len(sides), run, workers=at_once, kept=kept_of(sides))
    return [replace(one, passes=shared.passes if number == 0 else 0) for number, one in enumerate(parts)]


def streams(
    task: StreamedTask,
    problem: Streamed,
    sides: list[TwoSides],
    interrupt: Event,
    shared: SharedReader | None = None,
) -> Iterator[Stream]:
    """Yield the streamed problems. The first one finds the shift of far columns for all."""
    shift, began, threads = problem.shift, time.perf_counter(), task.settings.thread_count

    def over() -> bool:
        limit = task.limits.max_seconds
        return interrupt.is_set() or (limit is not None and time.perf_counter() - began >= limit)

    for number, side in enumerate(sides):
        name = "" if len(sides) == 1 else f"{show(side.positive)} against the rest"
        own, described = own_file(task.keeping, number, len(sides)), replace(problem, name=name, shift=shift)
        stream = Stream(described, task.budget, side, threads=threads, in_turns=task.method.reads_blocks, shared=shared)
        resumed = own.checkpoint is not None and own.resume and holds_something(own.checkpoint)
        if shift is None and not resumed:
            stream.shifted_by(find_shift(described, stream.most, over))
            tidy()  # the reader thread needs memory too
        yield stream
        shift = stream.shift  # the next problem uses the same shift


def kept_of(sides: list[TwoSides]) -> Callable[[int, Stream, Outcome], StreamedOutcome]:
    """Return the function that takes what is kept of a problem: of several, none keeps its α."""

    def kept(part: int, stream: Stream, outcome: Outcome) -> StreamedOutcome:
        state: Any = stream.state
        marks = state.marks[: state.n] if part == 0 else state.marks[:0]
        alpha = outcome.alpha if len(sides) == 1 else np.zeros(0)
        return StreamedOutcome(
            **{**vars(outcome), "alpha": alpha}, sides=stream.sides, passes=stream.passes, marks=marks,
            positives=count_positive(state.marks[: state.n]), d=state.d, nnz=stream.nnz, input_d=stream.input_d,
            shift=stream.shift,
        )  # fmt: skip

    return kept


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
