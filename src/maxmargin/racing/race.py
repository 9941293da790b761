"""A race: several solvers run one after the other on one problem, and are timed.

A lap is one run of `solve` without a warm start. Before it, the solver runs briefly on a few of the rows, so that
compilation is not timed. At each certificate the clock stops while the best model so far is tested on held-out rows.

All laps solve the same problem, so the highest dual objective of any lap is a lower bound for the objectives of all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from maxmargin.choose import choose
from maxmargin.data.columns import shifted, widened
from maxmargin.data.encoding.frames import encoded_frame, is_table
from maxmargin.data.examples import Examples
from maxmargin.data.files import is_file
from maxmargin.data.labels import check_length, show, signs
from maxmargin.data.passes import scores
from maxmargin.data.pick import pick
from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.data.take import take
from maxmargin.errors import DataError, MaxmarginError, ParameterError, RefusedError
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.record import Record
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.certificate import Certified
from maxmargin.problems.linear import Problem, pose
from maxmargin.settings.parameters import IN_A_RACE, PARAMETERS
from maxmargin.settings.settings import Settings, settings_of
from maxmargin.solvers import STREAMING_SOLVERS, find_solver
from maxmargin.solvers.base import Solver
from maxmargin.system.values import is_number
from maxmargin.training.linear import weights_of
from maxmargin.training.train import examples_for, files_for

FEW = 64  # rows to warm up on
CLASSES_SHOWN = 8
TOL = 1e-6
LAP_SECONDS = 10.0
STREAMED = "reads its rows from files while it trains, and a race holds them in memory"

Callback = Callable[[str, Record], Any]


@dataclass(frozen=True)
class Moment:
    """One point of a curve: objective, dual bound, relative gap and test error of the best model so far."""

    seconds: float
    epochs: float
    objective: float
    bound: float
    gap: float
    test_error: float | None


@dataclass(eq=False)
class Lap:
    """The run of one solver. If the solver refused the problem, there is a `refusal` and no outcome."""

    name: str
    solver: str
    options: dict[str, Any]
    outcome: Outcome | None = field(default=None, repr=False)
    curve: list[Moment] = field(default_factory=list, repr=False)
    refusal: str = ""

    def reached(self, gap: float) -> float | None:
        """Return the seconds until the relative gap was at most `gap`; None if it never was."""
        return next((moment.seconds for moment in self.curve if moment.gap <= gap), None)


@dataclass(eq=False)
class Race:
    """All laps. `facts` describes the problem: data, sizes, loss, C, bias, seed, and the number of test rows."""

    laps: list[Lap]
    facts: dict[str, Any]
    interrupted: bool = False

    @property
    def finishers(self) -> list[Lap]:
        """The laps of solvers that did not refuse the problem."""
        return [lap for lap in self.laps if lap.outcome]

    @property
    def bound(self) -> float:
        """The highest dual objective of all laps: no model has an objective below it."""
        return max((lap.outcome.certificate.dual for lap in self.laps if lap.outcome), default=-np.inf)

    @property
    def title(self) -> str:
        """The problem of the race in one line."""
        facts = self.facts
        where = f"{Path(facts['data']).name}: " if facts["data"] else ""
        sizes = f"{facts['n']:,} × {facts['d']:,}"
        return f"{where}{sizes}, {facts['loss']} loss, bias {facts['bias']}, C = {facts['C']:g}"

    def above(self, objective: float) -> float:
        """Return (objective − bound) / bound, which bounds the distance from the optimum; infinite if bound ≤ 0."""
        return max(objective - self.bound, 0.0) / self.bound if self.bound > 0 else np.inf

    def draw(self, path: str | Path, force: bool = False) -> None:
        """Draw the curves into a file: .png, .svg, .pdf or another format that matplotlib can write.

        Only a picture may be replaced; with `force` any file.
        """
        from maxmargin.racing.plot import draw

        draw(self, path, force)


def race(
    X: Any,
    y: Any = None,
    *,
    solvers: Iterable[str | tuple[str, dict[str, Any]]],
    test: Any = None,
    holdout: float = 0.2,
    positive: Any = None,
    **parameters: Any,
) -> Race:
    """Run solvers one after another on the same problem, and record their convergence curves.

    Parameters
    ----------
    X, y : as in `train`
    solvers : names, or pairs of a name and its options, such as ("pegasos", {"batch": 32})
    test : test set: the path of a file, or a pair (X, y)
    holdout : without `test`, the fraction of the rows that is held out as test set; 0 for none
    positive : the positive class, against the rest; required with more than two classes
    **parameters : parameters of `train` for a linear classifier on rows in memory: loss, C, lam, bias, bias_scale,
        weights, class_weight, seed, threads, and those for reading files. `tol`, 1e-6 by default, `max_seconds`, 10 by
        default, and `max_epochs` end a lap. `callback` is called with the name of the lap and a `Record`; a true
        return value ends the race

    Returns
    -------
    Race
        with `laps`, `bound`, `facts`, `interrupted` and `draw`.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [0, 0, 1, 1]
    >>> laps = maxmargin.race(X, y, solvers=["dual_pairs", "newton"], holdout=0).laps
    >>> [(lap.name, "refused" if lap.refusal else lap.outcome.status.name) for lap in laps]
    [('dual_pairs', 'CONVERGED'), ('newton', 'refused')]
    """
    for name in parameters:
        if name in PARAMETERS and name not in IN_A_RACE:
            raise ParameterError(f"race takes no {name}: it compares solvers of linear classifiers on rows in memory")
    settings = settings_of("race", X, parameters, tol=TOL, max_seconds=LAP_SECONDS).changed(y=y)
    entrants, threads, seed = checked_entrants(solvers), settings.thread_count, int(settings.seed)
    check_holdout(holdout)
    data = examples_for(settings)
    name = named(X, "y")
    side = side_of(data.classes, positive, name)
    rows, signed, weights = data.rows, signs(data.codes, side), weights_of(data, settings)
    unseen: Unseen | None = None
    if test is not None:
        unseen = taken_test(test, data, side, count_columns(rows), settings)
    else:
        away = held_out(signed, holdout, seed)
        if away.any():
            unseen = Unseen(picked(rows, away), signed[away], threads)
            rows, signed, weights = picked(rows, ~away), signed[~away], None if weights is None else weights[~away]
    problem = pose(
        rows, signed, loss=settings.loss, C=settings.C, lam=settings.lam, weights=weights, bias=settings.bias,
        bias_scale=settings.bias_scale, threads=threads,
    )  # fmt: skip
    if unseen is not None and problem.centre is not None:
        unseen = replace(unseen, rows=shifted(widened(unseen.rows, problem.d), problem.centre))
    facts = {
        "data": named(X, ""), "n": problem.n, "d": problem.d, "nnz": problem.nnz,
        "tested": len(unseen.y) if unseen else 0, "positive": show(data.classes[side]),
        "loss": settings.loss, "C": settings.penalty(problem.n), "bias": settings.bias,
        "bias_scale": float(settings.bias_scale), "tol": float(settings.tol), "seed": seed,
    }  # fmt: skip
    laps, interrupted = run_all(problem, entrants, settings.limits, unseen, seed, settings.callback)
    if all(lap.refusal for lap in laps):
        raise RefusedError(f"no solver takes this problem: {'; '.join(lap.refusal for lap in laps)}")
    return Race(laps, facts, interrupted)


def run_all(
    problem: Problem,
    entrants: list[tuple[str, dict[str, Any]]],
    limits: Limits,
    unseen: Unseen | None,
    seed: int,
    callback: Callback | None,
) -> tuple[list[Lap], bool]:
    """Run one lap after the other. Return the laps, and whether an interrupt ended the race."""
    found = [(name if name != "auto" else choose(problem)[0], options) for name, options in entrants]
    ready = [find_solver(name, options) for name, options in found]
    laps = [
        Lap(label(asked, name, options), name, options)
        for (asked, _), (name, options) in zip(entrants, found, strict=True)
    ]
    with noticed() as interrupt:
        for number, (lap, solver) in enumerate(zip(laps, ready, strict=True), 1):
            run(lap, problem, solver, limits, unseen, seed, callback, interrupt)
            if interrupt.is_set():
                return laps[:number], True
    return laps, False


def run(
    lap: Lap,
    problem: Problem,
    solver: Solver,
    limits: Limits,
    unseen: Unseen | None,
    seed: int,
    callback: Callback | None,
    interrupt: Event,
) -> None:
    """Compile the solver's code by a short run, then run and time one lap."""

    def watch(record: Record, found: Certified) -> None:
        error = lap.curve[-1].test_error if lap.curve else None
        if unseen and record.certificate.primal <= record.best.primal:
            error = unseen.error(found.w, found.b)
        best = record.best
        lap.curve.append(Moment(record.seconds, record.epochs, best.primal, best.dual, best.relative_gap, error))

    def tell(record: Record) -> Any:
        return callback(lap.name, record) if callback else None

    if solver.name in STREAMING_SOLVERS:
        lap.refusal = f"{solver.name} {STREAMED}: race solvers in memory, or train with solver={solver.name!r}"
        return
    try:
        warm_up(problem, solver, interrupt)
        lap.outcome = solve(problem, solver, limits, seed=seed, callback=tell, interrupt=interrupt, watch=watch)
    except MaxmarginError as error:
        lap.refusal = str(error) if str(error).startswith(solver.name) else f"{lap.name}: {error}"


def warm_up(problem: Problem, solver: Solver, interrupt: Event) -> None:
    """Run the solver once on a few rows of the same storage, to compile it; on all rows if it refuses a few."""
    try:
        solve(few(problem), solver, Limits(max_epochs=2.0), interrupt=interrupt)
    except MaxmarginError:
        solve(problem, solver, Limits(max_epochs=1e-9), interrupt=interrupt)


def few(problem: Problem) -> Problem:
    """Return the problem on a few rows of both classes, in the same storage."""
    mask = np.zeros(problem.n, dtype=bool)
    for sign in (-1, 1):
        mask[np.flatnonzero((problem.y == sign) & (problem.C > 0))[: FEW // 2]] = True
    return replace(problem, rows=picked(problem.rows, mask), y=problem.y[mask], C=problem.C[mask])


@dataclass(frozen=True, eq=False)
class Unseen:
    """The test set."""

    rows: Rows
    y: np.ndarray
    threads: int

    def error(self, w: np.ndarray, b: float) -> float:
        """Return the fraction of rows that the model (w, b) classifies wrongly."""
        values = scores(self.rows, w[: count_columns(self.rows)], self.threads) + b
        return float(np.mean(signs(values > 0, True) != self.y))


def taken_test(test: Any, data: Examples, side: int, d: int, settings: Settings) -> Unseen:
    """Return the test set that the caller gave. Its labels must be those of the training data."""
    name, threads, classes = named(test, "test"), settings.thread_count, data.classes
    try:
        X, y = (test, None) if is_path(test) else test
    except (TypeError, ValueError):
        raise ParameterError("test must be the path of a file, or a pair (X, y)") from None
    if is_file(X):
        rows, y = files_for(settings.changed(X=X, y=y), data.encoder).read()
    else:
        rows = encoded_frame(data.encoder, X, "test") if data.encoder is not None and is_table(X) else take(X)
    if count_columns(rows) > d:
        raise DataError(
            f"{name} has {count_columns(rows)} features, but the training data have {d}: prepare both in the same way"
        )
    y = check_length(y, count_rows(rows))
    if not len(y):
        raise DataError(f"{name} has 0 rows: there is nothing to test on")
    right = same(y, classes[side])
    strange = ~right & ~same(y, classes[1 - side]) if len(classes) == 2 else np.zeros(len(y), dtype=bool)
    if strange.any():
        raise DataError(f"{name} has the label {show(y[strange][0])}, the training data only {shown(classes)}")
    return Unseen(rows, signs(right, True), threads)


def held_out(y: np.ndarray, part: float, seed: int) -> np.ndarray:
    """Return a mask of the held-out examples: a random fraction `part` of each class, but never a whole class."""
    away = np.zeros(len(y), dtype=bool)
    rng = np.random.default_rng(seed)
    for sign in (-1, 1) if part else ():
        own = rng.permutation(np.flatnonzero(y == sign))
        away[own[: min(max(round(part * len(own)), 1), len(own) - 1)]] = True
    return away


def picked(rows: Rows, mask: np.ndarray) -> Rows:
    """Return the rows of a mask, in the same order and storage."""
    return pick(rows, np.flatnonzero(mask))


def side_of(classes: np.ndarray, positive: Any, name: str) -> int:
    """Return the number of the positive class."""
    if positive is None:
        if len(classes) > 2:
            raise DataError(
                f"{name} holds {len(classes)} classes ({shown(classes)}) and a race is of two: "
                "say which one is against the rest, positive=LABEL (--positive LABEL)"
            )
        return 1
    found = np.flatnonzero(same(classes, positive))
    if not found.size:
        raise ParameterError(f"positive={show(positive)} is no class of {name}: choose one of {shown(classes)}")
    return int(found[0])


def same(labels: np.ndarray, label: Any) -> np.ndarray:
    """Return a mask of the labels equal to `label`: as numbers if they are numbers (+1 equals 1.0), else as text."""
    if labels.dtype.kind in "biuf":
        try:
            return np.asarray(labels == float(label))
        except ValueError:
            return np.zeros(len(labels), dtype=bool)
    return np.array([show(one) == show(label) for one in labels.tolist()], dtype=bool)


def shown(classes: np.ndarray) -> str:
    """Return the first few classes as text."""
    return ", ".join(map(show, classes[:CLASSES_SHOWN])) + (", ..." if len(classes) > CLASSES_SHOWN else "")


def is_path(X: Any) -> bool:
    """Whether X is the path of a file."""
    return isinstance(X, (str, os.PathLike))


def named(X: Any, otherwise: str) -> str:
    """Return the path if X is one, else `otherwise`."""
    return os.fspath(X) if is_path(X) else otherwise


def label(asked: str, name: str, options: dict[str, Any]) -> str:
    """Return the name of a lap: the solver with its options."""
    words = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in options.items()]
    return " ".join([name if asked == name else f"{asked} ({name})", *words])


def checked_entrants(solvers: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return names with options. Unknown solvers are refused now, before a long file is read."""
    entrants = []
    for given in [solvers] if isinstance(solvers, str) else solvers:
        try:
            name, options = (given, {}) if isinstance(given, str) else given
            entrants.append((name, dict(options)))
        except (TypeError, ValueError):
            raise ParameterError(f"solvers has {given!r}: give a name, or a pair of a name and its options") from None
        if name != "auto":
            find_solver(*entrants[-1])
    if not entrants:
        raise ParameterError("solvers is empty: name those that are to race")
    return entrants


def check_holdout(holdout: Any) -> None:
    """Refuse anything but a fraction from 0 to below 1."""
    if not (is_number(holdout) and 0 <= holdout < 1):
        raise ParameterError(f"holdout={holdout!r} must be a number from 0 to below 1: the part of the rows to test on")
