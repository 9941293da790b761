"""The linear problem that every linear solver solves.

    primal   P(w, b) = ½‖w‖² + b²/(2B²) + Σ C_i ℓ(m_i),        m_i = y_i (⟨w, x_i⟩ + b)
    dual     D(α)    = Σ d_i(α_i) − ½‖w(α)‖² − ½ B² s²,        w(α) = Σ α_i y_i x_i,  s = Σ α_i y_i

The bias:
    none          b = 0, and neither b nor s appears
    regularised   the weight of a constant feature with value B = bias_scale: b = B² s at a dual point
    free          not regularised (B = ∞): there is no b² term, and α must satisfy s = 0

C = ∞ (λ = 0) gives one of two problems:
    hard_margin               hinge, squared hinge: min ½‖w‖² + b²/(2B²) subject to m_i ≥ 1
    unregularised_logistic    min Σ s_i ℓ(m_i), without a norm: `ridge` is 0, and α must satisfy w(α) = 0

With a free bias, replacing x_i by x_i − c gives the same problem with another b. Columns far from 0 are shifted by such
a `centre` (see data/columns), because ⟨w, x_i⟩ + b loses its digits in float64 if both terms are huge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import numpy as np

from maxmargin.data.columns import centre_of, shifted
from maxmargin.data.passes import additions
from maxmargin.data.preparation import SHIFTED_FROM
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored, dense_of
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels.functions import Linear
from maxmargin.kernels.points import dense_points
from maxmargin.kernels.tiles import symmetric_matrix
from maxmargin.problems.dual_terms import DualTerm
from maxmargin.problems.in_memory import InMemory, Offer
from maxmargin.problems.losses import HARD_MARGIN, Loss, find_loss
from maxmargin.system.budget import check_features
from maxmargin.system.lazy import lazy
from maxmargin.system.rounding import gamma
from maxmargin.system.values import is_number

MAKING = RLock()  # held while an array that several problems share is made, so that only one thread makes it
BIASES = ("none", "regularised", "free")
UNREGULARISED = "unregularised_"  # prefix of the loss name in the kind of a problem without regularisation
WITHOUT_WEIGHT = "all weights of one class are zero: an SVM needs weighted examples of two classes"


@dataclass(frozen=True, eq=False)
class Problem(InMemory):
    """A two-class problem: rows, labels ±1, the C of each example, a loss and a bias."""

    rows: Rows
    y: np.ndarray
    C: np.ndarray
    loss: Loss
    bias: str = "free"
    bias_scale: float = 1.0
    ridge: float = field(default=1.0, kw_only=True)
    centre: np.ndarray | None = field(default=None, kw_only=True)  # the vector that was subtracted from every row
    threads: int = field(default=1, kw_only=True)
    name: str = field(default="", kw_only=True)
    shared: dict[str, Any] = field(default_factory=dict, kw_only=True)  # arrays of these rows, for all their labels

    convex = True

    def offer(self, point: Any) -> Any:
        """Return an Offer, which certifies the point on demand."""
        from maxmargin.problems import certificate  # it imports this module

        return Offer(certificate.certify, self, point)

    def relabelled(self, y: np.ndarray, name: str) -> Problem:
        """Return the problem with other labels ±1. It reuses what depends only on the rows."""
        other = replace(self, y=y, name=name)
        for known in ("squared_norms", "norms", "longest"):
            other.__dict__[known] = getattr(self, known)
        return other

    def of_rows(self, name: str, make: Callable[[Rows], np.ndarray]) -> np.ndarray:
        """Return an array that depends only on the rows. It is made once for all problems with the same rows."""
        with MAKING:
            rows, found = self.shared.get(name, (None, None))
            if rows is not self.rows:
                found = make(self.rows)
                self.shared[name] = (self.rows, found)
        return np.asarray(found)

    @property
    def dense(self) -> np.ndarray:
        """The rows as an array in float64."""
        return self.of_rows("dense", dense_of)

    @property
    def gram(self) -> np.ndarray:
        """The inner products of all rows."""
        return self.of_rows("gram", lambda _: symmetric_matrix(Linear(), dense_points(self.dense), self.threads))

    @property
    def kind(self) -> str:
        """The loss, with its limit for infinite C: one of the kinds that solvers declare (solvers/takes.py)."""
        return self.loss.name if self.ridge else f"{UNREGULARISED}{self.loss.name}"

    @property
    def bounded(self) -> bool:
        """Whether every point has a finite certificate. With infinite C some have none."""
        return self.ridge > 0 and self.loss is not HARD_MARGIN

    @property
    def zero_is_feasible(self) -> bool:
        """Whether α = 0 is feasible with D(0) = 0."""
        return self.ridge > 0

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return count_stored(self.rows)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that identify the problem among those with the same rows."""
        return self.y, self.C

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers and names that identify the problem."""
        limits = [float(self.C.min()), float(self.C.max())]
        scale = self.bias_scale
        return {"n": self.n, "d": self.d, "loss": self.kind, "bias": self.bias, "bias_scale": scale, "C": limits}

    @lazy
    def dual_term(self) -> DualTerm:
        """The terms d_i and their boxes, as data for compiled code."""
        return self.loss.dual_term(self.C)

    @lazy
    def steps(self) -> float:
        """γ_k for the k additions that a term of w(α) takes part in, and a few more roundings."""
        return gamma(additions(self.rows, self.d) + 8)

    @lazy
    def counted(self) -> np.ndarray:
        """The row numbers of examples with a positive weight. The others are not part of the problem."""
        return np.flatnonzero(self.C > 0)

    @lazy
    def mean_C(self) -> float:
        """The mean of the C_i."""
        return float(np.mean(self.C))

    @lazy
    def mean_square(self) -> float:
        """The mean of ‖x_i‖²."""
        return float(np.mean(self.squared_norms))

    @property
    def bias_square(self) -> float:
        """B² of a regularised bias; 0 if b is absent or free, so that B² s is 0."""
        return self.bias_scale**2 if self.bias == "regularised" else 0.0

    def primal(self, w: np.ndarray, b: float, margins: np.ndarray) -> float:
        """Return P(w, b), given its margins."""
        losses = np.zeros(self.n)
        np.multiply(self.C, self.loss.value(margins), out=losses, where=self.C > 0)
        return self.norm(w, b) + float(np.sum(losses))

    def dual(self, alpha: np.ndarray, w: np.ndarray, b: float) -> float:
        """Return D(α), given w = w(α) and b = B² s."""
        return float(np.sum(self.loss.dual(alpha, self.C))) - self.norm(w, b)

    def norm(self, w: np.ndarray, b: float) -> float:
        """Return ½‖w‖² + b²/(2B²); 0 without regularisation."""
        return self.norm_of(float(np.sum(np.square(w))), b)  # no BLAS: its sums depend on its number of threads

    def norm_of(self, square: float, b: float) -> float:
        """Return `norm` from ‖w‖²."""
        bias_part = 0.5 * b * b / self.bias_square if self.bias_square else 0.0
        return self.ridge * (0.5 * square + bias_part)


def pose(
    rows: Rows,
    y: np.ndarray,
    *,
    loss: str = "hinge",
    C: float = 1.0,
    lam: float | None = None,
    weights: np.ndarray | None = None,
    bias: str = "free",
    bias_scale: float = 1.0,
    threads: int = 1,
    squared_norms: np.ndarray | None = None,
) -> Problem:
    """Validate the parameters and build the problem. `y` is ±1; `squared_norms` may be known."""
    check_bias(bias, bias_scale)
    check_features(count_columns(rows))
    strength, weights = penalty(count_rows(rows), C, lam), checked_weights(weights, y)
    if strength == np.inf:
        problem = without_C(Problem(rows, y, weights, find_loss(loss), bias, bias_scale, threads=threads))
    else:
        problem = Problem(rows, y, strength * weights, find_loss(loss), bias, bias_scale, threads=threads)
    if squared_norms is not None:
        problem.__dict__["squared_norms"] = squared_norms
    problem = centred(problem)
    if not np.all(np.isfinite(problem.C)):
        raise ParameterError(f"C={strength!r} times a weight overflows: scale the weights down, or raise lam")
    check_both_classes(y, problem.C)
    check_squares(problem)
    return problem


def centred(problem: Problem) -> Problem:
    """Shift columns far from 0 to 0, if the bias is free."""
    if problem.bias != "free" or not np.max(problem.squared_norms, initial=0.0) > SHIFTED_FROM**2:
        return problem
    centre = centre_of(problem.rows)
    return problem if centre is None else replace(problem, rows=shifted(problem.rows, centre), centre=centre)


def without_C(problem: Problem) -> Problem:
    """Return the limit of the problem as C → ∞: a hard margin, or the losses without a norm."""
    if problem.loss.limit == "hard_margin":
        return replace(problem, loss=HARD_MARGIN, C=np.where(problem.C > 0, 1.0, 0.0))
    bias = "none" if problem.bias == "none" else "free"  # b is not regularised either
    return replace(problem, ridge=0.0, bias=bias)


def check_squares(problem: Problem) -> None:
    """Raise if the squared norm of a row overflows."""
    too_large = np.flatnonzero(~np.isfinite(problem.squared_norms))
    if too_large.size:
        raise DataError(f"row {too_large[0]} (counted from 0) has values whose squares overflow: scale the features")


def check_bias(bias: str, bias_scale: float = 1.0) -> None:
    """Raise unless `bias` and `bias_scale` are valid."""
    if not (isinstance(bias, str) and bias in BIASES):
        raise ParameterError(f"bias={bias!r} is not known: choose one of {', '.join(BIASES)}")
    if not (is_number(bias_scale) and 1e-100 < bias_scale < 1e100):
        raise ParameterError(f"bias_scale={bias_scale!r} must be a positive number")


def penalty(n: int, C: float, lam: float | None) -> float:
    """Return C, given as C or as λ with C = 1/(nλ); ∞ for C=inf or lam=0."""
    if C != 1.0 and lam is not None:
        raise ParameterError(f"C={C!r} and lam={lam!r} say the same thing, C = 1/(n lam): give one of them")
    name, value = ("lam", lam) if lam is not None else ("C", C)
    if is_number(value) and value == (np.inf if name == "C" else 0.0):
        return np.inf
    if not (is_number(value) and 0 < value < np.inf):
        limit = "inf for a hard margin" if name == "C" else "0 for none at all"
        raise ParameterError(f"{name}={value!r} must be a positive number, or {limit}")
    strength = float(value) if name == "C" else 1.0 / (n * float(value))
    if not 0 < strength < np.inf:
        raise ParameterError(f"lam={value!r} makes C = 1/(n lam) = {strength!r}: take a smaller or larger lam")
    return strength


def checked_weights(weights: np.ndarray | None, y: np.ndarray) -> np.ndarray:
    """Return one finite weight ≥ 0 for each example; raise if they are invalid."""
    if weights is None:
        return np.ones(len(y))
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights are not numbers ({error}): give one number for each example") from error
    if weights.shape != y.shape:
        raise DataError(f"weights have shape {weights.shape}, but there are {len(y)} examples: give one weight each")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise DataError(f"weights[{wrong[0]}] is {weights[wrong[0]]!r}: a weight must be a finite number ≥ 0")
    return weights


def check_both_classes(y: np.ndarray, C: np.ndarray) -> None:
    """Raise unless both classes have a positive weight; with one class, a free bias has no optimum."""
    counted = y[C > 0.0]
    if not (len(counted) and counted.min() < counted.max()):
        raise DataError(WITHOUT_WEIGHT)
