"""A checkpoint is a run written down: the solver's state, the random numbers to come, the best point and the history.

One safetensors file: arrays as tensors, the rest as JSON. Nothing in it is code. It belongs to one problem, one
solver and one seed, told apart by a fingerprint; resuming with another is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate
from maxmargin.errors import FileError
from maxmargin.kernel_problem import KernelProblem
from maxmargin.outcome import Reading, Record
from maxmargin.problem import Problem
from maxmargin.tensorfile import read_tensors, write_tensors

KIND = "checkpoint"


@dataclass(eq=False)
class Best:
    """The best model so far and the best bound so far."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    certificate: Certificate


@dataclass(eq=False)
class Run:
    """All that a run needs to go on as if nothing had happened."""

    state: Any
    rng: np.random.Generator
    best: Best | None = None
    next_certificate: float = 1.0
    ask: float = np.inf
    stale: int = 0
    ended: str = ""
    seconds: float = 0.0
    history: list[Record] = field(default_factory=list)


def save_run(path: Path, run: Run, identity: dict[str, Any]) -> None:
    """Write the run, atomically."""
    state = {item.name: getattr(run.state, item.name) for item in fields(run.state)}
    tensors = {f"state.{name}": value for name, value in state.items() if isinstance(value, np.ndarray)}
    words: dict[str, Any] = {
        "identity": identity,
        "state": {name: value for name, value in state.items() if not isinstance(value, np.ndarray)},
        "rng": run.rng.bit_generator.state,
        "loop": {
            "next_certificate": run.next_certificate,
            "ask": run.ask,
            "stale": run.stale,
            "ended": run.ended,
            "seconds": run.seconds,
        },
        "history": [asdict(record) for record in run.history],
    }
    if run.best:
        tensors |= {"best.w": run.best.w, "best.alpha": run.best.alpha}
        words["best"] = {"b": run.best.b, "certificate": asdict(run.best.certificate)}
    write_tensors(path, KIND, tensors, words)


def load_run(path: Path, state_type: type, identity: dict[str, Any]) -> Run:
    """Read a run, if it is one of this problem, solver and seed."""
    tensors, words = read_tensors(path, KIND)
    check_identity(path, words["identity"], identity)
    arrays = {name.removeprefix("state."): value for name, value in tensors.items() if name.startswith("state.")}
    rng = np.random.default_rng()
    rng.bit_generator.state = words["rng"]
    best = words.get("best")
    return Run(
        state_type(**arrays, **words["state"]),
        rng,
        Best(tensors["best.w"], best["b"], tensors["best.alpha"], Certificate(**best["certificate"])) if best else None,
        **words["loop"],
        history=[recall(record) for record in words["history"]],
    )


def check_identity(path: Path, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    """Refuse a run that is not the one which is asked for."""
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise FileError(
                f"{path}: the checkpoint is of another run: {name} was {theirs.get(name)!r}, now {value!r}; "
                "train with what it was made with, or without resuming"
            )


def recall(record: dict[str, Any]) -> Record:
    """A line of history as it was."""
    certificate, best = Certificate(**record["certificate"]), Certificate(**record["best"])
    reading = Reading(**record["reading"]) if record.get("reading") else None
    return Record(**{**record, "certificate": certificate, "best": best, "reading": reading})


def fingerprint(problem: Problem | KernelProblem, solver: str, seed: int) -> dict[str, Any]:
    """What makes this run this run: the data by digest, the problem and the solver by name."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (*problem.rows, *problem.numbers):
        digest.update(
            np.ascontiguousarray(array).data.cast("B") if isinstance(array, np.ndarray) else repr(array).encode()
        )
    return {**problem.words, "solver": solver, "seed": seed, "data": digest.hexdigest()}
