"""The result of training: a model, its certificate, and how training went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.data.columns import column_to_blame
from maxmargin.data.examples import Examples
from maxmargin.data.labels import sides, signs
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.record import Record
from maxmargin.models.linear import LinearModel, Model
from maxmargin.models.notebooks import html_table, model_rows
from maxmargin.problems.certificate import Certificate, summed
from maxmargin.status import SEVERITY, Status


@dataclass(eq=False)
class Result:
    """The result of training.

    `alpha` has one dual variable for each example; for more than two classes, one row for each class, or with a kernel
    for each pair of classes. `parts` holds the outcome of each two-class problem, one for each row of `alpha`.
    `certificate`, `seconds` and `epochs` are sums over the parts, and `status` is the worst of theirs. With
    `probability`, `seconds` and `status` include the fits for the probabilities. With `approx`, `seconds` includes the
    computation of the features.
    """

    model: Model
    certificate: Certificate
    status: Status
    history: list[Record] = field(repr=False)
    alpha: np.ndarray = field(repr=False)
    solver: str
    why: str
    seconds: float
    epochs: float
    parts: list[Outcome] = field(repr=False)
    reason: str = ""  # the particular cause of the status, if known: a column, or a memory limit
    hints: list[str] = field(default_factory=list, repr=False)  # on limits, and on data that were read from files

    @property
    def advice(self) -> str:
        """What the status means and what to do."""
        if self.reason:
            return f"{self.status.advice} Here {self.reason}."
        waiting = sum(part.epochs == 0 and part.status is not Status.CONVERGED for part in self.parts)
        if not waiting:
            return self.status.advice
        return f"{self.status.advice} {waiting} of {len(self.parts)} classes had not begun and decide by nothing yet."

    def _repr_html_(self) -> str:
        """Return the result as a small table, for notebooks."""
        rows = [
            ("status", f"{self.status.value} after {self.seconds:.3g} s and {self.epochs:.3g} epochs"),
            ("objective", f"{self.certificate.primal:.8g}, at least {self.certificate.dual:.8g}"),
            *model_rows(self.model),
            ("solver", f"{self.solver}: {self.why}"),
            *([] if self.status is Status.CONVERGED else [("advice", self.advice)]),
        ]
        return html_table("Result", rows)

    def plot(self, name: str | None = None, X: Any = None, y: Any = None) -> Any:
        """Return a picture of the result's report (see `report`), which notebooks show.

        Without a name it is the convergence of the gap or, with rows X and their labels y, the first that the report
        has. It needs `pip install 'maxmargin[report]'`.
        """
        import maxmargin

        return maxmargin.report(self, X, y).picture(name)

    def weights(self) -> Any:
        """Return the weights with the names of their columns, in the units of the data.

        A pandas or polars frame if one of these is imported, else a list of named tuples with `column`, `feature`,
        `label` (the class, if there are more than two), `weight` (of the feature that the model sees) and `in_units`
        (of one unit of the column).
        """
        return self.model.weights()


def joined(
    classes: np.ndarray,
    codes: np.ndarray,
    parts: list[Outcome],
    solver: str,
    why: str,
    training: dict[str, Any],
    centre: np.ndarray | None = None,
    sigmoids: np.ndarray | None = None,
) -> Result:
    """Return one result from the outcomes of linear two-class problems."""
    alpha = np.stack([part.alpha for part in parts])
    support = np.flatnonzero(np.any(alpha > 0, axis=0))
    signed = np.stack([signs(codes[support], side) for side in sides(classes)]) * alpha[:, support]
    model = LinearModel(
        classes,
        np.stack([part.w for part in parts]),
        np.array([part.b for part in parts]),
        support,
        signed,
        summed(part.certificate for part in parts),
        {**training, "status": worst(parts).value, "epochs": sum(part.epochs for part in parts)},
        centre,
        sigmoids,
    )
    return together(model, parts, solver, why)


def together(model: Model, parts: Sequence[Outcome], solver: str, why: str) -> Result:
    """Return one result from a model and the outcomes that it was made of."""
    return Result(
        model,
        model.certificate,
        worst(parts),
        [record for part in parts for record in part.history],
        parts[0].alpha if len(parts) == 1 else np.stack([part.alpha for part in parts]),
        solver,
        why,
        sum(part.seconds for part in parts),
        sum(part.epochs for part in parts),
        list(parts),
    )


def with_changes(why: str, parts: Sequence[Outcome]) -> str:
    """Return the reason for the choice of a solver, and the solvers that went on in mid-run, if any did."""
    changed = [part.solvers for part in parts if len(part.solvers) > 1]
    if not changed:
        return why
    first, then = changed[0][0], sorted({" and then ".join(names[1:]) for names in changed})
    where = f" for {len(changed)} of {len(parts)} classes" if len(parts) > 1 else ""
    return f"{why}; began with {first}; its gap shrank too slowly{where}, went on with {' or '.join(then)}"


def worst(parts: Sequence[Outcome]) -> Status:
    """Return the worst status of the outcomes."""
    return max((part.status for part in parts), key=SEVERITY.index)


def explained(result: Result, data: Examples) -> Result:
    """Return the result; if rounding ended the training, with the column that causes the rounding errors."""
    if result.status is Status.ROUNDING:
        result.reason = column_to_blame(data.rows, data.names)
    return result
