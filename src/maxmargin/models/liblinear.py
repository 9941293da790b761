"""Models in LIBLINEAR's own text format, which its `predict` and other programs read.

solver_type L2R_LR       for classes (CLASSIFIERS in liblinear_text), for regression and one-class models (FUNCTIONS)
nr_class 3
label 7 -3 4             whole numbers, one for each column of w; functions have none
nr_feature 5
bias 1                   value of one more feature, whose weights come last; below 0 there is none
rho 0.5                  subtracted from the value; one-class models only
w                        then a line for each feature, with a weight for each label

A model of two classes has one column, which is positive for the first label. MCSVM_CS has one for each label, but also
decides between two labels by the first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.take import take
from maxmargin.errors import FileError, ParameterError
from maxmargin.kernels.functions import Linear
from maxmargin.kernels.points import matrix_of
from maxmargin.models.kernel_function import ONE_CLASS, KernelFunction
from maxmargin.models.liblinear_text import (
    CLASSIFIERS,
    FUNCTIONS,
    ONE_CLASS_TYPE,
    Header,
    Lines,
    read_header,
    read_weights,
)
from maxmargin.models.libsvm import whole_labels
from maxmargin.models.linear import LinearModel, has_probabilities
from maxmargin.models.scaling import check_unscaled
from maxmargin.problems.certificate import Certificate
from maxmargin.system.atomic_files import beginning, replacing
from maxmargin.system.overwriting import check_replaces

FIRST = b"solver_type"
WRITTEN = {"hinge": "L2R_L1LOSS_SVC_DUAL", "squared_hinge": "L2R_L2LOSS_SVC", "logistic": "L2R_LR"}
TIE = 5e-324  # The smallest number above 0: added to any other number but 0, it changes nothing.


def is_liblinear_model(path: str | Path) -> bool:
    """Whether a file begins like a LIBLINEAR model."""
    return beginning(path, len(FIRST)) == FIRST


def write_liblinear_model(model: LinearModel | KernelFunction, path: str | Path, force: bool = False) -> None:
    """Write a linear model for LIBLINEAR, atomically. Only a LIBLINEAR model is replaced, unless `force` is true.

    Regression and one-class models need a linear kernel. Labels must be whole numbers, and a model trained with
    `expand` or `scale` is refused: LIBLINEAR does not expand or scale rows.

    Examples
    --------
    >>> import maxmargin
    >>> model = maxmargin.train([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]).model
    >>> maxmargin.write_liblinear_model(model, "x.model")  # doctest: +SKIP
    """
    check_replaces(path, "a LIBLINEAR model", is_liblinear_model, force)
    check_unscaled(model.training, "LIBLINEAR")
    if isinstance(model, LinearModel):
        head, w, b = class_lines(model), model.w, model.intercept
    elif isinstance(model, KernelFunction) and isinstance(model.kernel, Linear):
        head, w, b = function_lines(model), weights_of(model), np.array([model.intercept])
    else:
        raise ParameterError(
            f"LIBLINEAR's files hold linear models only, not this {type(model).__name__}: save as safetensors, or "
            "write a kernel model with write_libsvm_model"
        )
    if head[0].endswith(ONE_CLASS_TYPE):
        head, b = [*head, f"rho {float(-b[0]) + 0.0!r}"], np.zeros(1)
    biased = bool(np.any(b))
    rows = np.column_stack([w, b]) if biased else w
    lines = [*head, f"nr_feature {w.shape[1]}", f"bias {1 if biased else -1}", "w"]
    with replacing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
        stream.writelines((" ".join(map(repr, row.tolist())) + " \n").encode() for row in rows.T)


def class_lines(model: LinearModel) -> list[str]:
    """Return the lines with the type and the labels. The first of two labels is the positive one."""
    if model.expansion is not None:
        raise ParameterError(
            f"LIBLINEAR does not expand rows, and this model was trained with expand={model.training['expand']!r}: "
            "save as safetensors, or train on expanded rows"
        )
    labels = whole_labels(model.classes, "LIBLINEAR")
    kind = "L2R_LR" if has_probabilities(model.loss) else WRITTEN.get(model.loss, WRITTEN["hinge"])
    return [
        f"solver_type {kind}",
        f"nr_class {len(labels)}",
        " ".join(["label", *map(str, labels[::-1] if len(labels) == 2 else labels)]),
    ]


def function_lines(model: KernelFunction) -> list[str]:
    """Return the line with the type of a regression or one-class model."""
    return [f"solver_type {ONE_CLASS_TYPE if model.formulation == ONE_CLASS else 'L2R_L1LOSS_SVR_DUAL'}", "nr_class 2"]


def weights_of(model: KernelFunction) -> np.ndarray:
    """Return w of a function with a linear kernel, as one row."""
    return np.asarray(model.coefficients @ matrix_of(model.around(model.vectors)), dtype=np.float64).reshape(1, -1)


def read_liblinear_model(path: str | Path) -> LinearModel | KernelFunction:
    """Read a model written by LIBLINEAR. Its certificate is infinite: nothing is known about its optimality."""
    try:
        with Path(path).open("rb") as stream:
            lines = Lines(stream, str(path))
            header = read_header(lines)
            weights = read_weights(lines, header)
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from error
    with np.errstate(over="ignore", invalid="ignore"):
        b = (header.bias * weights[header.d] if header.bias >= 0.0 else np.zeros(header.columns)) - header.rho
        w = weights[: header.d].T
        if header.labels:
            w, b = of_sorted_classes(header, w, b)
    if not (np.all(np.isfinite(w)) and np.all(np.isfinite(b))):
        raise FileError(
            f"{path}: bias, rho and weights lead to values that are not finite: train again on scaled features"
        )
    return classifier(header, w, b) if header.labels else function(header, w, b)


def of_sorted_classes(header: Header, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and b for sorted classes, positive for the second of two."""
    order = np.argsort(header.labels)
    if len(order) > 2:
        w, b = w[order], b[order]
    else:
        sign = -1.0 if order[0] == 0 else 1.0
        w, b = sign * w[:1], sign * b[:1]
    return np.ascontiguousarray(w), b if np.any(b) else tie_breaking(order)


def classifier(header: Header, w: np.ndarray, b: np.ndarray) -> LinearModel:
    """Build a classifier."""
    training = facts_of(header) | {"loss": CLASSIFIERS[header.solver], "bias": "none" if header.bias < 0 else "free"}
    none, nothing = np.zeros(0, dtype=np.int64), Certificate(np.inf, -np.inf)
    return LinearModel(np.sort(header.labels), w, b, none, np.zeros((len(w), 0)), nothing, training)


def tie_breaking(order: np.ndarray) -> np.ndarray:
    """Return a b that gives rows of zeros the label that LIBLINEAR gives them; `order` sorts the labels.

    Without a bias all their values are 0. LIBLINEAR then takes the second of two labels and the first of more; a
    `LinearModel` takes the first of the sorted classes.
    """
    if len(order) == 2:
        return np.array([TIE * order[1]])
    in_order = bool(np.all(np.diff(order) > 0))
    return np.zeros(len(order)) if in_order else np.asarray((len(order) - 1 - order) * TIE)


def function(header: Header, w: np.ndarray, b: np.ndarray) -> KernelFunction:
    """Build a regression or one-class model: a linear kernel whose only support vector is w."""
    training = facts_of(header) | {"formulation": FUNCTIONS[header.solver]}
    place, nothing = np.zeros(1, dtype=np.int64), Certificate(np.inf, -np.inf)
    return KernelFunction(take(w), place, np.ones(1), float(b[0]), 0.0, Linear(), nothing, training)


def facts_of(header: Header) -> dict[str, Any]:
    """Return the summary of a training of which only the file is known."""
    return {"solver": f"LIBLINEAR {header.solver}", "n": 0, "d": header.d, "nnz": 0}
