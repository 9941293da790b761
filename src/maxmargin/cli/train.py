"""maxmargin train FILE: a model with its certificate."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli.options import (
    Approx,
    Bias,
    BiasScale,
    Cache,
    Checkpoint,
    Coef0,
    Components,
    DataFile,
    Degree,
    Expand,
    Force,
    Gamma,
    Json,
    Kernel,
    Label,
    Labels,
    Lam,
    Landmarks,
    Loss,
    MaxEpochs,
    Memory,
    OnBadLine,
    Penalty,
    Probability,
    Quiet,
    Resume,
    Seed,
    Sigma,
    Solver,
    SolverOptions,
    Threads,
    TimeLimit,
    Tol,
    ZeroBased,
    number,
    parsed,
)

STOPPED_EARLY = 3
COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}
NOT_PART_OF_A_NAME = {*COMPRESSED, ".svm", ".libsvm", ".svmlight", ".txt", ".csv", ".parquet", ".arrow", ".npy"}


def train(
    file: DataFile,
    C: Penalty = 1.0,
    lam: Lam = None,
    loss: Loss = "hinge",
    bias: Bias = "free",
    bias_scale: BiasScale = 1.0,
    solver: Solver = "auto",
    option: SolverOptions = None,
    tol: Tol = 1e-4,
    time_limit: TimeLimit = None,
    max_epochs: MaxEpochs = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where to save.", show_default="FILE.safetensors")
    ] = None,
    checkpoint: Checkpoint = None,
    resume: Resume = False,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = None,
    zero_based: ZeroBased = False,
    kernel: Kernel = None,
    gamma: Gamma = "scale",
    sigma: Sigma = None,
    degree: Degree = 3,
    coef0: Coef0 = 0.0,
    cache: Cache = None,
    probability: Probability = False,
    approx: Approx = None,
    components: Components = 500,
    landmarks: Landmarks = "auto",
    memory: Memory = None,
    label: Label = None,
    labels: Labels = None,
    on_bad_line: OnBadLine = "refuse",
    expand: Expand = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Train an SVM on FILE, linear or with a kernel, and save it with its certificate.

    Ctrl-C stops early and saves the best model so far. A model replaces only a model, and never a better one of
    the same problem; a checkpoint replaces only one of the same run. Exit code: 0 converged (or the solver's own
    rule ended it), 1 error, 3 stopped early or without an answer, 143 stopped by SIGTERM.
    """
    from maxmargin import training
    from maxmargin.cli import complain
    from maxmargin.cli.better_model import place_for
    from maxmargin.cli.progress import progress
    from maxmargin.cli.summary import as_json, as_words
    from maxmargin.data.open_source import files_of
    from maxmargin.status import Status
    from maxmargin.system.atomic_files import check_apart, check_writable
    from maxmargin.system.overwriting import check_replaces_model

    target = model or default_model(file)
    check_writable(target)
    check_apart(*files_of(file), labels, target, checkpoint)
    check_replaces_model(target, force)
    with progress(tol, quiet) as show:
        result = training.train(
            file, labels, C=C, lam=lam, loss=loss, bias=bias, bias_scale=bias_scale, solver=solver,
            options=parsed(option) if option else None, tol=tol,
            max_seconds=time_limit, max_epochs=max_epochs, checkpoint=checkpoint, resume=resume,
            force=force and checkpoint is not None, seed=seed, threads=threads, zero_based=zero_based, callback=show,
            kernel=kernel, gamma=number(gamma), sigma=sigma, degree=degree, coef0=coef0, cache=cache,
            probability=probability, approx=approx, components=components, landmarks=landmarks,
            memory=memory, label=label, on_bad_line=on_bad_line, expand=expand,
        )  # fmt: skip
    place = target if force else place_for(result.model, target)
    result.model.save(place, force)
    if place != target:
        complain(f"{target}: holds a better model, which stays; this one is saved as {place} (--force replaces it)")
    target = place
    print(jsonlib.dumps(as_json(result, target)) if json else f"{as_words(result)}\nsaved {target}")
    return 0 if result.status in (Status.CONVERGED, Status.SEPARATED, Status.SETTLED) else STOPPED_EARLY


def default_model(file: Path) -> Path:
    """The data file's name, without its endings and without what stands for other letters, in the current folder."""
    name = Path("".join(letter for letter in file.name if letter not in "*?[]") or "model")
    while name.suffix in NOT_PART_OF_A_NAME:
        name = name.with_suffix("")
    return Path(f"{name}.safetensors")
