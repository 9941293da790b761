"""The front door: rows and labels in, a certified model out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.examples import Examples, examples_in, examples_of
from maxmargin.data.files import Files, is_file
from maxmargin.data.rows import count_columns
from maxmargin.data.take import take
from maxmargin.errors import RefusedError
from maxmargin.kernels.functions import find_kernel
from maxmargin.loop.loop import Callback
from maxmargin.problems.linear import checked_weights
from maxmargin.results import Result, explained
from maxmargin.settings.settings import Settings, checked_settings
from maxmargin.solvers import STREAMING_SOLVERS
from maxmargin.system.memory_errors import memory_errors
from maxmargin.training.approximate import fit_features
from maxmargin.training.kernel import fit_kernel
from maxmargin.training.linear import fit_linear
from maxmargin.training.streamed import fit_streamed

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
        result = fit_streamed(settings, files)
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
    return explained(fit_kernel(data, kernel, weights, settings), data)
