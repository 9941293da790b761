"""The front door: rows and labels in, a certified model out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.choose import choose
from maxmargin.data.columns import column_to_blame, shifted
from maxmargin.data.examples import Examples, examples_in, examples_of
from maxmargin.data.files import Files, is_file
from maxmargin.data.labels import sides, signs
from maxmargin.data.pick import pick
from maxmargin.data.rows import count_columns, count_stored
from maxmargin.data.take import take
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.kernel_training import train_with_kernel
from maxmargin.kernels.approximation import Approximation
from maxmargin.kernels.feature_maps import transform
from maxmargin.kernels.functions import Kernel, find_kernel, kernel_centre
from maxmargin.loop.interrupts import noticed
from maxmargin.loop.loop import Callback
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.linear import LinearModel
from maxmargin.multiclass import Run, each_against_rest, solve_all
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem, check_both_classes, checked_weights, pose
from maxmargin.results import Result, joined
from maxmargin.settings.settings import Settings, checked_settings
from maxmargin.solvers import STREAMING_SOLVERS, find_solver
from maxmargin.status import Status
from maxmargin.streamed_training import train_streamed
from maxmargin.system.budget import check_features
from maxmargin.system.memory_errors import memory_errors

LEAST_SECONDS = 1e-3  # of a time limit, for the fit itself
ASKED = "you asked for it"
IN_MEMORY = ("kernel", "weights", "class_weight", "warm")  # what rows that are streamed do not allow


@memory_errors()
def train(
    X: Any,
    y: Any = None,
    *,
    task: str = "classify",
    loss: str = "hinge",
    C: float = 1.0,
    lam: float | None = None,
    nu: float | None = None,
    epsilon: float = 0.1,
    bias: str = "free",
    bias_scale: float = 1.0,
    weights: Any = None,
    class_weight: Any = None,
    expand: str | None = None,
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
    memory: Any = None,
    label: str | None = None,
    zero_based: bool = False,
    on_bad_line: str = "refuse",
) -> Result:
    """Train a support vector machine, linear or with a kernel, and prove how good it is.

    Minimises ½‖w‖² + Σ C s_i ℓ(y_i (⟨w, x_i⟩ + b)), and stops when the relative duality gap is at most `tol`.

    Parameters
    ----------
    X : array, SciPy sparse matrix, or a file: LIBSVM text (plain, .gz, .bz2, .xz, .zst), CSV, Parquet, Arrow or .npy;
        several files, or a pattern such as "part-*.svm"
    y : labels of any type, two classes or more (then one class against the rest, or with a kernel each pair of
        classes); numbers for a regression; None for novelty detection and for a file, but for .npy the file that holds
        them, or an array
    task : "classify", "regress" (ε-SVR, or ν-SVR with `nu`) or "novelty" (one-class). The last two are trained with a
        kernel, the linear one by default
    loss : "hinge", "squared_hinge" or "logistic", for classification
    C, lam : the weight of the losses, as C or as λ of λ/2‖w‖² + (1/n) Σ ℓ, C = 1/(nλ)
    nu : ν of ν-SVC and ν-SVR, which takes the place of C or of ε; of novelty detection the part of outliers, 0.5 by
        default
    epsilon : how far a regression may be off at no cost
    bias : "free" (outside the norm), "regularised" (a constant feature of size `bias_scale`) or "none"
    weights : one number s_i ≥ 0 for each example
    class_weight : "balanced" for weights n / (k · count), or a dictionary {label: weight}; times `weights`
    expand : features computed from those of a row: "poly2", "hash:2**20", "fourier:2000:0.1", or of a sequence of
        letters "kmers:8"; not together with a kernel
    kernel : None, or "linear", "polynomial", "gaussian", "sigmoid", "precomputed", or a function f(X, Z)
    gamma : γ of the kernel: a number, "scale" for 1/(d var X) or "auto" for 1/d
    sigma : the same for a Gaussian by its width, γ = 1/(2σ²)
    degree, coef0 : p and r of (γ⟨x, z⟩ + r)^p; r of tanh(γ⟨x, z⟩ + r) too
    cache : megabytes of the kernel matrix that may be held; a quarter of the free memory by default
    probability : whether a kernel model shall have probabilities, calibrated on five folds: six fits instead of one
    approx : None for the kernel itself, or "nystrom" or "fourier": approximate the kernel by `components` explicit
        features and train a linear model on them; the certificate is of that problem, any loss and solver will do
    landmarks : how Nyström features are chosen: "kmeans", "leverage", "uniform"; "auto" is kmeans for arrays, leverage
        for sparse X
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
    memory : bytes, or "500MB", that training from files may take beyond what the program takes at its start; rows that
        do not fit are read again in each pass. By default half of the free memory
    label : the column of labels in a table; by default the one called label, y, target or class
    zero_based : whether the features in a file are counted from 0 instead of 1
    on_bad_line : "refuse" the file for a line that cannot be read, or "skip" such lines

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
    return fit(checked_settings(locals()))


def fit(settings: Settings) -> Result:
    """What `train` does, for settings that have been checked."""
    if not is_file(settings.X):
        if settings.solver in STREAMING_SOLVERS:
            raise RefusedError(f"{settings.solver} reads rows from files: name one as X, or take solver='auto'")
        return fit_examples(examples_for(settings), settings)
    files = files_for(settings)
    if settings.solver in STREAMING_SOLVERS or (settings.solver == "auto" and files.too_large()):
        check_streamed(settings, files)
        result = train_streamed(settings, files)
        result.model.training.update(files.left_out)
        return result
    result = fit_examples(examples_in(files, settings.task), settings)
    result.model.training.update(files.left_out)
    return result


@memory_errors()
def examples_for(settings: Settings) -> Examples:
    """Rows in memory and their labels, from arrays or files; once for any number of fits."""
    if is_file(settings.X):
        return examples_in(files_for(settings), settings.task)
    return examples_of(settings.X, settings.y, settings.task, settings.thread_count)


def files_for(settings: Settings) -> Files:
    """The files that X names, and how to read them."""
    files = Files(
        settings.X, settings.y, settings.label, settings.zero_based, settings.on_bad_line, settings.thread_count,
        settings.budget, settings.expansion,
    )  # fmt: skip
    files.check()
    return files


def check_streamed(settings: Settings, files: Files) -> None:
    """Refuse what needs all rows in memory."""
    if settings.task != "classify":
        raise RefusedError(f"task={settings.task!r} is not for files that do not fit in memory: give more memory")
    for name in IN_MEMORY:
        if settings.values[name] is not None:
            raise RefusedError(f"{name} is not for files that do not fit in memory: give more memory, or leave it out")
    if not files.again:
        raise RefusedError(f"{files.name}: is no file that can be read more than once: save it first")


def fit_examples(data: Examples, settings: Settings) -> Result:
    """Train on rows in memory."""
    metadata: dict[str, Any] = {}
    if settings.expansion is not None:
        metadata = {"expand": settings.expansion.text, "input_d": count_columns(data.rows)}
        data = data.on(take(settings.expansion.apply(data.rows)), settings.thread_count)
    if settings.kernel is None and not settings.uses_kernel:
        return fit_linear(data, settings, metadata)
    counts = checked_weights(settings.weights, np.zeros(data.n))
    kernel = find_kernel(
        settings.kernel or "linear", data.rows, gamma=settings.gamma, sigma=settings.sigma, degree=settings.degree,
        coef0=settings.coef0, weights=counts,
    )  # fmt: skip
    if settings.approximation is not None:
        return fit_features(data, kernel, settings.approximation, settings)
    weights = counts * data.class_weights(settings.class_weight)
    return explained(train_with_kernel(data, kernel, weights, settings), data)


def fit_linear(data: Examples, settings: Settings, metadata: dict[str, Any]) -> Result:
    """Train a linear classifier: one problem for two classes, else one for each class against the rest."""
    classes, codes = data.classes, data.codes
    check_features(count_columns(data.rows), len(sides(classes)))
    problem = pose(
        data.rows, signs(codes, 1), loss=settings.loss, C=settings.C, lam=settings.lam,
        weights=weights_of(data, settings), bias=settings.bias, bias_scale=settings.bias_scale,
        threads=settings.thread_count, squared_norms=data.squared_norms,
    )  # fmt: skip
    name, why = choose(problem) if settings.solver == "auto" else (settings.solver, ASKED)
    problems, C = each_against_rest(problem, classes, codes), settings.penalty(problem.n)
    with noticed() as interrupt:
        run = Run(
            find_solver(name, settings.options), settings.limits, int(settings.seed), settings.callback, interrupt,
            settings.keeping,
        )  # fmt: skip
        parts = solve_all(problems, len(problems), run, starts=starts_of(settings.warm, problem, classes, C))
    training = {
        **settings.summary(), "loss": settings.loss, "bias_scale": float(settings.bias_scale), "solver": name, "C": C,
        "n": problem.n, "d": problem.d, "nnz": problem.nnz, **metadata,
    }  # fmt: skip
    return explained(joined(classes, codes, parts, name, why, training, problem.centre), data)


def weights_of(data: Examples, settings: Settings) -> np.ndarray | None:
    """The weight of each example, of its class too; None where all count the same."""
    if settings.weights is None and settings.class_weight is None:
        return None
    return np.asarray(checked_weights(settings.weights, data.codes) * data.class_weights(settings.class_weight))


def fit_features(data: Examples, kernel: Kernel, approximation: Approximation, settings: Settings) -> Result:
    """Train a linear model on features that approximate the kernel."""
    threads, seed, began = settings.thread_count, int(settings.seed), time.perf_counter()
    weights = weights_of(data, settings)
    counts = np.ones(data.n) if weights is None else weights
    for side in sides(data.classes):
        check_both_classes(signs(data.codes, side), counts)
    counted = np.flatnonzero(counts)
    centre = kernel_centre(kernel, data.rows, balanced=False)
    every = data.rows if centre is None else shifted(data.rows, centre)
    rows = every if len(counted) == data.n else pick(every, counted)
    features = approximation.features(rows, kernel, seed, threads)
    phi = transform(features, every, threads)
    spent = time.perf_counter() - began
    if settings.max_seconds is not None:
        settings = settings.changed(max_seconds=max(settings.max_seconds - spent, LEAST_SECONDS))
    result = fit_linear(data.on(phi, threads), settings, {})
    assert isinstance(result.model, LinearModel)
    result.seconds += spent
    result.model = ApproximateModel(features, result.model, centre)
    result.model.training.update(d=features.d, nnz=count_stored(data.rows), approximation=result.model.approximation)
    result.why = f"{result.why} (on {result.model.approximation}: the certificate is of that problem)"
    return result


def explained(result: Result, data: Examples) -> Result:
    """The result, with the column to blame where rounding ended the training."""
    if result.status is Status.ROUNDING:
        result.reason = column_to_blame(data.rows, data.names)
    return result


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
