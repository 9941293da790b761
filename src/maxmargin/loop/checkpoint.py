"""A checkpoint is a run written down: the solver's state, the random numbers to come, the best point and the history.

One safetensors file: arrays as tensors, the rest as JSON. Nothing in it is code. It belongs to one problem, one
solver and one seed, told apart by a fingerprint; resuming with another is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import FileError, MaxmarginError
from maxmargin.loop.checkpoint_checks import check_best, check_loop, check_objectives, check_record, check_state
from maxmargin.loop.record import Reading, Record
from maxmargin.problems.certificate import Certificate, Certified
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.system.overwriting import check_replaces, holds_something, kind_of_tensors
from maxmargin.system.tensor_file import read_header, read_tensors, write_tensors

KIND = "checkpoint"
LOOP = ("next_certificate", "ask", "stale", "ended", "seconds")  # what a run keeps for the loop


@dataclass(eq=False)
class RunState:
    """All that a run needs to go on as if nothing had happened."""

    state: Any
    rng: np.random.Generator
    best: Certified | None = None  # the best model so far with its w, and the best bound with its alpha
    next_certificate: float = 1.0
    ask: float = np.inf
    stale: int = 0
    ended: str = ""
    seconds: float = 0.0
    history: list[Record] = field(default_factory=list)


def save_run(path: Path, run: RunState, identity: dict[str, Any]) -> None:
    """Write the run, atomically."""
    state = {item.name: getattr(run.state, item.name) for item in fields(run.state)}
    tensors = {f"state.{name}": value for name, value in state.items() if isinstance(value, np.ndarray)}
    metadata: dict[str, Any] = {
        "identity": identity,
        "state": {name: value for name, value in state.items() if not isinstance(value, np.ndarray)},
        "rng": run.rng.bit_generator.state,
        "loop": {name: getattr(run, name) for name in LOOP},
        "history": [asdict(record) for record in run.history],
    }
    if run.best:
        tensors |= {"best.w": run.best.w, "best.alpha": run.best.alpha}
        metadata["best"] = {"b": run.best.b, "width": run.best.width, "certificate": asdict(run.best.certificate)}
    write_tensors(path, KIND, tensors, metadata)


def load_run(path: Path, fresh: Any, problem: Problem | KernelProblem, identity: dict[str, Any]) -> RunState:
    """Read a run, if it is one of this problem, solver and seed; its parts must be like those of a `fresh` state."""
    tensors, metadata = read_tensors(path, KIND)
    with refusing(path):
        check_identity(path, metadata["identity"], identity)
        arrays = {name.removeprefix("state."): value for name, value in tensors.items() if name.startswith("state.")}
        check_state(fresh, arrays, metadata["state"], problem)
        rng = np.random.default_rng()
        rng.bit_generator.state = metadata["rng"]
        run = RunState(type(fresh)(**arrays, **metadata["state"]), rng)
        check_loop(metadata["loop"], {name: getattr(run, name) for name in LOOP})
        best = metadata.get("best")
        if best:
            check_objectives(best["certificate"])
            certificate = Certificate(**best["certificate"])
            width = float(best["width"])
            run.best = Certified(tensors["best.w"], float(best["b"]), tensors["best.alpha"], certificate, width=width)
            check_best(run.best.w, run.best.b, run.best.alpha, certificate, problem)
        history = [recall(record) for record in metadata["history"]]
        if history and not best:
            raise ValueError("it has certificates and no best model")
        return replace(run, **metadata["loop"], history=history)


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Refuse, in one line, a checkpoint whose content is not what maxmargin writes."""
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


def check_identity(path: Path, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    """Refuse a run that is not the one which is asked for."""
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise FileError(
                f"{path}: the checkpoint is of another run: {name} was {theirs.get(name)!r}, now {value!r}; "
                "name another file, or --force (force=True) without resume"
            )


def recall(record: dict[str, Any]) -> Record:
    """A line of history as it was."""
    check_record(record)
    certificate, best = Certificate(**record["certificate"]), Certificate(**record["best"])
    reading = Reading(**record["reading"]) if record.get("reading") else None
    return Record(**{**record, "certificate": certificate, "best": best, "reading": reading})


def fingerprint(problem: Problem | KernelProblem, solver: str, seed: int) -> dict[str, Any]:
    """What makes this run this run: the data by digest, the problem and the solver by name."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (*problem.rows, *problem.arrays):
        digest.update(
            np.ascontiguousarray(array).data.cast("B") if isinstance(array, np.ndarray) else repr(array).encode()
        )
    return {**problem.summary, "solver": solver, "seed": seed, "data": digest.hexdigest()}
