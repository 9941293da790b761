"""The result of streamed training: one model from the outcomes of the two-class problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin.choose import ASKED
from maxmargin.data.expand import Expansion
from maxmargin.data.far_columns import Shift
from maxmargin.data.file_labels import as_whole
from maxmargin.data.labels import check_kept, sides
from maxmargin.data.source import Source
from maxmargin.errors import DataError
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.loop.stopping import Limits
from maxmargin.models.linear import LinearModel
from maxmargin.problems.certificate import Certificate, summed
from maxmargin.problems.streamed import Streamed, TwoSides
from maxmargin.results import Result, together
from maxmargin.settings.settings import Settings
from maxmargin.solvers.streaming.dual_variables import POSITIVE
from maxmargin.system.budget import Budget
from maxmargin.system.buffers import forget
from maxmargin.training.file_choice import CACHED_LOOPS
from maxmargin.training.support import support_of


@dataclass(frozen=True, eq=False)
class StreamedTask:
    """The settings, the rows to stream with the divisors of their features, and the solver with its limits."""

    settings: Settings
    source: Source
    method: Any  # a streaming solver
    limits: Limits
    budget: Budget
    keeping: Keeping
    identity: str
    divisors: np.ndarray | None = None

    @property
    def expansion(self) -> Expansion | None:
        """The expansion of the features, if any."""
        return self.settings.expansion


@dataclass(eq=False)
class StreamedOutcome(Outcome):
    """The outcome of a streamed run, also its labels, passes and sizes; `marks` tell which examples are positive.

    `positives` is the number of positive examples, also where there are no marks.
    """

    sides: TwoSides = field(kw_only=True)
    passes: int = field(kw_only=True)
    marks: np.ndarray = field(repr=False, kw_only=True)
    positives: int = field(kw_only=True)
    d: int = field(kw_only=True)
    nnz: int = field(kw_only=True)
    input_d: int = field(kw_only=True)
    shift: Shift | None = field(kw_only=True)


def result_of(
    task: StreamedTask, problem: Streamed, parts: list[StreamedOutcome], classes: np.ndarray | None
) -> Result:
    """Combine the outcomes into one result."""
    if classes is None:
        parts = [oriented(parts[0])]
        classes = np.array(sorted(parts[0].sides.seen)) if len(parts[0].sides.seen) == 2 else None
    if classes is None:
        raise DataError(f"{task.source.name}: stopped before two classes were seen: give it more time")
    classes = as_whole(classes) if classes.dtype.kind == "f" else classes
    check_kept(classes)
    shift = next((part.shift for part in parts if part.shift), None)
    parts = [around(part, shift) for part in parts]
    d, first = max(part.d for part in parts), parts[0]
    expand = {"expand": task.expansion.text, "input_d": max(part.input_d for part in parts)} if task.expansion else {}
    support, signed = np.zeros(0, dtype=np.intp), np.zeros((len(parts), 0))
    if len(parts) == 1:
        support, signed = support_of(signed_alpha(first), len(first.alpha), task.budget)
    training = {
        **task.settings.summary(), "options": vars(task.method).copy(), "loss": task.settings.loss,
        "bias_scale": float(task.settings.bias_scale), "solver": task.method.name, "C": problem.C,
        "n": len(first.marks), "d": d, "nnz": first.nnz, "passes": sum(part.passes for part in parts),
        "memory": task.budget.total, **expand,
    }  # fmt: skip
    model = LinearModel(
        classes,
        weights(parts, d),
        np.array([part.b for part in parts]),
        support,
        signed,
        summed(part.certificate for part in parts),
        training,
        shift.centre(d) if shift else None,
    )
    assert len(sides(classes)) == len(parts)
    result = together(model, parts, task.method.name, CACHED_LOOPS if task.settings.solver == "auto" else ASKED)
    model.training |= {"status": result.status.value, "epochs": result.epochs}
    return result


def around(part: StreamedOutcome, shift: Shift | None) -> StreamedOutcome:
    """Convert an outcome that ended before the shift was known to shifted rows. Its primal is no longer certified."""
    if shift is None or part.shift is not None:
        return part
    b = part.b + float(np.sum(part.w[shift.columns] * shift.values))
    return replace(part, b=b, certificate=Certificate(np.inf, part.certificate.dual))


def class_counts(result: Result) -> np.ndarray | None:
    """Return the rows of each class; None if a class was not trained."""
    parts = [part for part in result.parts if isinstance(part, StreamedOutcome)]
    if len(parts) == 1 == len(result.parts):
        return np.array([len(parts[0].marks) - parts[0].positives, parts[0].positives])
    return np.array([part.positives for part in parts]) if len(parts) == len(result.parts) else None


def weights(parts: list[StreamedOutcome], d: int) -> np.ndarray:
    """Return one row of weights for each outcome, 0 for features that it has not seen. A single row is not copied."""
    if len(parts) == 1 and len(parts[0].w) == d:
        return parts[0].w[None, :]
    rows = np.zeros((len(parts), d))
    for row, part in zip(rows, parts, strict=True):
        row[: len(part.w)] = part.w
    return rows


def oriented(part: StreamedOutcome) -> StreamedOutcome:
    """Make the class that sorts second the positive one. Signs change in place, since memory may not hold a copy."""
    if len(part.sides.seen) == 2 and part.sides.turned:
        np.negative(part.w, out=part.w)
        np.bitwise_xor(part.marks, POSITIVE, out=part.marks)
        return replace(part, b=-part.b, positives=len(part.marks) - part.positives)
    return part


def signed_alpha(part: StreamedOutcome) -> Callable[[slice], np.ndarray]:
    """Return a function that returns α times the label ±1 of some examples; α may be in a file."""

    def signed(piece: slice) -> np.ndarray:
        alpha = part.alpha[piece]
        found = np.where(part.marks[piece] & POSITIVE, alpha, -alpha)
        forget(part.alpha)
        return found

    return signed
