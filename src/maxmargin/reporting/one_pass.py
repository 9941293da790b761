"""One pass over rows that finds all that a report says of them: values, labels, spreads, copies, the worst rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maxmargin.data.labels import show
from maxmargin.data.passes import combination, combination_of_squares
from maxmargin.data.rows import count_columns, count_rows
from maxmargin.errors import DataError
from maxmargin.reporting.evidence import Block, Evidence
from maxmargin.reporting.facts.decisions import Decisions, class_numbers, decisions
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
        self.decided: list[Decisions] = []
        self.margins: list[np.ndarray] = []
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
        decided, labels = decisions(self.subject, rows, self.threads), self.numbered(block.labels, len(ones))
        margins = decided.margins(labels) if self.subject.task == "classify" else np.zeros(0)
        d = count_columns(rows)
        self.sums[:d] += combination(rows, d, ones, self.threads)[: len(self.sums)]
        self.squares[:d] += combination_of_squares(rows, d, ones, self.threads)[: len(self.sums)]
        self.hashes.append(row_hashes(rows))
        self.sample.offer(self.rng.random(len(ones)), rows, block.first)
        self.worst.offer(self.badness(decided.values, margins, labels), rows, block.first)
        self.decided.append(decided._replace(pairs=None))
        self.margins.append(margins)
        self.labels.append(labels)

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

    def badness(self, values: np.ndarray, margins: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how wrong the value of each row is."""
        if self.subject.task == "novelty":
            return -values
        if self.subject.task == "regress":
            return np.asarray(np.abs(values - labels))
        return np.where(labels < 0, -np.inf, -margins)

    def evidence(self, name: str, is_training: bool | None, note: str) -> Evidence:
        """Return what has been found."""
        n = sum(map(len, self.labels))
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
            name, *self.together(), np.concatenate(self.margins), self.probabilities(),
            labels if classify else np.zeros(0), np.zeros(0) if classify else labels, sorted(self.unknown),
            means, spreads, repeats(np.concatenate(self.hashes), labels), self.sample, self.worst, is_training, note,
        )  # fmt: skip

    def together(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the decision values and the predictions of all rows."""
        values, predicted = ([getattr(one, name) for one in self.decided] for name in ("values", "predicted"))
        return np.concatenate(values), np.concatenate(predicted)

    def probabilities(self) -> np.ndarray | None:
        """Return the probabilities of all rows, if the model has them."""
        found = [one.probabilities for one in self.decided if one.probabilities is not None]
        return np.concatenate(found) if found else None


def sample_size(subject: Subject) -> int:
    """Return how many rows to keep as a sample: fewer of wide rows."""
    return int(min(max(VALUES // max(subject.d, 1), WORST), SAMPLE))
