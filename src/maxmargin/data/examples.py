"""Training examples in memory: rows with class labels, regression targets, or neither (novelty detection)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.encoding.frames import encoded_frame, fit_to_frame, is_table
from maxmargin.data.encoding.request import Request
from maxmargin.data.files import Files
from maxmargin.data.frames import frame_names, named_frame
from maxmargin.data.labels import check_length, encode, show
from maxmargin.data.passes import squared_norms
from maxmargin.data.rows import Rows, count_rows
from maxmargin.data.take import check_finite, take_unseen
from maxmargin.errors import DataError

NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Examples:
    """Validated rows, with ‖x_i‖² of each row.

    For classification, `classes` holds the sorted labels and `codes` the class number of each example. For regression,
    `targets` holds one number for each example. Novelty detection uses neither. `names` are the column names. `weights`
    are those that files hold, if any. `encoder` is what made the rows of a table.
    """

    rows: Rows
    squared_norms: np.ndarray
    classes: np.ndarray = field(default_factory=lambda: NOTHING)
    codes: np.ndarray = field(default_factory=lambda: NOTHING)
    targets: np.ndarray = field(default_factory=lambda: NOTHING)
    encoder: Encoder | None = None
    names: Sequence[str] | None = None
    weights: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of examples."""
        return count_rows(self.rows)

    def on(self, rows: Rows, threads: int) -> Examples:
        """Return examples with the same labels and other rows."""
        return replace(self, rows=rows, squared_norms=squared_norms(rows, threads), names=None)

    def class_weights(self, class_weight: str | Mapping[Any, float] | None) -> np.ndarray:
        """Return the weight of each example's class: 1 without classes or class weights."""
        if class_weight is None:
            return np.ones(self.n)
        return np.asarray(weights_of_classes(class_weight, self.classes, self.codes)[self.codes])


def weights_of_classes(
    class_weight: str | Mapping[Any, float] | None, classes: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """Return the weight of each class: 1 for None, n / (k count) for "balanced", or as given."""
    if isinstance(class_weight, str):
        return np.asarray(len(codes) / (len(classes) * np.bincount(codes, minlength=len(classes))))
    weights = np.ones(len(classes))
    for label, weight in (class_weight or {}).items():
        found = [k for k, known in enumerate(classes.tolist()) if known == label or show(known) == show(label)]
        if not found:
            known = ", ".join(map(show, classes[:8]))
            raise DataError(f"class_weight names the class {show(label)}, and the data have {known}: name one of these")
        weights[found[0]] = weight
    return weights


def examples_of(X: Any, y: Any, task: str, threads: int, request: Request | None = None) -> Examples:
    """Build examples from arrays, or from a data frame that is encoded as `request` says."""
    if is_table(X):
        X, y, label = with_labels(X, y, None if request is None else request.label)
        if request is not None:
            encoder = fit_to_frame(X, y, request._replace(label=None))
            found = examples_of(encoded_frame(encoder, X), y, task, threads)
            return replace(found, encoder=replace(encoder, label=label), names=encoder.names)
    if y is None and task != "novelty":
        raise DataError("y is missing: give one label for each row of X")
    return labelled(take_unseen(X), y, task, "y", threads, frame_names(X))


def with_labels(X: Any, y: Any, label: str | None) -> tuple[Any, Any, str | None]:
    """Return a data frame without its column of labels, the labels, and the name of the column, if one is named."""
    label = y if isinstance(y, str) else label
    if label is None:
        return X, y, None
    frame = named_frame(X)
    if label not in frame.columns:
        known = ", ".join(map(repr, frame.columns[:8]))
        raise DataError(f"X has no column {label!r}: its columns are {known}")
    if y is not None and not isinstance(y, str):
        raise DataError(f"label={label!r} names the labels, and y gives them too: leave one out")
    return frame.drop(label).to_native(), frame.get_column(label).to_numpy(), label


def examples_in(files: Files, task: str) -> Examples:
    """Read examples from files."""
    rows, labels, weights = files.read_weighted()
    found = labelled(rows, labels, task, files.name, files.threads, files.column_names)
    return replace(found, weights=weights, encoder=files.encoder)


def labelled(
    rows: Rows, labels: Any, task: str, name: str, threads: int, names: Sequence[str] | None = None
) -> Examples:
    """Build examples for a task. The values of the rows are checked only if a squared norm is not finite."""
    squares = squared_norms(rows, threads)
    if not np.all(np.isfinite(squares)):
        check_finite(rows)
    if task == "classify":
        classes, codes = encode(labels, count_rows(rows), name)
        return Examples(rows, squares, classes, codes, names=names)
    if not count_rows(rows):
        raise DataError("X has 0 rows: there is nothing to train on")
    if task == "novelty":
        return Examples(rows, squares, names=names)
    return Examples(rows, squares, targets=numbers_of(labels, count_rows(rows), name), names=names)


def numbers_of(labels: Any, n: int, name: str) -> np.ndarray:
    """Return the targets of a regression as float64; raise unless each row has one finite number."""
    y = check_length(labels, n)
    try:
        targets = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} holds the label {show(y[0])!r}: a regression needs a number for each row") from None
    wrong = np.flatnonzero(~np.isfinite(targets))
    if wrong.size:
        raise DataError(f"{name}[{wrong[0]}] is {targets[wrong[0]]}: every example needs a finite number")
    return targets
