"""The one problem that every solver solves.

    primal   P(w, b) = ½‖w‖² + b²/(2B²) + Σ C_i ℓ(m_i),        m_i = y_i (⟨w, x_i⟩ + b)
    dual     D(α)    = Σ d_i(α_i) − ½‖w(α)‖² − ½ B² s²,        w(α) = Σ α_i y_i x_i,  s = Σ α_i y_i

The bias says what becomes of b:
    none          b = 0, and neither b nor s appears
    regularised   a constant feature of size B = bias_scale: b = B² s at a dual point
    free          b outside the norm (B = ∞): the b² term vanishes, and α must satisfy s = 0

C = ∞ (λ = 0) leaves one of two problems:
    hard_margin               hinge, squared hinge: min ½‖w‖² + b²/(2B²) with every m_i ≥ 1
    unregularised_logistic    min Σ s_i ℓ(m_i), with no norm at all: `ridge` is 0, and α must satisfy w(α) = 0

With a free bias, x_i − c for any c states the same problem, with another b. Columns far from 0 are shifted by such a
`centre` (see data/columns), because float64 cannot compute ⟨w, x_i⟩ + b where both are huge and their sum is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.data.columns import centre_of, shifted
from maxmargin.data.passes import additions
from maxmargin.data.passes import squared_norms as squared_norms_of
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored, longest_row
from maxmargin.errors import DataError, ParameterError
from maxmargin.problems.dual_terms import DualTerm
from maxmargin.problems.losses import HARD_MARGIN, Loss, find_loss
from maxmargin.system.budget import check_features
from maxmargin.system.rounding import UNDERFLOW, gamma
from maxmargin.system.values import is_number

BIASES = ("none", "regularised", "free")
FAR = 1e6  # ‖x‖, from where on columns far from 0 are looked for: below, float64 keeps ten digits of a score of order 1


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels ±1, the C of each example, a loss and a bias."""

    rows: Rows
    y: np.ndarray
    C: np.ndarray
    loss: Loss
    bias: str = "free"
    bias_scale: float = 1.0
    ridge: float = field(default=1.0, kw_only=True)
    centre: np.ndarray | None = field(default=None, kw_only=True)  # what was subtracted from every row
    threads: int = field(default=1, kw_only=True)
    name: str = field(default="", kw_only=True)

    def relabelled(self, y: np.ndarray, name: str) -> Problem:
        """The same examples with other labels ±1; what depends only on the rows is not computed again."""
        other = replace(self, y=y, name=name)
        for known in ("squared_norms", "norms", "longest"):
            other.__dict__[known] = getattr(self, known)
        return other

    @property
    def kind(self) -> str:
        """What kind of problem it is."""
        return self.loss.name if self.ridge else f"unregularised_{self.loss.name}"

    @property
    def bounded(self) -> bool:
        """Whether every point has a finite certificate; without C some have none."""
        return self.ridge > 0 and self.loss is not HARD_MARGIN

    @property
    def zero_is_feasible(self) -> bool:
        """Whether α = 0 is feasible, with D(0) = 0; without a ridge nothing is known of it."""
        return self.ridge > 0

    @property
    def n(self) -> int:
        """Examples."""
        return count_rows(self.rows)

    @property
    def d(self) -> int:
        """Features."""
        return count_columns(self.rows)

    @property
    def nnz(self) -> int:
        """Stored values."""
        return count_stored(self.rows)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What tells it from another problem with the same rows."""
        return self.y, self.C

    @property
    def summary(self) -> dict[str, Any]:
        """The same in words."""
        limits = [float(self.C.min()), float(self.C.max())]
        scale = self.bias_scale
        return {"n": self.n, "d": self.d, "loss": self.kind, "bias": self.bias, "bias_scale": scale, "C": limits}

    @cached_property
    def dual_term(self) -> DualTerm:
        """d_i and its box, as data for compiled code."""
        return self.loss.dual_term(self.C)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """‖x_i‖² of every row."""
        return squared_norms_of(self.rows, self.threads)

    @cached_property
    def norms(self) -> np.ndarray:
        """‖x_i‖ of every row, rounded up where squares are too small for float64."""
        return np.asarray(np.sqrt(self.squared_norms) + UNDERFLOW * self.longest)

    @cached_property
    def steps(self) -> float:
        """γ of the additions that a term of w(α) meets on its way into the sum, and some roundings more."""
        return gamma(additions(self.rows, self.d) + 8)

    @cached_property
    def longest(self) -> int:
        """How many values a row stores at most."""
        return longest_row(self.rows)

    @cached_property
    def counted(self) -> np.ndarray:
        """The examples with a weight above zero; the others are in the data but not in the problem."""
        return np.flatnonzero(self.C > 0)

    @cached_property
    def mean_C(self) -> float:
        """The mean of the C's."""
        return float(np.mean(self.C))

    @cached_property
    def mean_square(self) -> float:
        """The mean of ‖x_i‖²."""
        return float(np.mean(self.squared_norms))

    @property
    def bias_square(self) -> float:
        """B² of a regularised bias; 0 where b is absent or free, so that B² s is 0."""
        return self.bias_scale**2 if self.bias == "regularised" else 0.0

    def primal(self, w: np.ndarray, b: float, margins: np.ndarray) -> float:
        """P(w, b), given the margins of that (w, b)."""
        losses = np.zeros(self.n)
        np.multiply(self.C, self.loss.value(margins), out=losses, where=self.C > 0)
        return self.norm(w, b) + float(np.sum(losses))

    def dual(self, alpha: np.ndarray, w: np.ndarray, b: float) -> float:
        """D(α), given w = w(α) and b = B² s."""
        return float(np.sum(self.loss.dual(alpha, self.C))) - self.norm(w, b)

    def norm(self, w: np.ndarray, b: float) -> float:
        """½‖w‖² + b²/(2B²); nothing where nothing is regularised."""
        return self.norm_of(float(np.sum(np.square(w))), b)  # not BLAS: its sums depend on its threads

    def norm_of(self, square: float, b: float) -> float:
        """The same, given ‖w‖²."""
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
    """Check what a user gave and state the problem; `y` is ±1 already, `squared_norms` may be known."""
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
    """The same problem around the centre of columns far from 0, where a free bias allows it."""
    if problem.bias != "free" or not np.max(problem.squared_norms, initial=0.0) > FAR**2:
        return problem
    centre = centre_of(problem.rows)
    return problem if centre is None else replace(problem, rows=shifted(problem.rows, centre), centre=centre)


def without_C(problem: Problem) -> Problem:
    """What is left of the problem as C → ∞: the constraints alone, or the losses alone."""
    if problem.loss.limit == "hard_margin":
        return replace(problem, loss=HARD_MARGIN, C=np.where(problem.C > 0, 1.0, 0.0))
    bias = "none" if problem.bias == "none" else "free"  # nothing regularises b either
    return replace(problem, ridge=0.0, bias=bias)


def check_squares(problem: Problem) -> None:
    """Refuse a row whose square overflows."""
    too_large = np.flatnonzero(~np.isfinite(problem.squared_norms))
    if too_large.size:
        raise DataError(f"row {too_large[0]} (counted from 0) has values whose squares overflow: scale the features")


def check_bias(bias: str, bias_scale: float = 1.0) -> None:
    """Refuse what is no bias."""
    if not (isinstance(bias, str) and bias in BIASES):
        raise ParameterError(f"bias={bias!r} is not known: choose one of {', '.join(BIASES)}")
    if not (is_number(bias_scale) and 1e-100 < bias_scale < 1e100):
        raise ParameterError(f"bias_scale={bias_scale!r} must be a positive number")


def penalty(n: int, C: float, lam: float | None) -> float:
    """C, from C or from lam of λ/2‖w‖² + (1/n) Σ ℓ: C = 1/(nλ); ∞ where nothing but the losses counts."""
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
    """One weight ≥ 0 for each example, finite."""
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
    """Both signs must carry weight: with one alone there is nothing to separate, and a free bias has no optimum."""
    for sign in (-1, 1):
        if not np.any((y == sign) & (C > 0)):
            raise DataError("all weights of one class are zero: an SVM needs weighted examples of two classes")
