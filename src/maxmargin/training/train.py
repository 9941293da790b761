"""`train`, the main function: takes rows and labels, returns a certified model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.collections import is_on_cluster
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.examples import Examples, examples_in, examples_of
from maxmargin.data.files import Files, is_file
from maxmargin.data.rows import count_columns
from maxmargin.data.scaling import check_not_encoded, divided, divisors_of
from maxmargin.data.take import take
from maxmargin.errors import RefusedError
from maxmargin.kernels.functions import find_kernel
from maxmargin.loop.loop import Callback
from maxmargin.models.scaling import saved
from maxmargin.problems.linear import checked_weights
from maxmargin.results import Result, explained
from maxmargin.settings.parameters import is_given
from maxmargin.settings.settings import Settings, checked_settings
from maxmargin.solvers import PASS_SOLVERS, STREAMING_SOLVERS
from maxmargin.system.memory_errors import memory_errors
from maxmargin.training.approximate import fit_features
from maxmargin.training.by_passes import check_finite_C
from maxmargin.training.encoded_copy import encoded_once
from maxmargin.training.file_scaling import scaled_files
from maxmargin.training.hints import hints_on_data, hints_on_limits
from maxmargin.training.kernel import fit_kernel
from maxmargin.training.linear import fit_linear
from maxmargin.training.streamed import fit_streamed, path_streamed

IN_MEMORY = ("kernel",)  # parameters that need all rows in memory
BY_PASSES = ("weights", "class_weight", "warm", "probability")  # parameters that dual steps from files do not take


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
    scale: bool = False,
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
    client: Any = None,
    timeout: float = 600.0,
    memory: Any = None,
    label: str | None = None,
    encode: str = "auto",
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    zero_based: bool = False,
    on_bad_line: str = "refuse",
) -> Result:
    """Train a support vector machine, linear or with a kernel, and prove how good it is.

    Minimises ½‖w‖² + Σ C s_i ℓ(y_i (⟨w, x_i⟩ + b)), and stops when the relative duality gap is at most `tol`.

    Parameters
    ----------
    X : array, SciPy sparse matrix, data frame, or a file: LIBSVM text (plain, .gz, .bz2, .xz, .zst), CSV, Parquet,
        Arrow or .npy; a list of files, or a pattern such as "part-*.svm"
    y : labels of any type. More than two classes are trained one against the rest, or with a kernel pair by pair.
        Numbers for regression; None for novelty detection and for files. For .npy files: an array, or the file that
        holds the labels. For a data frame, `label` may name a column instead
    task : "classify", "regress" (ε-SVR, or ν-SVR with `nu`) or "novelty" (one-class). The last two use a kernel, the
        linear one by default
    loss : "hinge", "squared_hinge" or "logistic", for classification
    C, lam : the weight of the losses, as C or as λ of λ/2‖w‖² + (1/n) Σ ℓ, C = 1/(nλ)
    nu : ν of ν-SVC, where it replaces C, and of ν-SVR, where it replaces ε; for novelty detection the part of outliers,
        0.5 by default
    epsilon : regression errors up to ε cost nothing
    bias : "free" (outside the norm), "regularised" (a constant feature of size `bias_scale`) or "none"
    weights : one number s_i ≥ 0 for each example. For files also the name of a column of the table, which is then no
        feature, or of a file: text with one number a line, or .npy
    class_weight : "balanced" for weights n / (k · count), or a dictionary {label: weight}; times `weights`
    expand : features computed from those of a row: "poly2", "hash:2**20", "fourier:2000:0.1"; for sequences of letters
        "kmers:8"; not together with a kernel
    scale : whether each feature is divided by its largest absolute value, so that it lies in [-1, 1]; zeros stay zeros.
        The model does the same to the rows that it predicts
    kernel : None, or "linear", "polynomial", "gaussian", "sigmoid", "precomputed", or a function f(X, Z)
    gamma : γ of the kernel: a number, "scale" for 1/(d var X) or "auto" for 1/d
    sigma : the width of a Gaussian kernel, instead of gamma: γ = 1/(2σ²)
    degree, coef0 : p and r in (γ⟨x, z⟩ + r)^p; also r in tanh(γ⟨x, z⟩ + r)
    cache : megabytes for the cached part of the kernel matrix; a quarter of the free memory by default
    probability : whether the model gets probabilities, calibrated on five folds: six fits instead of one. Models of
        loss="logistic" have probabilities without it
    approx : None for the kernel itself, or "nystrom" or "fourier": approximate the kernel by `components` explicit
        features and train a linear model on them. Any loss and solver can be used; the certificate is for this problem
    landmarks : how Nyström features are chosen: "kmeans", "leverage", "uniform"; "auto" is kmeans for arrays, leverage
        for sparse X
    solver : "auto", or the name of a solver
    options : options of the solver, such as {"batch": 32} for pegasos; see its page
    tol : relative duality gap to reach
    max_seconds, max_epochs : limits; the best model so far is returned, with its certificate
    seed : the same seed gives the same bits on the same machine
    threads : number of threads that read, certify and predict; all cores by default
    callback : called with a `Record` after each certificate; a true return value stops the training
    checkpoint, resume : a file to which the run is saved every half minute and at its end; whether to continue from it
    force : whether the checkpoint may replace any file, not only a checkpoint of the same run
    warm : the result of an earlier training on the same rows, to start from
    client : a Dask cluster to train on: a `dask.distributed.Client`, the address of a scheduler such as
        "tcp://host:8786", or "local:4" for four processes on this machine. X is then a Dask array, a Dask data frame
        (y may name its column of labels), files that every worker can read, or a list of delayed blocks
        [(X, y), ...]. None for a Dask collection is the default client
    timeout : seconds after which waiting for the cluster is an error
    memory : limit for training from files, in bytes or as "500MB", beyond the memory that the program uses at its
        start; half of the free memory by default. Rows that do not fit are read again in each pass
    label : the column of labels in a table; by default the one called label, y, target or class
    encode : "auto" encodes the columns of tables and data frames: numbers are standardised, categories, dates and text
        become numbers, missing values are filled in. The model keeps the encoder. "none" takes numbers as they are
    columns, drop : names of the columns of a table to learn from, or to leave out
    kinds : what columns are, to overrule the choice: a dictionary of "number", "category", "text", "date" or "drop"
    zero_based : whether the features in a file are counted from 0 instead of 1
    on_bad_line : "refuse" a file with an unreadable line, or "skip" such lines

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
    settings = checked_settings(locals())
    result = fit(settings)
    result.hints += hints_on_limits(result, settings)
    return result


def fit(settings: Settings) -> Result:
    """Train with settings that have been checked."""
    if settings.client is not None or is_on_cluster(settings.X):
        from maxmargin.training.on_cluster import fit_on_cluster

        return fit_on_cluster(settings)
    if not is_file(settings.X):
        if settings.solver in STREAMING_SOLVERS:
            raise RefusedError(f"{settings.solver} reads rows from files: name one as X, or take solver='auto'")
        return fit_examples(examples_for(settings), settings)
    files = files_for(settings)
    if is_streamed(settings, files):
        check_streamed(settings, files)
        began = time.perf_counter()
        settings, files = scaled_files(settings, files)
        with encoded_once(settings, files) as (left, copied):
            preparing = time.perf_counter() - began
            result = fit_streamed(left, copied)
        result.seconds += preparing
        describe(result, files)
        return result
    data = examples_in(files, settings.task)
    result = fit_examples(data, settings)
    result.hints = hints_on_data(data, settings)
    result.model.training.update(described(files))
    return result


@memory_errors()
def fit_for_each(settings: Settings, Cs: Sequence[float]) -> list[Result] | None:
    """Train for each of the increasing C on a cluster or from files that do not fit in memory; None for other rows."""
    if settings.client is not None or is_on_cluster(settings.X):
        from maxmargin.training.on_cluster import path_on_cluster

        return path_on_cluster(settings, Cs)
    if not is_file(settings.X) or not is_streamed(settings, files := files_for(settings)):
        return None
    check_streamed(settings, files)
    settings, files = scaled_files(settings, files)
    with encoded_once(settings, files) as (left, copied):
        results = path_streamed(left, copied, Cs)
    for result in results:
        describe(result, files)
    return results


def is_streamed(settings: Settings, files: Files) -> bool:
    """Whether the files are read again in each pass: the solver requires it, or they do not fit in memory."""
    if settings.solver in STREAMING_SOLVERS:
        return True
    return settings.solver in ("auto", *PASS_SOLVERS) and files.too_large()


@memory_errors()
def examples_for(settings: Settings) -> Examples:
    """Return rows in memory and their labels, from arrays or files, for one fit or several."""
    if is_file(settings.X):
        return examples_in(files_for(settings), settings.task)
    return examples_of(settings.X, settings.y, settings.task, settings.thread_count, settings.request)


def files_for(settings: Settings, encoder: Encoder | None = None) -> Files:
    """Return the files that X names, with the settings for reading them, and the encoder of other rows if given."""
    files = Files(
        settings.X, settings.y, settings.label, settings.zero_based, settings.on_bad_line, settings.thread_count,
        settings.budget, settings.expansion, weights=settings.weights if is_file(settings.weights) else None,
        request=settings.request, given_encoder=encoder,
    )  # fmt: skip
    files.check()
    return files


def describe(result: Result, files: Files) -> None:
    """Let a model say of its streamed files what it needs for prediction."""
    training = result.model.training
    training.update(described(files))
    if files.divisors is not None:  # a training that was stopped in its first pass may have seen fewer features
        training["scale"] = saved(files.divisors[: int(training.get("input_d", result.model.d))])


def described(files: Files) -> dict[str, Any]:
    """Return what a model says of its files: skipped lines, the column of weights, and what its columns became."""
    found: dict[str, Any] = dict(files.left_out)
    if files.column_of_weights is not None:
        found["weights_column"] = files.column_of_weights
    if files.encoder is not None:
        found["encoder"] = files.encoder.saved()
    elif files.source.facts is not None and files.source.facts.encoder is not None:
        found["encoder"] = files.source.facts.encoder
    elif files.column_names is not None:
        found["columns"] = files.column_names
    if (label := files.label_of_table) is not None:
        found["label_column"] = label
    return found


def check_streamed(settings: Settings, files: Files) -> None:
    """Refuse settings that need all rows in memory or another solver, and files that cannot be read twice."""
    if settings.task != "classify":
        raise RefusedError(f"task={settings.task!r} is not for files that do not fit in memory: give more memory")
    check_finite_C(settings)
    for name in IN_MEMORY:
        if is_given(name, settings.values[name]):
            raise RefusedError(f"{name} is not for files that do not fit in memory: give more memory, or leave it out")
    for name in BY_PASSES if settings.solver in STREAMING_SOLVERS else ():
        if is_given(name, settings.values[name]):
            raise RefusedError(
                f"{settings.solver} has no {name}: take solver='auto', or one of {', '.join(PASS_SOLVERS)}"
            )
    if not files.again:
        raise RefusedError(f"{files.name}: is no file that can be read more than once: save it first")


def fit_examples(data: Examples, settings: Settings) -> Result:
    """Train on rows in memory. The model keeps what made the rows of a table, and the divisors of scaled features."""
    if settings.scale:
        return fit_scaled(data, settings)
    result = fit_rows(data, settings)
    if data.encoder is not None:
        result.model.training["encoder"] = data.encoder.saved()
    return result


def fit_scaled(data: Examples, settings: Settings) -> Result:
    """Train on rows in memory, with each feature divided by its largest absolute value."""
    moved, divisors = scaled_examples(data, settings.thread_count)
    result = fit_examples(moved, settings.changed(scale=False))
    result.model.training["scale"] = saved(divisors)
    return result


def scaled_examples(data: Examples, threads: int) -> tuple[Examples, np.ndarray]:
    """Return the examples with each feature divided by its largest absolute value, and the divisors."""
    check_not_encoded(data.encoder)
    divisors = divisors_of(data.rows)
    return replace(data.on(divided(data.rows, divisors), threads), names=data.names), divisors


def fit_rows(data: Examples, settings: Settings) -> Result:
    """Train on rows in memory."""
    if data.weights is not None:
        settings = settings.changed(weights=data.weights)
    metadata: dict[str, Any] = {}
    if settings.expansion is not None:
        metadata = {"expand": settings.expansion.text, "input_d": count_columns(data.rows)}
        data = data.on(take(settings.expansion.apply(data.rows)), settings.thread_count)
    if settings.kernel is None and not settings.uses_kernel:
        return fit_linear(data, settings, metadata)
    counts = checked_weights(settings.weights, np.zeros(data.n))
    kernel = find_kernel(
        settings.kernel or "linear", data.rows, gamma=settings.gamma, sigma=settings.sigma, degree=settings.degree,
        coef0=settings.coef0, weights=None if settings.weights is None else counts,
    )  # fmt: skip
    if settings.approximation is not None:
        return fit_features(data, kernel, settings.approximation, settings)
    weights = counts if settings.class_weight is None else counts * data.class_weights(settings.class_weight)
    return explained(fit_kernel(data, kernel, weights, settings), data)
