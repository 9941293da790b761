"""The front door: rows and labels in, a certified model out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.choose import choose
from maxmargin.data.columns import column_to_blame, shifted
from maxmargin.data.files import Files, is_file
from maxmargin.data.labels import encode, sides, signs
from maxmargin.data.passes import squared_norms
from maxmargin.data.pick import pick
from maxmargin.data.rows import Rows, count_columns, count_rows, count_stored
from maxmargin.data.take import check_finite, take, take_unseen
from maxmargin.errors import DataError, ParameterError, RefusedError
from maxmargin.kernel_training import (
    Make,
    Pair,
    Run,
    calibrated,
    check_settings,
    model_of,
    one_against_one,
    pairs_of_classes,
)
from maxmargin.kernels.approximation import Approximation, checked_approximation
from maxmargin.kernels.feature_maps import transform
from maxmargin.kernels.functions import Kernel, find_kernel, kernel_centre
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.solve import Callback, Limits
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.linear import LinearModel
from maxmargin.multiclass import one_against_rest
from maxmargin.problems.certificate import Point
from maxmargin.problems.formulations import c_svc
from maxmargin.problems.linear import Problem, check_bias, check_both_classes, checked_weights, penalty, pose
from maxmargin.results import Result, joined, together, worst
from maxmargin.settings import (
    check_names,
    check_parameters,
    check_streamed,
    check_together,
    checked_cache,
    checked_expansion,
    checked_keeping,
    checked_limits,
    checked_seed,
)
from maxmargin.solvers import STREAMING_SOLVERS, find_solver
from maxmargin.status import Status
from maxmargin.streamed_training import Order, blame, train_streamed
from maxmargin.system.budget import check_features, checked_memory
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.threads import thread_count

LEAST_SECONDS = 1e-3
WHY = "pairs of dual variables, in batches that share their rows of the kernel"


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows and labels that have been checked, and what depends on them alone."""

    rows: Rows
    classes: np.ndarray
    codes: np.ndarray
    squared_norms: np.ndarray
    names: Sequence[str] | None = None  # of the columns, where they have some

    def explain(self, result: Result) -> Result:
        """Name the column to blame where rounding ended the training."""
        if result.status is Status.ROUNDING:
            result.reason = column_to_blame(self.rows, self.names)
        return result


@memory_errors()
def prepare(X: Any, y: Any = None, threads: int | None = None, memory: Any = None, **reading: Any) -> Prepared:
    """Check rows and labels, once for any number of trainings; `reading` says how files are read."""
    if is_file(X):
        files = Files(X, y, threads=thread_count(threads), memory=checked_memory(memory), **reading)
        files.check()
        return prepared(files)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    return replace(checked(take_unseen(X), given(y), "y", thread_count(threads)), names=names)


def prepared(files: Files) -> Prepared:
    """The same for files."""
    found = checked(*files.read(), files.name, files.threads)
    return replace(found, names=files.column_names)


def checked(rows: Rows, labels: Any, name: str, threads: int) -> Prepared:
    """Rows with their labels; whether the values are finite, their squares tell."""
    squares = squared_norms(rows, threads)
    if not np.all(np.isfinite(squares)):
        check_finite(rows)
    classes, codes = encode(labels, count_rows(rows), name)
    return Prepared(rows, classes, codes, squares)


@memory_errors()
def train(
    X: Any,
    y: Any = None,
    *,
    loss: str = "hinge",
    C: float = 1.0,
    lam: float | None = None,
    bias: str = "free",
    bias_scale: float = 1.0,
    weights: Any = None,
    solver: str = "auto",
    options: dict[str, Any] | None = None,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    max_epochs: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    warm: Result | None = None,
    zero_based: bool = False,
    kernel: Any = None,
    gamma: Any = "scale",
    sigma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
    cache: float | None = None,
    probability: bool = False,
    approx: str | None = None,
    components: int = 500,
    landmarks: str = "auto",
    memory: Any = None,
    label: str | None = None,
    on_bad_line: str = "refuse",
    expand: str | None = None,
) -> Result:
    """Train a support vector machine, linear or with a kernel, and prove how good it is.

    Minimises ½‖w‖² + Σ C s_i ℓ(y_i (⟨w, x_i⟩ + b)), and stops when the relative duality gap is at most `tol`.

    Parameters
    ----------
    X : array, SciPy sparse matrix, or a file: LIBSVM text (plain, .gz, .bz2, .xz, .zst), CSV, Parquet, Arrow or .npy;
        several files, or a pattern such as "part-*.svm"
    y : labels of any type, two classes or more (then one class against the rest, or with a kernel each pair of
        classes); None for a file, but for .npy the file that holds them, or an array
    loss : "hinge", "squared_hinge" or "logistic"
    C, lam : the weight of the losses, as C or as λ of λ/2‖w‖² + (1/n) Σ ℓ, C = 1/(nλ)
    bias : "free" (outside the norm), "regularised" (a constant feature of size `bias_scale`) or "none"
    weights : one number s_i ≥ 0 for each example
    solver : "auto", or the name of one
    options : the solver's own options, such as {"batch": 32} for pegasos; see its page
    tol : relative duality gap to reach
    max_seconds, max_epochs : limits; the best model so far is returned, with its certificate
    seed : the same seed gives the same bits on the same machine
    threads : how many read, certify and predict; all cores by default
    callback : called with a `Record` after each certificate; a true return value stops the training
    checkpoint, resume : a file that holds the run every half minute and at its end, and whether to go on from it
    force : whether the checkpoint may replace any file, not only a checkpoint of the same run
    warm : the result of an earlier training on the same rows, to start from
    zero_based : whether the features in a file are counted from 0 instead of 1
    kernel : None, or "linear", "polynomial", "gaussian", "sigmoid", "precomputed", or a function f(X, Z)
    gamma : γ of the kernel: a number, "scale" for 1/(d var X) or "auto" for 1/d
    sigma : the same for a Gaussian by its width, γ = 1/(2σ²)
    degree, coef0 : p and r of (γ⟨x, z⟩ + r)^p; r of tanh(γ⟨x, z⟩ + r) too
    cache : megabytes of the kernel that may be held; a quarter of the free memory by default
    probability : whether a kernel model shall have probabilities, calibrated on five folds: six trainings, not one
    approx : None for the kernel itself, or "nystrom" or "fourier": so many `components`, features that nearly give the
        kernel, and a linear machine on them; the certificate is of that problem, any loss and solver will do
    landmarks : of Nyström features: "kmeans", "leverage", "uniform"; "auto" is kmeans for arrays, leverage for sparse X
    memory : bytes, or "500MB", that training from files may take beyond what the program takes at its start; rows that
        do not fit are read again in each pass. By default half of the free memory
    label : the column of labels in a table; by default the one called label, y, target or class
    on_bad_line : "refuse" the file for a line that cannot be read, or "skip" such lines
    expand : features computed from those of a row: "poly2", "hash:2**20", "fourier:2000:0.1", or of a sequence of
        letters "kmers:8"; not together with a kernel

    Returns
    -------
    Result
        with `model`, `certificate`, `status`, `history`, `alpha`, `solver`, `why`, `seconds`, `epochs`.

    Examples
    --------
    >>> import maxmargin
    >>> result = maxmargin.train([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [0, 0, 1, 1])
    >>> result.status.name, result.certificate.relative_gap <= 1e-4
    ('CONVERGED', True)
    """
    check_parameters(locals())
    keeping = checked_keeping(checkpoint, resume, force)
    check_names(loss, bias, solver, options, kernel is not None and approx is None)
    limits, threads, seed = checked_limits(tol, max_seconds, max_epochs), thread_count(threads), checked_seed(seed)
    approximation = checked_approximation(approx, components, landmarks)
    check_together(kernel, approx, probability, warm, checkpoint)
    budget, said = checked_memory(memory), dict[str, Any]()
    expansion = checked_expansion(expand, kernel, X)
    if is_file(X):
        files = Files(X, y, label, zero_based, on_bad_line, threads, budget, expansion)
        files.check()
        if solver in STREAMING_SOLVERS or (solver == "auto" and files.too_large()):
            check_streamed(kernel, weights, warm)
            check_bias(bias, bias_scale)
            if not files.again:
                raise RefusedError(f"{files.name}: is no file that can be read more than once: save it first")
            method: Any = find_solver("cached_loops" if solver == "auto" else solver, options)
            order = Order(
                files.source, loss, C, lam, bias, bias_scale, method, limits, files.budget, threads, seed,
                callback, keeping, expansion, files.identity if checkpoint is not None else "",
            )  # fmt: skip
            result = train_streamed(order, asked=solver != "auto")
            result.model.training.update(files.left_out)
            result.reason = blame(order, result, files.column_names)
            return result
        data, said = prepared(files), files.left_out
    else:
        if solver in STREAMING_SOLVERS:
            raise RefusedError(f"{solver} reads rows from files: name one as X, or take solver='auto'")
        data = X if isinstance(X, Prepared) else prepare(X, y, threads)
    if expansion is not None:
        said |= {"expand": expansion.text, "input_d": count_columns(data.rows)}
        longer = take(expansion.apply(data.rows))
        data = Prepared(longer, data.classes, data.codes, squared_norms(longer, threads))
    classes, codes = data.classes, data.codes
    if kernel is not None:
        counts = checked_weights(weights, codes)
        meant = find_kernel(
            kernel, data.rows, gamma=gamma, sigma=sigma, degree=degree, coef0=coef0, weights=counts
        )  # fmt: skip
        if approximation is not None:
            return approximated(
                data, meant, approximation, loss=loss, C=C, lam=lam, bias=bias, bias_scale=bias_scale,
                weights=weights, solver=solver, options=options, tol=tol, max_seconds=max_seconds,
                max_epochs=max_epochs, seed=seed, threads=threads, callback=callback, checkpoint=checkpoint,
                resume=resume, force=force, warm=warm,
            )  # fmt: skip
        strength = penalty(len(codes), C, lam)
        check_settings(loss, strength)
        named = find_solver("smo" if solver == "auto" else solver, options, kernel=True)
        run = Run(named, limits, checked_cache(cache), threads, seed, callback, keeping=keeping)
        weighted = bool(np.any(counts != 1.0))
        said |= {"options": options or {}, "loss": loss, "bias": bias, "C": strength, "weighted": weighted}
        result = with_kernel(
            data, meant, lambda y, C, *_: c_svc(y, C, bias), strength * counts, run, {"formulation": "C-SVC", **said},
            probability,
        )  # fmt: skip
        return data.explain(result)
    check_features(count_columns(data.rows), len(sides(classes)))
    problem = pose(
        data.rows, signs(codes, 1), loss=loss, C=C, lam=lam, weights=weights, bias=bias, bias_scale=bias_scale,
        threads=threads, squared_norms=data.squared_norms,
    )  # fmt: skip
    name, why = choose(problem) if solver == "auto" else (solver, "you asked for it")
    with noticed() as interrupt:
        parts = one_against_rest(
            problem, classes, codes, find_solver(name, options), limits, seed=seed, callback=callback,
            interrupt=interrupt, keeping=keeping,
            starts=starts_of(warm, problem, classes, penalty(problem.n, C, lam)),
        )  # fmt: skip
    training = {
        "options": options or {},
        "loss": loss, "bias": bias, "bias_scale": float(bias_scale), "solver": name, "tol": float(tol), "seed": seed,
        "C": penalty(problem.n, C, lam), "weighted": weights is not None,
        "n": problem.n, "d": problem.d, "nnz": problem.nnz, **said,
    }  # fmt: skip
    return data.explain(joined(classes, codes, parts, name, why, training, problem.centre))


@memory_errors()
def with_kernel(
    data: Prepared,
    kernel: Kernel,
    make: Make,
    weights: np.ndarray,
    run: Run,
    described: dict[str, Any],
    probability: bool = False,
) -> Result:
    """Train a machine with a kernel, one for each pair of classes; for probabilities, in at most half of the time."""
    classes, codes = data.classes, data.codes
    centre = kernel_centre(kernel, data.rows, balanced=described["bias"] == "free")
    rows = data.rows if centre is None else shifted(data.rows, centre)
    count = len(classes) * (len(classes) - 1) // 2

    def pairs() -> Iterator[Pair]:
        return pairs_of_classes(rows, classes, codes, kernel, weights, make)

    began = time.perf_counter()
    with noticed() as interrupt:
        run = replace(run, interrupt=interrupt)
        main = replace(run, limits=share(run.limits, 0.5)) if probability else run
        parts = one_against_one(pairs(), count, len(codes), main, kernel, 2 * count_stored(rows) / len(classes))
        left = share(run.limits, 1.0, time.perf_counter() - began)
        sigmoids, folds = calibrated(pairs(), count, replace(run, limits=left)) if probability else (None, [])
    status = worst([*parts, *folds])
    training = {**described, **run.summary(rows, described["formulation"], parts), "status": status.value}
    why = WHY if run.solver.name == "smo" else "you asked for it"
    model = model_of(data.rows, classes, codes, kernel, parts, training, sigmoids, centre)
    result = together(model, parts, run.solver.name, why)
    result.status, result.seconds = status, result.seconds + sum(fold.seconds for fold in folds)
    if run.keeping.checkpoint is None:
        result.seconds = time.perf_counter() - began  # pairs may have been trained side by side
    return result


def approximated(data: Prepared, kernel: Kernel, approximation: Approximation, **settings: Any) -> Result:
    """Train a linear machine on features that stand for the kernel."""
    threads, seed, began = settings["threads"], settings["seed"], time.perf_counter()
    weights = checked_weights(settings["weights"], data.codes)
    for side in sides(data.classes):
        check_both_classes(signs(data.codes, side), weights)
    counted = np.flatnonzero(weights)
    centre = kernel_centre(kernel, data.rows, balanced=False)
    every = data.rows if centre is None else shifted(data.rows, centre)
    rows = every if len(counted) == len(data.codes) else pick(every, counted)
    features = approximation.features(rows, kernel, seed, threads)
    phi = transform(features, every, threads)
    spent = time.perf_counter() - began
    if settings["max_seconds"] is not None:
        settings["max_seconds"] = max(settings["max_seconds"] - spent, LEAST_SECONDS)
    result = train(Prepared(phi, data.classes, data.codes, squared_norms(phi, threads)), **settings)
    assert isinstance(result.model, LinearModel)
    result.seconds += spent
    result.model = ApproximateModel(features, result.model, centre)
    result.model.training.update(d=features.d, nnz=count_stored(data.rows), approximation=result.model.approximation)
    result.why = f"{result.why} (on {result.model.approximation}: the certificate is of that problem)"
    return result


def share(limits: Limits, part: float, spent: float = 0.0) -> Limits:
    """The limits with a part of the time that is left."""
    if limits.max_seconds is None:
        return limits
    return replace(limits, max_seconds=part * max(limits.max_seconds - spent, 0.0))


def gather(X: Any, y: Any, zero_based: bool, threads: int) -> tuple[Rows, Any]:
    """Rows and labels, from a file or from arrays."""
    if is_file(X):
        return Files(X, y, zero_based=zero_based, threads=threads).read()
    return take(X), given(y)


def given(y: Any) -> Any:
    """Labels, which arrays do not bring with them."""
    if y is None:
        raise DataError("y is missing: give one label for each row of X")
    return y


def starts_of(warm: Result | None, problem: Problem, classes: np.ndarray, C: float) -> list[Point] | None:
    """Where to start each problem: at w, b and alpha, which stays the same part of its box where C is another."""
    if warm is None:
        return None
    if not isinstance(warm, Result):
        raise ParameterError(f"warm={warm!r} must be what an earlier train returned")
    alphas = np.atleast_2d(warm.alpha)
    if any(len(part.w) != problem.d for part in warm.parts):
        raise ParameterError(
            f"warm is of {len(warm.parts[0].w)} features, this training of {problem.d}: they must agree"
        )
    if alphas.shape != (len(sides(classes)), problem.n):
        raise ParameterError(
            f"warm is of {alphas.shape[1]} rows and {len(alphas)} problem(s), this training of {problem.n} and "
            f"{len(sides(classes))}: warm starts need the same rows and classes"
        )
    growth = C / warm.model.training.get("C", C)
    if not 0.0 < growth < np.inf:
        growth = 1.0
    return [Point(part.w, part.b, growth * part.alpha) for part in warm.parts]
