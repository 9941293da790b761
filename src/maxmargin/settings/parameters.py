"""The declaration of every parameter of a training: default, group, one sentence of help, type on the command line.

The options of the command line are made from this list. A test compares the signature of `train` and the table in
docs/training.md with it. `settings` checks the values. Nothing is imported here, so that the command line starts
quickly.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter: its default, its group, and a sentence of help.

    `option` is the type of its command-line option, None if it has none. `flags` are the names of the option, if they
    differ from the parameter's name. `shown` is the default in words, if its value says too little. `race` tells
    whether `race` accepts it, which compares solvers of linear classifiers on rows in memory.
    """

    default: Any
    group: str
    help: str
    option: Any = None
    flags: tuple[str, ...] = ()
    shown: str | bool = True
    race: bool = True


PROBLEM, KERNEL, RUN, FILES = "problem", "kernel", "run", "files"

PARAMETERS = {
    "task": Parameter("classify", PROBLEM, "classify, regress or novelty.", str, race=False),
    "loss": Parameter("hinge", PROBLEM, "hinge, squared_hinge or logistic.", str),
    "C": Parameter(1.0, PROBLEM, "The weight of the losses; inf for a hard margin.", float, ("-c", "--C")),
    "lam": Parameter(None, PROBLEM, "The same as λ: C = 1/(n λ).", float, ("--lam",)),
    "nu": Parameter(
        None,
        PROBLEM,
        "ν in the place of C or ε: the part of outliers or margin errors.",
        float,
        shown="0.5 for novelty",
        race=False,
    ),
    "epsilon": Parameter(0.1, PROBLEM, "Regression: errors of up to ε cost nothing.", float, race=False),
    "bias": Parameter("free", PROBLEM, "free, regularised or none.", str),
    "bias_scale": Parameter(1.0, PROBLEM, "The size of the constant feature of a regularised bias.", float),
    "weights": Parameter(
        None, PROBLEM, "One number ≥ 0 for each example: a column of the table, or a file, text or .npy.", str
    ),
    "class_weight": Parameter(None, PROBLEM, "balanced, or weights of classes: LABEL=WEIGHT,LABEL=WEIGHT.", str),
    "expand": Parameter(
        None,
        PROBLEM,
        "Features to compute: poly2, hash:2**20, fourier:2000:0.1; of sequences kmers:8.",
        str,
        race=False,
    ),
    "scale": Parameter(
        False,
        PROBLEM,
        "Divide each feature by its largest absolute value; the model does the same to new rows.",
        bool,
        ("--scale",),
        race=False,
    ),
    "kernel": Parameter(None, KERNEL, "linear, polynomial, gaussian, sigmoid or precomputed.", str, shown="none"),
    "gamma": Parameter("scale", KERNEL, "γ of the kernel: a number, scale for 1/(d var X) or auto for 1/d.", str),
    "sigma": Parameter(None, KERNEL, "The width of a Gaussian: γ = 1/(2σ²).", float),
    "degree": Parameter(3, KERNEL, "p of (γ⟨x, z⟩ + r)^p.", int),
    "coef0": Parameter(0.0, KERNEL, "r of a polynomial or a sigmoid.", float),
    "cache": Parameter(
        None, KERNEL, "Megabytes of the kernel matrix to hold.", float, shown="a quarter of the free memory"
    ),
    "probability": Parameter(
        False,
        PROBLEM,
        "Calibrate probabilities on five folds: six fits instead of one.",
        bool,
        ("--probability",),
        race=False,
    ),
    "approx": Parameter(None, KERNEL, "nystrom or fourier: approximate the kernel by explicit features.", str),
    "components": Parameter(500, KERNEL, "How many features approximate the kernel.", int),
    "landmarks": Parameter("auto", KERNEL, "How nystrom chooses its landmarks: kmeans, leverage or uniform.", str),
    "solver": Parameter("auto", RUN, "auto, or one of the solvers by name.", str, race=False),
    "options": Parameter(None, RUN, "The solver's own, as NAME=VALUE; may be repeated.", list[str], race=False),
    "tol": Parameter(1e-4, RUN, "The relative duality gap to reach.", float),
    "max_seconds": Parameter(None, RUN, "Stop after this many seconds with the best so far.", float),
    "max_epochs": Parameter(None, RUN, "Stop after this many passes with the best so far.", float),
    "seed": Parameter(0, RUN, "The same seed gives the same model, bit for bit.", int),
    "threads": Parameter(None, RUN, "Threads to use.", int, ("--threads",), "all cores"),
    "callback": Parameter(None, RUN, "Called with a Record after each certificate; a true value stops the training."),
    "checkpoint": Parameter(None, RUN, "A file that keeps the run, for --resume.", "path", race=False),
    "resume": Parameter(False, RUN, "Go on from the checkpoint, if it exists.", bool, ("--resume",), race=False),
    "force": Parameter(False, RUN, "Replace any file, whatever it holds.", bool, ("--force",), race=False),
    "warm": Parameter(None, RUN, "An earlier result on the same rows to start from.", race=False),
    "client": Parameter(
        None,
        RUN,
        "A Dask cluster to train on: tcp://HOST:8786, or local:4 for four processes.",
        str,
        ("--cluster",),
        shown="none",
        race=False,
    ),
    "timeout": Parameter(600.0, RUN, "Seconds to wait for the cluster before giving up.", float, race=False),
    "memory": Parameter(
        None, FILES, "Memory limit when training from files, e.g. 500MB.", str, shown="half of the free memory"
    ),
    "label": Parameter(None, FILES, "The column of labels in a table.", str, shown="label, y, target or class"),
    "encode": Parameter("auto", FILES, "auto: encode the columns of a table; none: take its numbers as they are.", str),
    "columns": Parameter(None, FILES, "Columns of a table to learn from: NAME,NAME,...", str, shown="all"),
    "drop": Parameter(None, FILES, "Columns of a table to leave out: NAME,NAME,...", str, shown="none"),
    "kinds": Parameter(
        None,
        FILES,
        "What a column of a table is, as NAME=KIND: number, category, text, date or drop; may be repeated.",
        list[str],
        ("--as",),
    ),
    "zero_based": Parameter(
        False, FILES, "Features are counted from 0 in the file, not from 1.", bool, ("--zero-based",)
    ),
    "on_bad_line": Parameter(
        "refuse", FILES, "refuse the file for a line that cannot be read, or skip such lines.", str
    ),
}


IN_A_RACE = [name for name, parameter in PARAMETERS.items() if parameter.race and parameter.group != KERNEL]


def is_given(name: str, value: Any) -> bool:
    """Whether a value differs from the default."""
    default = PARAMETERS[name].default
    if value is default:
        return False
    plain = getattr(value, "tolist", lambda: value)()  # for NumPy numbers
    if isinstance(plain, dict):
        return bool(plain)
    return not (isinstance(plain, (bool, int, float, str)) and plain == default)
