"""What one pass over some rows tells about a model: decision values, labels, spreads, copies, a sample, the worst rows.

Rows of files are read block by block, so the data may be larger than memory: a row costs some tens of bytes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.encoding.frames import is_table
from maxmargin.data.examples import with_labels
from maxmargin.data.files import Files, content_of, is_file
from maxmargin.data.labels import check_length, show
from maxmargin.data.open_source import files_of
from maxmargin.data.passes import combination, combination_of_squares
from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.errors import DataError
from maxmargin.models.input_files import files_for_model
from maxmargin.models.input_rows import input_rows
from maxmargin.models.kernel import KernelModel
from maxmargin.models.linear import LinearModel
from maxmargin.models.probabilities import pair_probabilities
from maxmargin.problems.losses import losses_with_probabilities, sigmoid
from maxmargin.reporting.facts.kept_rows import KeptRows
from maxmargin.reporting.facts.row_hashes import Repeats, repeats, row_hashes
from maxmargin.reporting.subject import Subject
from maxmargin.system.threads import thread_count

SAMPLE = 700  # rows that are drawn as points
VALUES = 1 << 22  # most values of the sample: 32 MB
WORST = 8  # rows that are explained


class Block(NamedTuple):
    """Some rows with their labels; `first` is the number of the first one."""

    rows: Rows
    labels: np.ndarray | None
    first: int


@dataclass(eq=False)
class Evidence:
    """Facts about n rows. `values` are decision values: (n,), or (n, k) for more than two classes.

    `codes` are class numbers, −1 for labels that the model does not know; `targets` are numbers to predict. `means` and
    `spreads` are those of the features. `note` tells of values that the training had not seen.
    """

    name: str
    values: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    codes: np.ndarray = field(repr=False)
    targets: np.ndarray = field(repr=False)
    unknown: list[str]
    means: np.ndarray = field(repr=False)
    spreads: np.ndarray = field(repr=False)
    repeats: Repeats
    sample: KeptRows = field(repr=False)
    worst: KeptRows = field(repr=False)
    is_training: bool | None  # None: not known
    note: str = ""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def described(self) -> str:
        """The rows in words."""
        which = {True: ", the rows of the training", False: ", not the rows of the training", None: ""}
        return f"{self.n:,} rows of {self.name}{which[self.is_training]}"


def gathered(
    subject: Subject, X: Any, y: Any = None, threads: int | None = None, label: str | None = None,
    zero_based: bool = False,
) -> Evidence:  # fmt: skip
    """Return what the rows tell about the model. X is a file or an array, as for `train`."""
    labelled, threads = subject.task != "novelty", thread_count(threads)
    if is_file(X):
        files = files_for_model(subject.model, X, y, labelled, threads, label, zero_based)
        found = Pass(subject, threads).over(blocks_of(files, subject))
        note = files.encoder.note() if files.encoder is not None else ""
        return found.evidence(Path(files.name).name, was_trained_on(subject, X), note)
    if subject.encoder is not None:
        label = label or subject.encoder.label
    X, y = apart(X, y, label)
    if y is None and labelled:
        raise DataError("y is missing: give the label of each row of X")
    rows = input_rows(subject.training, X)
    y = None if y is None else check_length(y, count_rows(rows))
    return Pass(subject, threads).over([Block(rows, y, 0)]).evidence("X", None, "")


def apart(X: Any, y: Any, label: str | None) -> tuple[Any, Any]:
    """Return rows and labels; the labels may be a column of a data frame."""
    if not is_table(X) or not (isinstance(y, str) or (y is None and label is not None)):
        return X, y
    return with_labels(X, None, y if isinstance(y, str) else label)[:2]


def blocks_of(files: Files, subject: Subject) -> Iterator[Block]:
    """Yield the rows of files in blocks."""
    first = 0
    for block in files.source.blocks():
        subject.model.check_width(count_columns(block.rows), files.name)
        yield Block(block.rows, block.labels, first)
        first += count_rows(block.rows)


def was_trained_on(subject: Subject, X: Any) -> bool | None:
    """Whether the model was trained on these files, by their digests; None if the model does not know its files."""
    known = subject.training.get("data")
    if not isinstance(known, list) or not known:
        return None
    return known == [
        {"file": one.get("file"), "digest": content_of(path)} for one, path in zip(known, files_of(X), strict=False)
    ] and len(known) == len(files_of(X))


class Pass:
    """One pass over all rows, that adds up what `Evidence` holds."""

    def __init__(self, subject: Subject, threads: int) -> None:
        self.subject, self.threads = subject, threads
        self.values: list[np.ndarray] = []
        self.predicted: list[np.ndarray] = []
        self.labels: list[np.ndarray] = []
        self.hashes: list[np.ndarray] = []
        self.sums, self.squares = np.zeros(subject.d), np.zeros(subject.d)
        self.sample, self.worst = KeptRows(sample_size(subject)), KeptRows(WORST)
        self.rng = np.random.default_rng(0)
        self.unknown: set[str] = set()

    def over(self, blocks: Any) -> Pass:
        """Visit all blocks."""
        for block in blocks:
            self.visit(block)
        return self

    def visit(self, block: Block) -> None:
        """Add one block."""
        rows, ones = block.rows, np.ones(count_rows(block.rows))
        values = self.subject.model.decide(rows, self.threads)
        labels = self.numbered(block.labels, len(ones))
        predicted = self.predictions(rows, values)
        d = count_columns(rows)
        self.sums[:d] += combination(rows, d, ones, self.threads)[: len(self.sums)]
        self.squares[:d] += combination_of_squares(rows, d, ones, self.threads)[: len(self.sums)]
        self.hashes.append(row_hashes(rows))
        self.sample.offer(self.rng.random(len(ones)), rows, block.first)
        self.worst.offer(self.badness(values, labels), rows, block.first)
        for kept, found in ((self.values, values), (self.labels, labels), (self.predicted, predicted)):
            kept.append(found)

    def numbered(self, labels: np.ndarray | None, n: int) -> np.ndarray:
        """Return labels as class numbers, −1 for unknown ones, or as targets; NaN where there are none."""
        if self.subject.task == "classify":
            codes, unknown = class_numbers(np.asarray(labels), np.asarray(getattr(self.subject.model, "classes", ())))
            self.unknown |= unknown
            return codes
        if labels is None or (self.subject.task == "novelty" and labels.dtype.kind not in "biuf"):
            return np.full(n, np.nan)
        if labels.dtype.kind not in "biuf":
            raise DataError(f"the labels are text, {show(labels[0])!r} say: a regression is judged by numbers")
        return np.asarray(labels, dtype=np.float64)

    def predictions(self, rows: Rows, values: np.ndarray) -> np.ndarray:
        """Return predictions: class numbers, values, or ±1."""
        model = self.subject.model
        if self.subject.task == "regress":
            return values
        if self.subject.task == "novelty":
            return np.asarray(np.where(values >= 0.0, 1.0, -1.0))
        if values.ndim == 1:
            return (values > 0.0).astype(np.int64)
        if isinstance(model, KernelModel):  # in a tie its votes decide in another way than its values
            return class_numbers(model.predict(rows, self.threads), model.classes)[0]
        return np.asarray(np.argmax(values, axis=1))

    def badness(self, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how wrong the value of each row is."""
        if self.subject.task == "novelty":
            return -values
        if self.subject.task == "regress":
            return np.asarray(np.abs(values - labels))
        return np.where(labels < 0, -np.inf, -margins(values, labels))

    def evidence(self, name: str, is_training: bool | None, note: str) -> Evidence:
        """Return what has been found."""
        n = sum(map(len, self.values))
        if n == 0:
            raise DataError(f"{name} has 0 rows: there is nothing to report on")
        labels, classify = np.concatenate(self.labels), self.subject.task == "classify"
        if classify and np.all(labels < 0):
            known = ", ".join(self.subject.classes[:5])
            raise DataError(
                f"{name} has none of the model's classes ({known}), but {sorted(self.unknown)[0]!r} say: "
                "give the data of this model, or name the column of labels"
            )
        means = self.sums / n
        spreads = np.sqrt(np.maximum(self.squares / n - means**2, 0.0))
        return Evidence(
            name, np.concatenate(self.values), np.concatenate(self.predicted),
            labels if classify else np.zeros(0), np.zeros(0) if classify else labels, sorted(self.unknown),
            means, spreads, repeats(np.concatenate(self.hashes), labels), self.sample, self.worst, is_training, note,
        )  # fmt: skip


def sample_size(subject: Subject) -> int:
    """Return how many rows to keep as a sample: fewer of wide rows."""
    return int(min(max(VALUES // max(subject.d, 1), WORST), SAMPLE))


def class_numbers(labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, set[str]]:
    """Return the class number of each label, −1 if it is none, and the unknown labels (a few of them)."""
    distinct, places = np.unique(labels, return_inverse=True)
    if distinct.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        places_of = {float(one): k for k, one in enumerate(classes.tolist())}
        numbers = np.array([places_of.get(float(one), -1) for one in distinct.tolist()])
    else:
        known = {show(one): k for k, one in enumerate(classes.tolist())}
        numbers = np.array([known.get(show(one), -1) for one in distinct.tolist()])
    return numbers[places.reshape(-1)], {show(one) for one in distinct[numbers < 0][:5].tolist()}


def margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return y f(x); with several classes, the value of the true class minus the largest other one."""
    if values.ndim == 1:
        return np.asarray(np.where(codes == 1, values, -values))
    each = np.arange(len(values))
    own = values[each, codes]
    others = values.copy()
    others[each, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))


def probabilities(subject: Subject, values: np.ndarray) -> np.ndarray | None:
    """Return P(second class) of a two-class model for its decision values; None if it has no probabilities."""
    model = subject.model
    if isinstance(model, KernelModel):
        return None if model.sigmoids is None else 1.0 - pair_probabilities(-values[:, None], model.sigmoids)[:, 0]
    linear = model if isinstance(model, LinearModel) else getattr(model, "linear", None)
    if linear is None:
        return None
    if linear.sigmoids is not None:
        return pair_probabilities(values[:, None], linear.sigmoids)[:, 0]
    return sigmoid(values) if linear.loss in losses_with_probabilities() else None
