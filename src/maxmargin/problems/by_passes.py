"""A two-class problem whose rows are reached only by passes: on disk, or on a cluster.

Every evaluation is one pass, which also gives the certificate (see evaluation). So a certificate costs nothing beyond
the steps of a solver.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.in_step import InStep
from maxmargin.data.reduction import Executor, Part, Pass, Totals
from maxmargin.data.rows import count_rows
from maxmargin.problems.certificate import Certificate, Certified
from maxmargin.problems.evaluation import Evaluate, Evaluated, Regulariser, TwoClasses, certificate_at
from maxmargin.problems.in_memory import Offer
from maxmargin.problems.losses import Loss
from maxmargin.system.buffers import forget
from maxmargin.system.rounding import LOSS, gamma

NOTHING = np.zeros(0)
SCALED_AT_ONCE = 1 << 16  # dual variables that are scaled at once: they may be in a file


class DualPoint(NamedTuple):
    """The point v whose q, scaled by the factor of each class, is the α of the best lower bound.

    If q depends on more than v, it is kept in the vector `kept`.
    """

    v: np.ndarray
    factors: tuple[float, float]
    dual: float
    kept: str = ""


@dataclass(eq=False)
class PassProblem:
    """A two-class problem over the rows of an executor.

    `identity` tells the data apart from others in a checkpoint, `stop` tells whether a pass should end early. With
    `keeps_dual`, the α of the best lower bound is kept for `best_dual`. `slot` tells the vectors of this problem apart
    from those of other problems in the same passes.
    """

    rows: Executor
    problem: TwoClasses
    bias: str = "free"
    bias_scale: float = 1.0
    name: str = ""
    identity: dict[str, Any] = field(default_factory=dict)
    stop: Callable[[], object] | None = None
    keeps_dual: bool = True
    slot: str = ""
    dual_point: DualPoint | None = None

    immediate = convex = bounded = zero_is_feasible = True
    rows_at_hand = False  # a checkpoint does not hold the best model: a pass certifies it again
    certificates_are_free = True

    def __post_init__(self) -> None:
        self.regulariser = Regulariser(self.d, self.bias, self.bias_scale)

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.rows.facts.n

    @property
    def d(self) -> int:
        """Number of features."""
        return self.rows.facts.d

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.problem.loss

    @property
    def kind(self) -> str:
        """The kind of problem: the name of its loss."""
        return self.loss.name

    @property
    def ridge(self) -> float:
        """The weight of ½‖w‖²."""
        return 1.0

    def opened(self, seed: int) -> AbstractContextManager[None]:
        """Do nothing: there is nothing to open."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing: the executor belongs to the caller."""

    def leave(self) -> None:
        """Tell an executor that solvers share that this problem makes no more passes."""
        if isinstance(self.rows, InStep):
            self.rows.leave()

    def fail(self) -> None:
        """Tell an executor that solvers share that this problem has failed."""
        if isinstance(self.rows, InStep):
            self.rows.end()

    def fingerprint(self, solver: str, seed: int) -> dict[str, Any]:
        """Return the identity of a run."""
        return {
            **self.identity, "n": self.n, "d": self.d, "loss": self.kind, "C": self.problem.C, "bias": self.bias,
            "bias_scale": self.bias_scale, "positive": plain(self.problem.positive), "solver": solver, "seed": seed,
        }  # fmt: skip

    def run(self, one: Pass) -> Totals:
        """Run one pass over all rows."""
        return self.rows.reduce([one], self.stop)[0]

    def evaluate(self, v: np.ndarray, **what: Any) -> Evaluated:
        """Evaluate the objective at v in one pass; `what` are further fields of `Evaluate`."""
        forces, numbers, along, matrix = self.run(Evaluate(self.problem, v, **what))
        return Evaluated(v, forces, numbers, along, matrix)

    def value(self, at: Evaluated) -> float:
        """Return P(v)."""
        return self.regulariser.value(at.v) + at.losses

    def gradient(self, at: Evaluated) -> np.ndarray:
        """Return the gradient r v − Σ q_i y_i z_i; without a bias its last entry is 0."""
        return self.gradient_of(at.v, at.force)

    def gradient_of(self, v: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return r v − force; without a bias its last entry is 0."""
        g = np.asarray(self.regulariser.r * v - force)
        if self.bias == "none":
            g[-1] = 0.0
        return g

    @property
    def largest_C(self) -> float:
        """The largest C_i."""
        return self.problem.largest_C(self.rows.facts)

    def certificate(self, at: Evaluated) -> Certificate:
        """Return the certificate of v and its q, and remember q if its bound is the best so far."""
        self.forget_lost()
        found, factors = certificate_at(at, self.problem, self.regulariser, self.rows.facts)
        if self.keeps_dual and found.dual > (self.dual_point.dual if self.dual_point else 0.0):
            kept = f"best alpha {self.slot}" if at.q_vector else ""
            if kept:
                self.rows.keep(at.q_vector, kept)
            self.dual_point = DualPoint(at.v, factors, found.dual, kept)
        return found

    def forget_lost(self) -> bool:
        """Forget the kept q if a part of it was lost with the worker that held it. Return whether one was lost."""
        lost = getattr(self.rows, "restored", None)
        if not lost:
            return False
        lost.clear()
        if self.dual_point is not None and self.dual_point.kept:
            self.dual_point = None
        return True

    def best_dual(self) -> np.ndarray:
        """Return α_i y_i of the best lower bound; for a smooth loss one pass computes it from its point."""
        name = f"best alpha {self.slot}"
        self.forget_lost()
        signed = np.zeros(0)
        while self.dual_point is not None and not len(signed):
            if not self.dual_point.kept:
                self.rows.reduce([Evaluate(self.problem, self.dual_point.v, forces=name)])
            signed = self.rows.vector(name)
            if self.forget_lost():  # a worker was lost meanwhile, and its part is 0
                signed = np.zeros(0)
        if self.dual_point is None:
            return np.zeros(self.n)
        low, high = self.dual_point.factors
        for start in range(0, len(signed), SCALED_AT_ONCE):
            part = signed[start : start + SCALED_AT_ONCE]
            part *= np.where(part > 0.0, high, low)
            forget(signed)
        return signed

    def offer(self, point: Evaluated | None) -> Offer:
        """Return an Offer, which certifies the point; None stands for w = 0 before the first pass."""
        return Offer(certify, self, point)

    def kept_aside(self, found: Certified) -> Certified:
        """Return the point itself: later points do not overwrite its arrays."""
        return found

    def tightened(self, point: Any, found: Certified) -> Certified:
        """Return the certificate itself: its rounding bound is as small as it can be."""
        return found

    def on_sample(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """Return the signs and the C_i of a sample of the rows, scaled so that the sample stands for all rows."""
        growth = self.n / max(count_rows(part.rows), 1)
        return self.problem.signs(part.labels), growth * self.problem.strengths(part)


def certify(problem: PassProblem, at: Evaluated | None) -> Certified:
    """Certify an evaluated point. At w = 0, before the first pass, P is known and the lower bound is 0."""
    if at is None:
        losses = problem.problem.sum_of_C(problem.rows.facts) * float(problem.loss.value(np.zeros(1))[0])
        rounding = gamma(LOSS + problem.n) * losses
        return Certified(np.zeros(problem.d), 0.0, NOTHING, Certificate(losses + rounding, 0.0, rounding))
    return Certified(at.v[:-1], float(at.v[-1]), NOTHING, problem.certificate(at))


def plain(label: Any) -> Any:
    """Return a label as a Python object, for JSON."""
    return label.item() if isinstance(label, np.generic) else label
