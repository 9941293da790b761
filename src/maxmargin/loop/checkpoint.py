"""Checkpoints: a saved run with the state of the solver and of the random generator, the best point and the history.

A checkpoint is one safetensors file, with arrays as tensors and the rest as JSON. It contains no code. It belongs to
one problem, one first solver and one seed, identified by a fingerprint; resuming another run from it is refused. It
also holds the names of the solvers that went on with the run (`loop/succession.py`); the state is that of the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import FileError, MaxmarginError
from maxmargin.loop.checkpoint_checks import (
    check_best,
    check_loop,
    check_objectives,
    check_passes,
    check_record,
    check_state,
)
from maxmargin.loop.record import Reading, Record
from maxmargin.loop.succession import Succession
from maxmargin.problems.certificate import Certificate, Certified
from maxmargin.solvers.base import Saves, Solver
from maxmargin.system.overwriting import check_replaces, holds_something, kind_of_tensors
from maxmargin.system.tensor_file import read_header, read_tensors, write_tensors

KIND = "checkpoint"
LOOP = (
    "next_certificate", "ask", "stale", "ended", "seconds", "earlier_visits", "first_record",
)  # numbers in RunState that belong to the loop  # fmt: skip


@dataclass(eq=False)
class RunState:
    """Everything needed to continue a run as if it had not been interrupted."""

    state: Any
    rng: np.random.Generator
    best: Certified | None = None  # w of the best model so far, alpha of the best bound so far
    next_certificate: float = 1.0
    ask: float = np.inf
    stale: int = 0
    ended: str = ""
    seconds: float = 0.0
    history: list[Record] = field(default_factory=list)
    solvers: tuple[str, ...] = ()  # the names of the solvers so far; the last one is running
    earlier_visits: int = 0  # row visits of the solvers before the running one
    first_record: int = 0  # place in the history where the running solver begins


def save_run(path: Path, run: RunState, solver: Solver, problem: Any, identity: dict[str, Any]) -> None:
    """Write the run atomically. Without rows in memory, the best model is left out: a pass certifies a point anew."""
    arrays, numbers = solver.saved(problem, run.state) if isinstance(solver, Saves) else parts_of(run.state)
    tensors = {f"state.{name}": value for name, value in arrays.items()}
    metadata: dict[str, Any] = {
        "identity": identity,
        "state": numbers,
        "rng": run.rng.bit_generator.state,
        "loop": {name: getattr(run, name) for name in LOOP},
        "history": [asdict(record) for record in run.history],
        "solvers": list(run.solvers),
    }
    if run.best and problem.rows_at_hand:
        tensors |= {"best.w": run.best.w, "best.alpha": run.best.alpha}
        metadata["best"] = {
            "b": run.best.b, "width": run.best.width, "solver_rounding": run.best.solver_rounding,
            "certificate": asdict(run.best.certificate),
        }  # fmt: skip
    write_tensors(path, KIND, tensors, metadata)


def parts_of(state: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Split a state, a dataclass of arrays and numbers, into the arrays and the numbers."""
    values = {item.name: getattr(state, item.name) for item in fields(state)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return arrays, {name: value for name, value in values.items() if name not in arrays}


def load_run(
    path: Path, first: Solver, problem: Any, identity: dict[str, Any], succession: Succession | None = None
) -> tuple[RunState, Solver]:
    """Read a run that began with the solver `first`, and find the solver that was running.

    Refuse it if its problem, solver or seed differs, or if its parts do not match a fresh state.
    """
    tensors, metadata = read_tensors(path, KIND)
    with refusing(path):
        check_identity(path, metadata["identity"], identity)
        solver, solvers = running_solver(path, first, problem, metadata["solvers"], succession)
        arrays = {name.removeprefix("state."): value for name, value in tensors.items() if name.startswith("state.")}
        numbers = metadata["state"]
        if isinstance(solver, Saves):
            if not problem.immediate:
                top = float(problem.described.loss.dual_term(np.full(1, problem.described.C)).U[0])
                check_passes(arrays, numbers, top)
            state = solver.restored(problem, arrays, numbers)
        else:
            fresh = solver.start(problem)
            check_state(fresh, arrays, numbers, problem)
            state = type(fresh)(**arrays, **numbers)
        rng = np.random.default_rng()
        rng.bit_generator.state = metadata["rng"]
        run = RunState(state, rng, solvers=solvers)
        check_loop(metadata["loop"], {name: getattr(run, name) for name in LOOP})
        run.history = [recall(record) for record in metadata["history"]]
        if problem.rows_at_hand:
            run.best = best_in(tensors, metadata, problem)
            if run.history and not run.best:
                raise ValueError("it has certificates and no best model")
        run = replace(run, **metadata["loop"])
        if not problem.immediate:
            run.stale = 0  # the best model was not saved, so there is nothing to compare with
        if run.first_record > len(run.history):
            raise ValueError(f"first_record is {run.first_record}")
        return run, solver


def running_solver(
    path: Path, first: Solver, problem: Any, names: list[str], succession: Succession | None
) -> tuple[Solver, tuple[str, ...]]:
    """Return the last solver of a saved run and the names of all, by following the succession from the first one."""
    solver = first
    tried: tuple[str, ...] = (first.name,)
    while succession is not None and len(tried) < len(names):
        follower = succession.follower(problem, tried)
        if follower is None:
            break
        solver, tried = follower, (*tried, follower.name)
    if list(tried) != names:
        raise FileError(
            f"{path}: the checkpoint is of a run that went on with {names[-1]!r}: resume with solver='auto', "
            "with which it began"
        )
    return solver, tried


def best_in(tensors: dict[str, np.ndarray], metadata: dict[str, Any], problem: Any) -> Certified | None:
    """Return the best model in a checkpoint, if there is one."""
    best = metadata.get("best")
    if not best:
        return None
    check_objectives(best["certificate"])
    certificate, width, rounding = Certificate(**best["certificate"]), best["width"], best.get("solver_rounding", 0.0)
    found = Certified(
        tensors["best.w"], float(best["b"]), tensors["best.alpha"], certificate, width=float(width),
        solver_rounding=float(rounding),
    )  # fmt: skip
    check_best(found.w, found.b, found.alpha, certificate, problem)
    return found


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn errors in the block into a one-line refusal of a checkpoint that maxmargin has not written."""
    try:
        yield
    except MaxmarginError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        why = " ".join(str(error).split())
        raise FileError(
            f"{path}: the checkpoint was not written by maxmargin ({why}): train without resuming, with --force "
            "(force=True) to replace it"
        ) from error


def check_own(path: Path, kind: str, identity: dict[str, Any]) -> None:
    """Refuse to replace anything but a checkpoint of this run."""
    if not holds_something(path):
        return
    check_replaces(path, f"a maxmargin {kind}", lambda file: kind_of_tensors(file) == kind)
    with refusing(path):
        check_identity(path, json.loads(read_header(path)["words"])["identity"], identity)


def identity_in(path: Path) -> dict[str, Any]:
    """Return the identity of the run in a checkpoint; empty if the file is none."""
    if kind_of_tensors(path) != KIND:
        return {}
    with refusing(path):
        found = json.loads(read_header(path)["words"])["identity"]
        return found if isinstance(found, dict) else {}


def check_identity(path: Path, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    """Refuse a checkpoint of another run."""
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise FileError(
                f"{path}: the checkpoint is of another run: {name} was {theirs.get(name)!r}, now {value!r}; "
                "name another file, or --force (force=True) without resume"
            )


def recall(record: dict[str, Any]) -> Record:
    """Return a line of history, restored from JSON."""
    check_record(record)
    certificate, best = Certificate(**record["certificate"]), Certificate(**record["best"])
    reading = Reading(**record["reading"]) if record.get("reading") else None
    return Record(**{**record, "certificate": certificate, "best": best, "reading": reading})
