"""Every parameter of a training, once: its default, what it is for, and one sentence of help.

The signature of `train`, the options of the command line and the table in docs/training.md are compared with this list
by a test. `settings` checks the values. Nothing is imported here, so that the command line starts quickly.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A default, the group it belongs to, and a sentence of help."""

    default: Any
    group: str
    help: str


PROBLEM, KERNEL, RUN, FILES = "problem", "kernel", "run", "files"

PARAMETERS = {
    "loss": Parameter("hinge", PROBLEM, "hinge, squared_hinge or logistic."),
    "C": Parameter(1.0, PROBLEM, "The weight of the losses; inf for a hard margin."),
    "lam": Parameter(None, PROBLEM, "The same as λ: C = 1/(n λ)."),
    "bias": Parameter("free", PROBLEM, "free, regularised or none."),
    "bias_scale": Parameter(1.0, PROBLEM, "The size of the constant feature of a regularised bias."),
    "weights": Parameter(None, PROBLEM, "One number for each example, 0 or above."),
    "expand": Parameter(
        None, PROBLEM, "Features to compute: poly2, hash:2**20, fourier:2000:0.1; of sequences kmers:8."
    ),
    "kernel": Parameter(None, KERNEL, "linear, polynomial, gaussian or sigmoid."),
    "gamma": Parameter("scale", KERNEL, "γ of the kernel: a number, scale for 1/(d var X) or auto for 1/d."),
    "sigma": Parameter(None, KERNEL, "The width of a Gaussian: γ = 1/(2σ²)."),
    "degree": Parameter(3, KERNEL, "p of (γ⟨x, z⟩ + r)^p."),
    "coef0": Parameter(0.0, KERNEL, "r of a polynomial or a sigmoid."),
    "cache": Parameter(None, KERNEL, "Megabytes of the kernel matrix to hold."),
    "probability": Parameter(False, KERNEL, "A kernel model with probabilities: six fits instead of one."),
    "approx": Parameter(None, KERNEL, "nystrom or fourier: approximate the kernel by explicit features."),
    "components": Parameter(500, KERNEL, "How many features approximate the kernel."),
    "landmarks": Parameter("auto", KERNEL, "How nystrom chooses its landmarks: kmeans, leverage or uniform."),
    "solver": Parameter("auto", RUN, "auto, or one of the solvers by name."),
    "options": Parameter(None, RUN, "The solver's own, as NAME=VALUE; may be repeated."),
    "tol": Parameter(1e-4, RUN, "The relative duality gap to reach."),
    "max_seconds": Parameter(None, RUN, "Stop after this many seconds with the best so far."),
    "max_epochs": Parameter(None, RUN, "Stop after this many passes with the best so far."),
    "seed": Parameter(0, RUN, "The same seed gives the same model, bit for bit."),
    "threads": Parameter(None, RUN, "Threads to use."),
    "callback": Parameter(None, RUN, "Called with a Record after each certificate; a true value stops the training."),
    "checkpoint": Parameter(None, RUN, "A file that keeps the run, for --resume."),
    "resume": Parameter(False, RUN, "Go on from the checkpoint, if it exists."),
    "force": Parameter(False, RUN, "Replace any file, whatever it holds."),
    "warm": Parameter(None, RUN, "An earlier result on the same rows to start from."),
    "memory": Parameter(None, FILES, "Memory limit when training from files, e.g. 500MB."),
    "label": Parameter(None, FILES, "The column of labels in a table."),
    "zero_based": Parameter(False, FILES, "Features are counted from 0 in the file, not from 1."),
    "on_bad_line": Parameter("refuse", FILES, "refuse the file for a line that cannot be read, or skip such lines."),
}


def names_of(group: str) -> list[str]:
    """The parameters of a group."""
    return [name for name, parameter in PARAMETERS.items() if parameter.group == group]


def is_given(name: str, value: Any) -> bool:
    """Whether a value is another than the default."""
    default, plain = PARAMETERS[name].default, getattr(value, "tolist", lambda: value)()  # of a number of NumPy
    if isinstance(plain, dict):
        return bool(plain)
    return value is not default and not (isinstance(plain, (bool, int, float, str)) and plain == default)
