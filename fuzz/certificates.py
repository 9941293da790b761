"""Certificates against exact arithmetic.

For every fit with certificate c, model m and dual variables α:

    primal too low      P(m) in exact arithmetic is above c.primal
    decided too low     the same with the decision values that m computes in float64
    dual too high       c.dual is above the exact P of some point: of any solver's model, or of scikit-learn's
    negative gap        c.primal < c.dual
    contradiction       one solver's c.primal is below another's c.dual
    false CONVERGED     the exact P(m) is more than tol·max(|P|, scale) above the exact P of a known point (refuted), or
                        above every exact lower bound D(α) at hand, also after more accurate fits (unproved)
    false proof         NOT_SEPARABLE, where the exact P of some hard margin is finite

Exceptions other than MaxmarginError, α outside its box, numbers that are not finite and fits beyond 10 s count too.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.exact import Value, kernel_dual, kernel_primal, linear_dual, linear_primal
from fuzz.problems import (
    KERNEL_SECONDS,
    MAX_SECONDS,
    STOCHASTIC,
    KernelCase,
    LinearCase,
    kernel_case,
    linear_case,
    streamed_case,
)
from fuzz.tally import Finding, Tally, place_of

SLOW_SECONDS = 10.0
SHARPER = 1e-3  # of the tolerance, where a claim is doubted
DOUBTED = 1e-9  # of the objective, by which a dual bound may exceed D(α) before it is doubted
SLACK = Fraction(1, 10**6)  # of the tolerance, for |P| against |c.primal|
WITH_SKLEARN = 16  # one problem of so many
STOCHASTIC_EPOCHS = 40.0
STREAMED_EPOCHS = 60.0
SHARPER_EPOCHS = 1000.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit and what exact arithmetic says of it."""

    solver: str
    status: str
    certificate: Any
    primal: Value
    decided: Value
    dual: Value
    feasible: bool
    finite: bool
    seconds: float
    tol: float

    @property
    def scale(self) -> Fraction:
        """What a gap is relative to, beside P."""
        scale = getattr(self.certificate, "scale", 0.0)
        return Fraction(scale) if math.isfinite(scale) else Fraction(0)

    @property
    def allowed(self) -> Value:
        """The largest distance from the optimum that CONVERGED permits."""
        if not isinstance(self.primal, Fraction):
            return 0.0
        return Fraction(self.tol) * max(abs(self.primal), self.scale) * (1 + SLACK)


def fit_linear(case: LinearCase, solver: str) -> Fit:
    """Train and evaluate."""
    import maxmargin

    began = time.perf_counter()
    result = maxmargin.train(
        case.given, case.y, weights=case.weights, solver=solver, **parameters_of(case),
        max_epochs=STOCHASTIC_EPOCHS if solver in STOCHASTIC else case.max_epochs,
    )  # fmt: skip
    return evaluated(case, result, time.perf_counter() - began)


def fit_streamed(case: LinearCase, solver: str) -> Fit:
    """Train from a file in memory that is too small for it, and evaluate; a solver in memory trains as ever."""
    import maxmargin
    from maxmargin.solvers import STREAMING_SOLVERS

    if solver not in STREAMING_SOLVERS:
        return fit_linear(case, solver)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        maxmargin.write(path, case.X, case.y.astype(int))
        result = maxmargin.train(path, solver=solver, memory="20MB", max_epochs=STREAMED_EPOCHS, **parameters_of(case))
    return evaluated(case, result, time.perf_counter() - began)


def parameters_of(case: LinearCase) -> dict[str, Any]:
    """What `train` is asked for, wherever the rows are."""
    scale = {"bias_scale": case.bias_scale} if case.bias == "regularised" else {}
    return {
        "loss": case.loss, "C": case.C, "bias": case.bias, "tol": case.tol, "max_seconds": MAX_SECONDS,
        "seed": case.seed % 1000, "threads": 1, **scale,
    }  # fmt: skip


def evaluated(case: LinearCase, result: Any, seconds: float) -> Fit:
    """A fit, and what exact arithmetic says of it."""
    model, alpha = result.model, result.alpha
    missing = case.X.shape[1] - model.d  # features that a file does not hold, since they are 0 in every row
    w, b, centre = np.pad(model.w[0], (0, missing)), float(model.b[0]), model.centre
    centre = None if centre is None else np.pad(centre, (0, missing))
    finite = bool(np.all(np.isfinite(w)) and np.isfinite(b) and np.all(np.isfinite(alpha)))
    primal = decided = math.inf
    if finite:
        primal = linear_primal(case, w, b, centre)
        decided = linear_primal(case, w, b, centre, model.decide(case.given[:, : model.d], threads=1))
    dual = linear_dual(case, alpha)
    fits = linear_feasible(case, alpha)
    return Fit(
        result.solver, result.status.name, result.certificate, primal, decided, dual, fits, finite, seconds, case.tol
    )


def linear_feasible(case: LinearCase, alpha: np.ndarray) -> bool:
    """Whether α is in its box, and Σ αy is 0 but for rounding."""
    C = case.float_C
    upper = np.where(C > 0, np.inf, 0.0) if case.kind in ("squared_hinge", "hard_margin") else C
    inside = bool(np.all(alpha >= 0.0) and np.all(alpha <= upper))
    if case.effective_bias != "free" or case.kind == "unregularised_logistic":
        return inside
    return inside and abs(float(alpha @ case.y)) <= 1e-9 * max(float(np.sum(alpha)), 1e-300)


def fit_kernel(case: KernelCase, solver: str) -> Fit:
    """Train and evaluate."""
    began = time.perf_counter()
    trained = (train_classifier if case.formulation in ("C-SVC", "nu-SVC") else train_function)(case, solver)
    model, coefficients, signed, b, width, status = trained
    seconds = time.perf_counter() - began
    finite = bool(np.all(np.isfinite(coefficients)) and np.isfinite(b) and np.isfinite(width))
    primal = decided = math.inf
    if finite:
        centre = getattr(model, "centre", None)
        primal = kernel_primal(case, coefficients, b, width, centre=centre)
        values = None if case.formulation == "one-class" else model.decide(case.given, threads=1)
        decided = kernel_primal(case, coefficients, b, width, values, centre)
    dual = max(kernel_dual(case, signed), kernel_dual(case, coefficients))
    return Fit(solver, status, model.certificate, primal, decided, dual, True, finite, seconds, case.tol)


Trained = tuple[Any, np.ndarray, np.ndarray, float, float, str]


TASKS = {
    "C-SVC": lambda case: {"C": case.C, "bias": case.bias},
    "nu-SVC": lambda case: {"nu": case.nu},
    "epsilon-SVR": lambda case: {"task": "regress", "C": case.C, "epsilon": case.epsilon, "bias": case.bias},
    "nu-SVR": lambda case: {"task": "regress", "C": case.C, "nu": case.nu},
    "one-class": lambda case: {"task": "novelty", "nu": case.nu},
}  # what `train` is asked for


def trained_on(case: KernelCase, solver: str) -> Any:
    """The result of `train`."""
    import maxmargin

    return maxmargin.train(
        case.given, case.y, weights=case.weights, solver=solver, tol=case.tol, max_seconds=KERNEL_SECONDS, threads=1,
        **case.kernel_parameters, **TASKS[case.formulation](case),
    )  # fmt: skip


def train_classifier(case: KernelCase, solver: str) -> Trained:
    """C-SVC and ν-SVC; signs so that the class +1 is positive."""
    result = trained_on(case, solver)
    model, coefficients = result.model, np.zeros(len(case.y))
    coefficients[model.support] = -model.dual_coef[0]
    return model, coefficients, result.alpha * case.y, -float(model.b[0]), 0.0, result.status.name


def train_function(case: KernelCase, solver: str) -> Trained:
    """ε-SVR, ν-SVR and one-class."""
    result = trained_on(case, solver)
    model, coefficients = result.model, np.zeros(len(case.y))
    coefficients[model.support] = model.coefficients
    signed = signed_variables(case, result.alpha)
    return model, coefficients, signed, float(model.b), float(model.width), result.status.name


def signed_variables(case: KernelCase, beta: np.ndarray) -> np.ndarray:
    """One coefficient a row: regression has two variables a row, of which ν-SVR counts the second negatively."""
    n = len(case.y)
    if case.formulation == "one-class":
        return beta
    return beta[:n] + (beta[n:] if case.formulation == "epsilon-SVR" else -beta[n:])


def sklearn_primal(case: KernelCase) -> Value:
    """The exact objective of scikit-learn's model, where it can be asked; else infinite."""
    from sklearn.svm import SVC, SVR

    if case.weights is not None or case.bias == "none" or case.formulation not in ("C-SVC", "epsilon-SVR"):
        return math.inf
    names = {"gaussian": "rbf", "polynomial": "poly"}
    settings: dict[str, Any] = {
        "kernel": names.get(case.kernel, case.kernel), "gamma": case.gamma, "degree": case.degree, "coef0": case.coef0,
        "C": case.C, "tol": 1e-6, "max_iter": 20_000,
    }  # fmt: skip
    formulation = SVC(**settings) if case.formulation == "C-SVC" else SVR(**settings, epsilon=case.epsilon)
    try:
        formulation.fit(case.X, case.y)
    except ValueError:  # it refuses values that it cannot compute with
        return math.inf
    coefficients = np.zeros(len(case.y))
    coefficients[formulation.support_] = formulation.dual_coef_[0]
    return kernel_primal(case, coefficients, float(formulation.intercept_[0]), 0.0)


@dataclass
class Judge:
    """All fits of one problem, held against each other and against exact arithmetic."""

    case: LinearCase | KernelCase
    tally: Tally
    fit: Callable[[Any, str], Fit]
    others: tuple[str, ...]
    seed: str

    def __post_init__(self) -> None:
        self.fits: list[Fit] = []
        self.upper: Value = math.inf
        self.lower: Value = -math.inf

    def run(self, solvers: tuple[str, ...]) -> None:
        """Fit with each solver, then judge."""
        for solver in solvers:
            found = self.attempt(self.case, solver)
            if found is not None:
                self.fits.append(found)
                self.tally.count("fits")
                self.tally.count(found.status)
                self.tally.count("time in fits", round(1e6 * found.seconds))
        for found in self.fits:
            self.check_alone(found)
        for found in self.fits:
            self.check_bounds(found)
        self.check_together()

    def attempt(self, case: Any, solver: str) -> Fit | None:
        """A fit, if there is one: what it shows of the optimum is kept."""
        from maxmargin import MaxmarginError

        try:
            found = self.fit(case, solver)
            if found.seconds > SLOW_SECONDS:
                found = self.fit(case, solver)  # the first may have been compiling
        except MaxmarginError as error:
            self.tally.count("refused")
            if "\n" in str(error):
                self.found("error of several lines", solver, str(error))
            return None
        except Exception as error:
            self.found(place_of(error), solver, str(error))
            return None
        self.upper, self.lower = min(self.upper, found.primal), max(self.lower, found.dual)
        if found.seconds > SLOW_SECONDS:
            self.found("slow fit", solver, f"{found.seconds:.1f} s", found.seconds)
        return found

    def check_alone(self, fit: Fit) -> None:
        """What a fit claims of itself."""
        c = fit.certificate
        if not fit.finite or math.isnan(c.primal) or math.isnan(c.dual):
            self.found("not finite", fit.solver, f"primal {c.primal}, dual {c.dual}")
            return
        if not fit.feasible:
            self.found("infeasible alpha", fit.solver, "")
        if c.primal < c.dual:
            self.found("negative gap", fit.solver, describe(fit), relative(Fraction(c.dual) - Fraction(c.primal), fit))
        for kind, value in (("primal too low", fit.primal), ("decided too low", fit.decided)):
            if c.primal < value:
                self.found(kind, fit.solver, describe(fit), relative(value - Fraction(c.primal), fit))
        claimed = math.isfinite(c.primal) and c.primal - c.dual <= fit.tol * max(abs(c.primal), float(fit.scale))
        if fit.status == "CONVERGED" and not claimed:
            self.found("CONVERGED above tol", fit.solver, describe(fit), c.relative_gap)

    def check_bounds(self, fit: Fit) -> None:
        """What a fit claims of the optimum; more accurate fits are asked where it is in doubt."""
        c = fit.certificate
        if not fit.finite or not isinstance(fit.primal, Fraction):
            if fit.status == "CONVERGED":
                self.found("false CONVERGED, refuted", fit.solver, describe(fit), math.inf)
            return
        doubtful = (
            math.isfinite(c.dual) and c.dual > self.lower and relative(Fraction(c.dual) - self.lower, fit) > DOUBTED
        )
        unproved = fit.status == "CONVERGED" and fit.primal - self.lower > fit.allowed
        if doubtful or unproved:
            self.tally.count("asked for sharper fits")
            self.sharpen()
        if c.dual > self.upper:
            self.found("dual too high", fit.solver, describe(fit), relative(Fraction(c.dual) - self.upper, fit))
        if fit.status == "CONVERGED" and fit.primal - self.upper > fit.allowed:
            self.found("false CONVERGED, refuted", fit.solver, describe(fit), relative(fit.primal - self.upper, fit))
        elif fit.status == "CONVERGED" and fit.primal - self.lower > fit.allowed:
            self.found("false CONVERGED, unproved", fit.solver, describe(fit), relative(fit.primal - self.lower, fit))

    def sharpen(self) -> None:
        """Know the optimum better: the same problem to a finer tolerance, by each of the other solvers; once."""
        finer = {"tol": SHARPER * self.case.tol}
        if isinstance(self.case, LinearCase):
            finer["max_epochs"] = SHARPER_EPOCHS
        sharper: Any = replace(self.case, **finer)
        for solver in self.others:
            self.attempt(sharper, solver)
        self.others = ()

    def check_together(self) -> None:
        """What fits claim against each other."""
        for one in self.fits:
            for other in self.fits:
                if one.solver != other.solver and one.certificate.primal < other.certificate.dual:
                    gap = Fraction(other.certificate.dual) - Fraction(one.certificate.primal)
                    self.found("contradiction", f"{one.solver} and {other.solver}", describe(one), relative(gap, one))
            if one.status == "NOT_SEPARABLE" and isinstance(self.upper, Fraction):
                self.found("false proof", one.solver, f"P = {float(self.upper):.6g} is finite", 1.0)

    def found(self, kind: str, solver: str, text: str, severity: float = 1.0) -> None:
        """Note a finding."""
        self.tally.report(Finding(kind, self.seed, f"{solver}: {text} [{self.case}]", severity))


def relative(distance: Any, fit: Fit) -> float:
    """A distance as a part of the objective."""
    if not isinstance(distance, Fraction):
        return math.inf
    size = max(abs(fit.primal) if isinstance(fit.primal, Fraction) else Fraction(0), fit.scale)
    try:
        return float(distance / size) if size else math.inf
    except OverflowError:
        return math.inf


def describe(fit: Fit) -> str:
    """The claim and the truth in a line."""
    c = fit.certificate
    return (
        f"{fit.status} claims [{c.dual:.17g}, {c.primal:.17g}] at tol {fit.tol:.1e}; exact P {shown(fit.primal)}, "
        f"decided {shown(fit.decided)}, D(alpha) {shown(fit.dual)}"
    )


def shown(value: Value) -> str:
    """A number for people."""
    try:
        return f"{float(value):.17g}"
    except OverflowError:
        return "beyond float64"


@dataclass
class LinearRunner:
    """Linear problems."""

    name: str = "linear"
    limit_seconds: float = 120.0
    make: Callable[[int], LinearCase] = linear_case
    fit: Callable[[LinearCase, str], Fit] = fit_linear

    def prepare(self) -> None:
        """Compile."""
        run_quietly(self, range(-1, -41, -1))

    def run(self, seed: int, tally: Tally) -> bool:
        """One problem, by one or two solvers."""
        case = self.make(abs(seed))
        tally.count(f"{self.name} problems")
        others = ("auto", "newton", "lbfgs") if case.kind == "unregularised_logistic" else ("auto", "dual_coordinate")
        Judge(case, tally, self.fit, others, f"{self.name}:{seed}").run(case.solvers)
        return True

    def save(self, seed: int, reason: str) -> str:
        """The seed says it all."""
        return str(self.make(seed))


def streamed_runner() -> LinearRunner:
    """Linear problems that are streamed from a file."""
    return LinearRunner("streamed", make=streamed_case, fit=fit_streamed)


@dataclass
class KernelRunner:
    """Kernel problems."""

    name: str = "kernel"
    limit_seconds: float = 120.0

    def prepare(self) -> None:
        """Compile."""
        run_quietly(self, range(-1, -21, -1))

    def run(self, seed: int, tally: Tally) -> bool:
        """One problem."""
        case = kernel_case(abs(seed))
        tally.count("kernel problems")
        solver = "auto"
        if case.formulation == "C-SVC" and seed % 5 == 0:
            solver = "smo_simple" if case.bias == "free" else "pegasos"
        judge = Judge(case, tally, fit_kernel, ("auto",), f"{self.name}:{seed}")
        if seed % WITH_SKLEARN == 0:
            judge.upper = sklearn_primal(case)
        judge.run((solver,))
        return True

    def save(self, seed: int, reason: str) -> str:
        """The seed says it all."""
        return str(kernel_case(seed))


def run_quietly(runner: Any, seeds: range) -> None:
    """Cases whose findings do not count."""
    for seed in seeds:
        runner.run(seed, Tally())
