"""One pass over rows that finds all that a report says of them: values, labels, spreads, copies, the worst rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maxmargin.data.labels import show
from maxmargin.data.passes import combination, combination_of_squares
from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.errors import DataError
from maxmargin.models.kernel import KernelModel
from maxmargin.reporting.evidence import Block, Evidence
from maxmargin.reporting.facts.decisions import class_numbers, margins
from maxmargin.reporting.facts.kept_rows import KeptRows
from maxmargin.reporting.facts.row_hashes import repeats, row_hashes
from maxmargin.reporting.subject import Subject

SAMPLE = 700  # rows that are drawn as points
VALUES = 1 << 22  # most values of the sample: 32 MB
WORST = 8  # rows that are explained


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

    def over(self, blocks: Iterable[Block]) -> Pass:
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
